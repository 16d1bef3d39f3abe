//! Rows of the store that cannot be read: what commands say of them, and the way out for each table.

use toolcrib_engine::damage::{DamageReport, DamagedTable};

use crate::print;

/// Handles and places that are named in a sentence.
const NAMED: usize = 5;

/// Says how many rows were left out of what was just read, if any.
pub(super) fn note(store: &dyn DamageReport) {
    for table in store.damage_met() {
        print::note(format!(
            "{} of {} could not be read and {} left out; `toolcrib doctor` says what to do",
            rows(table.count),
            table.table,
            if table.count == 1 { "is" } else { "are" }
        ));
    }
}

/// What is damaged in a table and what to do about it.
pub(super) fn finding(table: &DamagedTable) -> String {
    let named: Vec<&str> = table.rows.iter().take(NAMED).map(|row| row.row.as_str()).collect();
    let more = if table.count > named.len() as u64 { ", …" } else { "" };
    let cause = table.rows.first().map(|row| format!(": {}", row.cause)).unwrap_or_default();
    format!("{} cannot be read ({}{more}){cause}. {}", rows(table.count), named.join(", "), fix(table.table))
}

fn rows(count: u64) -> String {
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}

fn fix(table: &str) -> &'static str {
    match table {
        "grants" => {
            "One that may have been a refusal refuses until `toolcrib approvals revoke HANDLE` takes it away; one that allowed allows nothing. Look at what was meant, revoke it and answer anew"
        }
        "approvals" => {
            "Nobody can answer it any more: make the call again, which asks anew. It goes when it is 30 days old"
        }
        "pending" => "Its result cannot be given. Start the work again if it is needed; the row goes when it expires",
        "journal" => {
            "Its call counts as ended with an unknown outcome unless another record says how. Copy the file for whoever looks into it; `toolcrib audit --verify` tells where the chain breaks. The row stays as it is until it is older than audit.days"
        }
        "claims" => "A call with that key is told that the first one ended nobody knows how, until the key expires",
        _ => "Copy the file for whoever looks into it; everything else goes on without it",
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::damage::DamagedRow;

    use super::*;

    #[test]
    fn a_finding_names_the_first_rows_the_cause_and_the_way_out() {
        let row = |n: u64| DamagedRow { row: n.to_string(), cause: "its record cannot be read".to_owned() };
        let cases: [(&'static str, u64, &str, &str); 3] = [
            ("grants", 1, "1 row cannot be read (1): its record cannot be read. ", "approvals revoke"),
            ("journal", 5, "5 rows cannot be read (1, 2, 3, 4, 5): ", "audit --verify"),
            ("pending", 9, "9 rows cannot be read (1, 2, 3, 4, 5, …): ", "Start the work again"),
        ];
        for (table, count, begin, fix) in cases {
            let text = finding(&DamagedTable { table, count, rows: (1..=count).map(row).collect() });
            assert!(text.starts_with(begin) && text.contains(fix), "{text}");
        }
    }
}
