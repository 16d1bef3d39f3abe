use proptest::prelude::*;

use super::*;

const START: u64 = 1_700_000_000_000;

/// Offsets from the start and what is expected: `None` for let through, else milliseconds to wait.
type Calls<'a> = &'a [(u64, Option<u64>)];

#[test]
fn window_counts_exactly() {
    #[track_caller]
    fn check(limit: u32, window_ms: u64, calls: Calls) {
        let mut window = SlidingWindow::new(limit, window_ms);
        for (index, &(at, want)) in calls.iter().enumerate() {
            let got = window.try_take(START + at).err().map(|RetryAfterMs(wait)| wait);
            assert_eq!(got, want, "call {index} at {at}");
        }
    }
    // 104: limit 2, the third call is denied.
    check(2, 60_000, &[(0, None), (1_000, None), (2_000, Some(58_000))]);
    // Exact at the edges; a refused call is not counted.
    check(2, 100, &[(0, None), (50, None), (99, Some(1)), (100, None), (101, Some(49)), (150, None), (150, Some(50))]);
    check(1, 1, &[(0, None), (0, Some(1)), (1, None)]);
    check(1, 0, &[(0, None), (0, Some(1)), (1, None)]);
    // Zero lets nothing through.
    check(0, 500, &[(0, Some(500)), (10_000, Some(500))]);
    // Overtaken calls wait for the clock; a clock set back by much does not hold anybody up.
    check(1, 100, &[(50, None), (49, Some(100)), (50, Some(100)), (150, None)]);
    check(1, 100, &[(7_200_000, None), (0, Some(100)), (99, Some(1)), (100, None)]);
}

#[test]
fn window_gives_back_the_call_that_was_not_made() {
    let mut window = SlidingWindow::new(2, 100);
    let first = window.try_take(START).expect("room");
    let second = window.try_take(START + 50).expect("room");
    assert_eq!(window.remaining(START + 50), 0);
    window.refund(second);
    assert_eq!(window.remaining(START + 50), 1);
    // Twice is not twice.
    window.refund(second);
    assert_eq!(window.remaining(START + 50), 1);
    // Out of the window already: nothing to give back, and nobody else's call is.
    let third = window.try_take(START + 120).expect("room");
    window.refund(first);
    assert_eq!((window.remaining(START + 120), window.limit(), window.window_ms()), (1, 2, 100));
    window.refund(third);
    assert_eq!(window.remaining(START + 120), 2);
}

#[test]
fn window_memory_is_bounded() {
    let mut window = SlidingWindow::new(u32::MAX, 1_000_000);
    assert_eq!(window.limit(), SlidingWindow::MAX_LIMIT);
    let through = (0..20_000).filter(|&at| window.try_take(START + at).is_ok()).count();
    assert_eq!(through, 10_000);
}

#[test]
fn bucket_refills_evenly() {
    #[track_caller]
    fn check(capacity: u32, refill: u32, per_ms: u64, calls: Calls) {
        let mut bucket = TokenBucket::new(capacity, refill, per_ms);
        for (index, &(at, want)) in calls.iter().enumerate() {
            let got = bucket.try_take(START + at).err().map(|RetryAfterMs(wait)| wait);
            assert_eq!(got, want, "call {index} at {at}");
        }
    }
    check(2, 1, 100, &[(0, None), (0, None), (0, Some(100)), (99, Some(1)), (100, None), (100, Some(100))]);
    // Three a second: one every 333.3 ms, without drift.
    check(1, 3, 1_000, &[(0, None), (333, Some(1)), (334, None), (667, Some(1)), (668, None)]);
    check(
        2,
        3,
        1_000,
        &[(0, None), (0, None), (333, Some(1)), (334, None), (667, None), (1_000, None), (1_333, Some(1))],
    );
    // Never more than full.
    check(2, 1, 10, &[(1_000_000, None), (2_000_000, None), (2_000_000, None), (2_000_000, Some(10))]);
    check(0, 0, 0, &[(0, None), (0, Some(1)), (1, None)]);
    check(1, 1, 100, &[(7_200_000, None), (0, Some(100)), (100, None)]);
}

