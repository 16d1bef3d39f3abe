//! `toolcrib eval`: how well the rankers find tools, on labelled queries.

use anyhow::bail;
use toolcrib_core::search::RankerKind;

use crate::{args::EvalArgs, exit::Exit, print};

mod encoded;
mod learned;
mod measure;
mod report;
mod sets;
#[cfg(test)]
mod tests;
mod traffic;

use measure::{Measured, measure};
use sets::Labelled;

pub(crate) async fn run(args: EvalArgs) -> anyhow::Result<Exit> {
    let sets = match &args.sets {
        Some(folder) => sets::read_all(folder)?,
        None if args.from_traffic => match Box::pin(traffic::read(&args)).await? {
            Some(set) => vec![set],
            None => return Ok(Exit::Failed),
        },
        None => vec![sets::read_one(&args)?],
    };
    for set in sets.iter().filter(|set| set.tools.repeated() > 0) {
        let (name, repeated) = (&set.name, set.tools.repeated());
        print::note(format!(
            "warning: {name}: left out {} whose id an earlier one has already",
            print::count(repeated, "tool")
        ));
    }
    let several = args.sets.is_some();
    if args.learn {
        if args.ranker.len() > 1 {
            bail!("--learn measures one ranker before and after; name one with --ranker");
        }
        let kind = args.ranker.first().copied().unwrap_or_default();
        let splits: Vec<_> =
            sets.into_iter().map(learned::split).filter(|split| !split.set.queries.is_empty()).collect();
        let pairs = splits.iter().map(|split| learned::before_and_after(kind, split, args.hints));
        let (before, after): (Vec<_>, Vec<_>) = pairs.unzip();
        let sets: Vec<Labelled> = splits.into_iter().map(|split| split.set).collect();
        return show_comparison(&args, &sets, &before, &after, several);
    }
    if let Some(encoder) = encoded::encoder(&args)? {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for set in &sets {
            let (without, with) = encoded::without_and_with(&encoder, set, args.hints).await?;
            before.push(without);
            after.push(with);
        }
        return show_comparison(&args, &sets, &before, &after, several);
    }
    let all = |kind: RankerKind| -> Vec<Measured> { sets.iter().map(|set| measure(kind, set, args.hints)).collect() };
    if let [a, b] = args.compare[..] {
        return show_comparison(&args, &sets, &all(a), &all(b), several);
    }
    let kinds = if args.ranker.is_empty() { vec![RankerKind::default()] } else { args.ranker.clone() };
    let measured: Vec<Vec<Measured>> = kinds.into_iter().map(all).collect();
    if args.look.json {
        print::json(&report::all(&sets, &measured, several))?;
        return Ok(Exit::Done);
    }
    for (at, of_ranker) in measured.iter().enumerate() {
        if at > 0 {
            print::line("");
        }
        report::print(&sets, of_ranker, several);
        for (set, measured) in sets.iter().zip(of_ranker) {
            report::print_misses(set, measured, args.misses);
        }
    }
    Ok(Exit::Done)
}

fn show_comparison(
    args: &EvalArgs,
    sets: &[Labelled],
    a: &[Measured],
    b: &[Measured],
    several: bool,
) -> anyhow::Result<Exit> {
    if args.look.json {
        print::json(&report::comparison(sets, a, b, several))?;
    } else {
        report::print_comparison(sets, a, b, several);
    }
    Ok(Exit::Done)
}
