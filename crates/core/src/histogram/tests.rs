use proptest::prelude::*;

use super::*;

fn of(durations: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &us in durations {
        histogram.record(us);
    }
    histogram
}

#[track_caller]
fn assert_close(got: u64, want: u64) {
    assert!(got.abs_diff(want) as f64 <= want as f64 * 0.0625, "{got} is not {want} within 6.25 %");
}

#[test]
fn ranges_follow_each_other_without_gaps() {
    #[track_caller]
    fn check(us: u64, range: usize) {
        assert_eq!(range_of(us), range, "{us} us");
    }
    check(0, 0);
    check(7, 7);
    check(8, 8);
    check(15, 15);
    check(16, 16);
    check(17, 16);
    check(18, 17);
    check((1 << 32) - 1, BEYOND - 1);
    check(1 << 32, BEYOND);
    check(u64::MAX, BEYOND);
    for index in 0..BEYOND {
        assert_eq!(range_of(middle_of(index)), index);
    }
    assert!((1..BEYOND).all(|index| middle_of(index - 1) < middle_of(index)));
}

#[test]
fn every_duration_is_close_to_what_is_reported() {
    for us in (0..40).chain((3..32).flat_map(|bits| {
        let base = 1_u64 << bits;
        (0..16).flat_map(move |part| [(base + base / 16 * part).saturating_sub(1), base + base / 16 * part])
    })) {
        assert_close(middle_of(range_of(us)), us);
    }
}

#[test]
fn empty_and_single() {
    let empty = Histogram::default();
    assert_eq!((empty.count(), empty.sum(), empty.max(), empty.quantile(0.5)), (0, 0, 0, None));
    assert_eq!(empty.cumulative(&[0, 5, u64::MAX]), [0, 0, 0]);
    let one = of(&[1_234_567]);
    assert_eq!((one.count(), one.sum(), one.max()), (1, 1_234_567, 1_234_567));
    for q in [-1.0, 0.0, 0.5, 0.99] {
        assert_close(one.quantile(q).expect("one"), 1_234_567);
    }
    for q in [1.0, 7.0, f64::NAN] {
        assert_eq!(one.quantile(q), Some(1_234_567));
    }
    assert_eq!(format!("{one:?}"), "Histogram { count: 1, sum: 1234567, max: 1234567, .. }");
}

#[test]
fn extremes_do_not_overflow() {
    let mut histogram = of(&[u64::MAX, u64::MAX, 5]);
    assert_eq!((histogram.count(), histogram.sum(), histogram.max()), (3, u64::MAX, u64::MAX));
    assert_eq!(histogram.quantile(0.5), Some(u64::MAX));
    assert_eq!(histogram.cumulative(&[u64::MAX - 1, u64::MAX]), [1, 3]);
    // A full range stops, the rest goes on.
    histogram.ranges[5] = u32::MAX;
    histogram.record(5);
    histogram.merge(&of(&[5, 5]));
    assert_eq!((histogram.count(), histogram.ranges[5]), (6, u32::MAX));
    assert_eq!(histogram.quantile(0.5), Some(5));
}

#[test]
fn cumulative_is_what_prometheus_wants() {
    #[track_caller]
    fn check(durations: &[u64], bounds: &[u64], want: &[u64]) {
        assert_eq!(of(durations).cumulative(bounds), want);
    }
    let durations = [900, 2_000, 2_100, 70_000, 4_000_000];
    check(&durations, &[1_000, 5_000, 100_000, 1_000_000, u64::MAX], &[1, 3, 4, 4, 5]);
    // Bounds in any order, each for itself.
    check(&durations, &[u64::MAX, 1_000, 5_000], &[5, 1, 3]);
    check(&durations, &[], &[]);
    // Small durations are exact.
    check(&[0, 1, 1, 9, 15], &[0, 1, 8, 9, 14, 15], &[1, 3, 3, 4, 4, 5]);
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    // As many short as long ones: by bits, up to an hour.
    let duration = (0_u32..32, any::<u64>()).prop_map(|(bits, noise)| (noise % (1 << bits)).min(3_600_000_000));
    proptest::collection::vec(duration, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantiles_are_close_to_the_sorted_ones(durations in durations(), qs in proptest::collection::vec(0.0..=1.0_f64, 8)) {
        let histogram = of(&durations);
        let mut sorted = durations;
        sorted.sort_unstable();
        prop_assert_eq!(histogram.count(), sorted.len() as u64);
        prop_assert_eq!(histogram.sum(), sorted.iter().sum::<u64>());
        prop_assert_eq!(Some(&histogram.max()), sorted.last());
        for q in qs.into_iter().chain([0.0, 0.5, 0.9, 0.95, 0.99, 1.0]) {
            let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            assert_close(histogram.quantile(q).expect("not empty"), sorted[rank - 1]);
        }
    }

    #[test]
    fn merging_is_recording_both(left in durations(), right in durations()) {
        let mut merged = of(&left);
        merged.merge(&of(&right));
        let both = of(&[left, right].concat());
        prop_assert_eq!(merged.ranges, both.ranges);
        prop_assert_eq!((merged.count(), merged.sum(), merged.max()), (both.count(), both.sum(), both.max()));
    }

    #[test]
    fn cumulative_never_falls_and_is_close(durations in durations(), mut bounds in proptest::collection::vec(0_u64..4_000_000_000, 1..20)) {
        bounds.sort_unstable();
        let mut histogram = Histogram::new();
        let mut before = vec![0; bounds.len()];
        for (index, &us) in durations.iter().enumerate() {
            histogram.record(us);
            let now = histogram.cumulative(&bounds);
            prop_assert!(now.is_sorted());
            prop_assert!(before.iter().zip(&now).all(|(before, now)| before <= now));
            for (&bound, &count) in bounds.iter().zip(&now) {
                let up_to = |limit: f64| durations[..=index].iter().filter(|&&us| us as f64 <= limit).count() as u64;
                prop_assert!(count >= up_to(bound as f64 / 1.0626 - 1.0) && count <= up_to(bound as f64 * 1.0667 + 1.0));
            }
            before = now;
        }
    }
}