#[test]
fn bucket_takes_tokens_back() {
    let mut bucket = TokenBucket::new(2, 1, 100);
    bucket.refund();
    assert_eq!(bucket.remaining(START), 2);
    assert_eq!(bucket.try_take(START), Ok(()));
    assert_eq!((bucket.remaining(START), bucket.is_idle(START)), (1, false));
    bucket.refund();
    assert_eq!((bucket.remaining(START), bucket.is_idle(START)), (2, true));
    assert!(TokenBucket::new(u32::MAX, u32::MAX, u64::MAX).try_take(u64::MAX).is_ok());
}

#[test]
fn message_says_when() {
    assert_eq!(RetryAfterMs(250).to_string(), "rate limit reached; retry in 250 ms");
}

/// Takes from the window of `key`; whether it was let through.
fn take(table: &mut Keyed<String, SlidingWindow>, key: &str, at: u64) -> bool {
    table.entry(key, START + at, || SlidingWindow::new(1, 100)).try_take(START + at).is_ok()
}

#[test]
fn keys_are_limited_each_for_itself() {
    let mut table = Keyed::new(3);
    assert!(table.is_empty());
    assert!(take(&mut table, "a", 0));
    assert!(take(&mut table, "b", 0));
    assert!(!take(&mut table, "a", 1));
    let order: Vec<_> = table.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(order, ["b", "a"], "a refused attempt is a use");
    assert!(table.get_mut("c").is_none());
    assert!(table.remove("a").is_some_and(|window| window.remaining(START + 1) == 0));
    assert_eq!((table.remove("a").is_none(), table.len()), (true, 1));
    assert!(take(&mut table, "a", 1));
    assert_eq!(table.values_mut().count(), 2);
}

#[test]
fn idle_keys_are_forgotten_first() {
    let mut table = Keyed::new(3);
    for key in ["a", "b", "c"] {
        assert!(take(&mut table, key, 0));
    }
    // `b` is idle: it goes, although `a` is the one not used for longest.
    *table.get_mut("b").expect("there") = SlidingWindow::new(1, 100);
    assert!(take(&mut table, "d", 50));
    assert!(table.get_mut("b").is_none());
    assert!(!take(&mut table, "a", 50));
    assert_eq!((table.len(), table.forgotten_busy()), (3, 0));

    // All busy: the least recently used one goes.
    assert!(take(&mut table, "e", 60));
    assert!(table.get_mut("c").is_none());
    assert_eq!((table.len(), table.forgotten_busy()), (3, 1));

    // All idle: the least recently used one as well, at no loss.
    assert!(take(&mut table, "f", 500));
    assert!(table.get_mut("d").is_none());
    assert_eq!((table.len(), table.forgotten_busy()), (3, 1));
}

#[test]
fn a_flood_of_keys_does_not_wash_out_a_limit_in_use() {
    let mut table = Keyed::new(100);
    assert!(take(&mut table, "mine", 0));
    // Keys that are looked at but not used up are idle, so they make room for each other.
    for index in 0..10_000 {
        table.entry(&format!("flood {index}"), START, || SlidingWindow::new(1, 100));
        if index % 90 == 0 {
            assert!(!take(&mut table, "mine", 1));
        }
    }
    assert!(!take(&mut table, "mine", 50));
    assert_eq!((table.len(), table.forgotten_busy()), (100, 0));
}

