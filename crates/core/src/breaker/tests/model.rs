//! Random sequences against a reference that keeps everything and never forgets (reliability F26).

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Admit,
    /// Ends one of the calls under way, chosen by the number.
    Settle(usize, Settlement),
    Advance(u64),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let settlement = prop_oneof![
        4 => Just(Settlement::Success),
        5 => Just(Settlement::fault("timed out")),
        1 => Just(Settlement::Neutral),
    ];
    prop_oneof![
        8 => Just(Step::Admit),
        8 => (any::<usize>(), settlement).prop_map(|(which, end)| Step::Settle(which, end)),
        4 => (0_u64..40).prop_map(Step::Advance),
        1 => (40_u64..400).prop_map(Step::Advance),
        1 => Just(Step::Reset),
    ]
}

fn policy() -> impl Strategy<Value = BreakerPolicy> {
    (1_u32..5, 1_u64..200, 1_u64..100, 1_u32..4).prop_map(|(failures, window_ms, open_ms, successes)| BreakerPolicy {
        failures,
        window_ms,
        open_ms,
        successes,
    })
}

/// What happened in one stretch of one state; the last one is now.
#[derive(Debug)]
enum Stretch {
    /// When faults were settled.
    Closed(Vec<u64>),
    Opened(u64),
    /// Successful probes, and who is out since when.
    Probing(u32, Option<(usize, u64)>),
}

/// The reference. A call is its number and the stretch it began in.
struct Model {
    policy: BreakerPolicy,
    history: Vec<Stretch>,
    calls: usize,
}

impl Model {
    fn look(&mut self, now: u64) {
        if let Some(Stretch::Opened(since)) = self.history.last()
            && now >= since + self.policy.open_ms
        {
            self.history.push(Stretch::Probing(0, None));
        }
    }

    fn admit(&mut self, now: u64) -> Option<(usize, usize)> {
        self.look(now);
        let call = (self.calls, self.history.len());
        match self.history.last_mut().expect("a state") {
            Stretch::Closed(_) => {}
            Stretch::Opened(_) => return None,
            Stretch::Probing(_, out) => {
                if out.is_some_and(|(_, since)| now < since + self.policy.open_ms) {
                    return None;
                }
                *out = Some((self.calls, now));
            }
        }
        self.calls += 1;
        Some(call)
    }

    fn settle(&mut self, (number, stretch): (usize, usize), end: &Settlement, now: u64) -> Option<Transition> {
        if stretch != self.history.len() {
            return None;
        }
        let next = match self.history.last_mut().expect("a state") {
            Stretch::Closed(faults) => {
                if matches!(end, Settlement::Fault(_)) {
                    faults.push(now);
                }
                let recent = faults.iter().filter(|&&then| then + self.policy.window_ms > now).count();
                (recent >= self.policy.failures as usize && matches!(end, Settlement::Fault(_)))
                    .then_some((Stretch::Opened(now), Transition::Opened))
            }
            Stretch::Opened(_) => unreachable!("no call begins while open"),
            Stretch::Probing(streak, out) => {
                if out.is_some_and(|(probe, _)| probe == number) {
                    *out = None;
                }
                match end {
                    Settlement::Neutral => None,
                    Settlement::Fault(_) => Some((Stretch::Opened(now), Transition::Opened)),
                    Settlement::Success => {
                        *streak += 1;
                        (*streak == self.policy.successes).then_some((Stretch::Closed(Vec::new()), Transition::Closed))
                    }
                }
            }
        };
        next.map(|(stretch, transition)| {
            self.history.push(stretch);
            transition
        })
    }

    fn state(&mut self, now: u64) -> BreakerState {
        self.look(now);
        match self.history.last().expect("a state") {
            Stretch::Closed(_) => BreakerState::Closed,
            Stretch::Opened(_) => BreakerState::Open,
            Stretch::Probing(..) => BreakerState::HalfOpen,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(policy in policy(), steps in proptest::collection::vec(step(), 1..200)) {
        let mut breaker = Breaker::new(policy);
        let mut model = Model { policy, history: vec![Stretch::Closed(Vec::new())], calls: 0 };
        let mut calls: Vec<(Permit, (usize, usize))> = Vec::new();
        let mut now = START;
        let mut rejected = 0;
        for step in steps {
            match step {
                Step::Advance(ms) => now += ms,
                Step::Reset => {
                    breaker.reset();
                    model.history.push(Stretch::Closed(Vec::new()));
                    rejected = 0;
                }
                Step::Admit => match (breaker.admit(now), model.admit(now)) {
                    (Ok(permit), Some(call)) => {
                        prop_assert_eq!(permit.is_probe(), breaker.state(now) == BreakerState::HalfOpen);
                        calls.push((permit, call));
                    }
                    (Err(rejection), None) => {
                        rejected += 1;
                        prop_assert!(rejection.retry_at_ms > now);
                        prop_assert!(rejection.failures > 0);
                        prop_assert_eq!(rejection.state, breaker.state(now));
                    }
                    (got, want) => prop_assert!(false, "{got:?} but {want:?}"),
                },
                Step::Settle(..) if calls.is_empty() => {}
                Step::Settle(which, end) => {
                    let (permit, call) = calls.swap_remove(which % calls.len());
                    let want = model.settle(call, &end, now);
                    prop_assert_eq!(breaker.settle(permit, end, now), want);
                }
            }
            prop_assert_eq!(breaker.state(now), model.state(now));
            let snapshot = breaker.snapshot(now);
            prop_assert_eq!(snapshot.totals.rejected, rejected);
            let settled = snapshot.totals.succeeded + snapshot.totals.failed + snapshot.totals.neutral;
            prop_assert!(settled <= snapshot.totals.admitted);
            let refused = breaker.clone().admit(now).err().map(|rejection| rejection.retry_at_ms);
            prop_assert_eq!(snapshot.retry_at_ms, refused);
        }
    }

    /// Any clock at all: nothing panics, memory stays bounded, and the circuit can always be probed in the end.
    #[test]
    fn any_clock_is_survived(
        policy in policy(),
        steps in proptest::collection::vec((step(), prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), START..START + 500]), 1..100),
    ) {
        let mut breaker = Breaker::new(policy);
        let mut calls = Vec::new();
        for (step, now) in steps {
            match step {
                Step::Settle(which, end) if !calls.is_empty() => {
                    breaker.settle(calls.swap_remove(which % calls.len()), end, now);
                }
                _ => calls.extend(breaker.admit(now)),
            }
            breaker.snapshot(now);
            prop_assert!(breaker.failures.len() <= policy.remembered());
        }
        let _ = breaker.admit(START);
        prop_assert!(breaker.admit(START + 10_000).is_ok());
    }
}
