//! Uncertainty by resampling queries, from a fixed seed.

/// Where every sequence of draws starts.
const SEED: u64 = 0x5eed_0f70_01c4_1b00;
/// Draws of whole query sets, for sets of usual size.
const ROUNDS: usize = 1_000;
/// Fewest draws, for huge sets: their means hardly vary.
const MIN_ROUNDS: usize = 200;
/// Queries drawn in all before rounds are saved.
const MAX_DRAWS: usize = 20_000_000;

/// The `SplitMix64` generator: small, fast, the same everywhere.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

fn rounds(queries: usize) -> usize {
    (MAX_DRAWS / queries.max(1)).clamp(MIN_ROUNDS, ROUNDS)
}

/// The mean of each column.
pub(super) fn means<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    let mut sums = [0.0; N];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums.map(|sum| sum / rows.len().max(1) as f64)
}

/// The 95 % percentile interval of the plain mean of several sets' means, by column: where it lies when each set's rows are
/// drawn again, with replacement. Sets without rows do not count.
pub(super) fn intervals_of_sets<const N: usize>(sets: &[&[[f64; N]]]) -> [(f64, f64); N] {
    let sets: Vec<&[[f64; N]]> = sets.iter().copied().filter(|rows| !rows.is_empty()).collect();
    if sets.is_empty() {
        return [(0.0, 0.0); N];
    }
    let mut draws = Draws(SEED);
    let rounds = rounds(sets.iter().map(|rows| rows.len()).sum());
    let mut drawn: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        let mut means = [0.0; N];
        for rows in &sets {
            let mut sums = [0.0; N];
            for _ in 0..rows.len() {
                let row = &rows[draws.below(rows.len())];
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum / rows.len() as f64);
        }
        drawn.iter_mut().zip(means).for_each(|(column, mean)| column.push(mean / sets.len() as f64));
    }
    drawn.map(|mut column| {
        column.sort_by(f64::total_cmp);
        let at = |share: f64| column[(share * (column.len() - 1) as f64).round() as usize];
        (at(0.025), at(0.975))
    })
}

/// For each column of paired differences, how likely a mean of the sets' means at least as far from zero is if which of the
/// two came first were chance: the two-sided randomisation test that flips signs.
pub(super) fn chance_of_sets<const N: usize>(sets: &[&[[f64; N]]]) -> [f64; N] {
    // A row counts by the share that its set gives it. Pairs without any difference are the same however they are flipped.
    let weighted = sets.iter().flat_map(|rows| rows.iter().map(|row| row.map(|value| value / rows.len() as f64)));
    let differences: Vec<[f64; N]> = weighted.filter(|row| row.iter().any(|value| *value != 0.0)).collect();
    let sum = |sign: &mut dyn FnMut() -> f64| {
        let mut sums = [0.0; N];
        for row in &differences {
            let sign = sign();
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += sign * value);
        }
        sums
    };
    let observed = sum(&mut || 1.0);
    let mut draws = Draws(SEED);
    let rounds = rounds(differences.len());
    let mut as_far = [0usize; N];
    for _ in 0..rounds {
        let flipped = sum(&mut || if draws.next() >> 63 == 0 { 1.0 } else { -1.0 });
        for ((count, flipped), observed) in as_far.iter_mut().zip(flipped).zip(observed) {
            // Sums in another order may differ in the last digits.
            *count += usize::from(flipped.abs() >= observed.abs() - 1e-9);
        }
    }
    as_far.map(|count| (count + 1) as f64 / (rounds + 1) as f64)
}