#[test]
fn a_table_has_room_for_one() {
    let mut table = Keyed::new(0);
    assert!(take(&mut table, "a", 0));
    assert!(take(&mut table, "b", 0));
    assert_eq!((table.len(), table.forgotten_busy()), (1, 1));
    let mut pairs: Keyed<(u8, u8), SlidingWindow> = Keyed::new(2);
    pairs.entry(&(1, 2), START, || SlidingWindow::new(1, 1));
    assert_eq!(pairs.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against the definition: a call passes if fewer than `limit` calls passed in the window before it.
    #[test]
    fn window_agrees_with_its_definition(
        limit in 0_u32..6,
        window_ms in 1_u64..100,
        steps in proptest::collection::vec((0_u64..40, proptest::option::of(any::<usize>())), 1..100),
    ) {
        let mut window = SlidingWindow::new(limit, window_ms);
        let mut passed: Vec<(u64, Taken)> = Vec::new();
        let mut now = START;
        for (wait, refund) in steps {
            now += wait;
            if let Some(which) = refund && !passed.is_empty() {
                let (_, taken) = passed.swap_remove(which % passed.len());
                window.refund(taken);
                continue;
            }
            let recent: Vec<u64> = passed.iter().map(|&(at, _)| at).filter(|at| at + window_ms > now).collect();
            prop_assert_eq!(window.remaining(now) as usize, limit as usize - recent.len());
            prop_assert_eq!(window.is_idle(now), recent.is_empty());
            match window.try_take(now) {
                Ok(taken) => {
                    prop_assert!(recent.len() < limit as usize);
                    passed.push((now, taken));
                }
                Err(RetryAfterMs(after)) => {
                    prop_assert_eq!(recent.len(), limit as usize);
                    prop_assert_eq!(after, recent.iter().min().map_or(window_ms, |oldest| oldest + window_ms - now));
                }
            }
        }
    }

    /// In any stretch of time a bucket lets through no more than it holds and gains, and keeps its promise of when.
    #[test]
    fn bucket_keeps_its_rate(
        capacity in 1_u32..5,
        refill in 1_u32..5,
        per_ms in 1_u64..50,
        waits in proptest::collection::vec(0_u64..30, 1..100),
    ) {
        let mut bucket = TokenBucket::new(capacity, refill, per_ms);
        let (mut now, mut passed) = (START, Vec::new());
        for wait in waits {
            now += wait;
            match bucket.try_take(now) {
                Ok(()) => passed.push(now),
                Err(RetryAfterMs(after)) => {
                    prop_assert!(after >= 1);
                    prop_assert!(bucket.clone().try_take(now + after).is_ok());
                    prop_assert!(bucket.clone().try_take(now + after - 1).is_err());
                }
            }
            for (index, from) in passed.iter().enumerate() {
                let calls = (passed.len() - index) as u64;
                prop_assert!(calls * per_ms <= u64::from(capacity) * per_ms + (now - from) * u64::from(refill));
            }
        }
    }

    #[test]
    fn any_clock_is_survived(readings in proptest::collection::vec(prop_oneof![Just(u64::MAX), 0..9_u64, any::<u64>()], 1..50)) {
        let mut window = SlidingWindow::new(3, 1_000);
        let mut bucket = TokenBucket::new(3, u32::MAX, u64::MAX);
        for now in readings {
            if let Err(RetryAfterMs(after)) = window.try_take(now) {
                prop_assert!((1..=1_000).contains(&after));
            }
            let _ = bucket.try_take(now);
            prop_assert!(window.remaining(now) <= 3 && bucket.remaining(now) <= 3);
        }
    }
}

#[test]
fn a_place_is_only_a_hint() {
    let mut table: Keyed<String, SlidingWindow> = Keyed::new(8);
    let (first, _) = table.entry_place("a", START, || SlidingWindow::new(1, 100));
    let (second, _) = table.entry_place("b", START, || SlidingWindow::new(2, 100));
    assert_ne!(first, second);
    let left = |table: &mut Keyed<String, SlidingWindow>, key: &str, hint: usize| {
        table.get_near(key, hint).map(|window| window.remaining(START))
    };
    for hint in [first, second, 7] {
        assert_eq!((left(&mut table, "a", hint), left(&mut table, "b", hint)), (Some(1), Some(2)), "{hint}");
        assert_eq!(left(&mut table, "c", hint), None, "{hint}");
    }
    table.remove("a");
    assert_eq!((left(&mut table, "a", first), left(&mut table, "b", second)), (None, Some(2)), "places move");
}
