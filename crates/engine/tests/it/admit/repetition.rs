//! The guard against models that go in circles (T26).

use super::*;

#[test]
fn going_in_circles_is_told_and_then_stopped() {
    /// Steps: `ARGUMENTS=RESULT` runs a call, `+N` lets N ms pass. One letter each: `r`an, told (`n`oted), re`f`used.
    #[track_caller]
    fn check(steps: &str, want: &str) {
        paused(async {
            let repeat = RepeatSettings { warn_after: 3, refuse_after: 5, ..RepeatSettings::default() };
            let settings =
                AdmissionSettings { repeat, breaker: None, source_breaker: None, ..AdmissionSettings::default() };
            let world = World::new(settings);
            let mut got = String::new();
            for step in steps.split_whitespace() {
                if let Some(ms) = step.strip_prefix('+') {
                    world.pass(ms.parse().unwrap());
                    continue;
                }
                let (arguments, result) = step.split_once('=').unwrap();
                let (arguments, session) = arguments.split_once('@').unwrap_or((arguments, "1"));
                let (name, arguments) = arguments.split_once(':').unwrap_or(("echo", arguments));
                let call = Call { tool: name, arguments: Some(arguments), session: Some(session), ..ECHO };
                got.push(match world.admit(call).await {
                    Ok(ticket) => {
                        let end = match result {
                            "down" => "fault down".to_owned(),
                            "gone" => "neutral".to_owned(),
                            result => format!("ok {result}"),
                        };
                        if ticket.settle(settled(&end)).is_some() { 'n' } else { 'r' }
                    }
                    Err(Refused::Repeated { .. }) => 'f',
                    Err(refused) => panic!("{refused}"),
                });
            }
            assert_eq!(got, want, "{steps}");
        });
    }
    check("a=1 a=1 a=1 a=1 a=1 a=1", "rrnnff");
    // Polling for a change is fine as long as things change.
    check("a=1 a=2 a=3 a=4 a=5 a=6 a=7", "rrrrrrr");
    check("a=1 a=1 a=2 a=2 a=1 a=1 a=1", "rrrrrrn");
    // Any other call of the session starts anew, also of another tool, and also after a refusal.
    check("a=1 a=1 b=1 a=1 a=1 b=1 a=1", "rrrrrrr");
    check("a=1 a=1 other:a=1 a=1 a=1", "rrrrr");
    check("a=1 a=1 a=1 a=1 a=1 b=1 a=1", "rrnnfrr");
    // Sessions do not meet.
    check("a@1=1 a@2=1 a@1=1 a@2=1 a@1=1 a@2=1", "rrrrnn");
    // A pause of more than ten minutes starts anew.
    check("a=1 a=1 a=1 a=1 +600000 a=1 +600001 a=1", "rrnnfr");
    // Failing in the same way is going in circles; a cancelled call says nothing.
    check("a=down a=down a=down a=down a=down", "rrnnf");
    check("a=1 a=gone a=1 a=gone a=1", "rrrrn");
}

#[test]
fn a_thousand_identical_calls_do_not_run() {
    paused(async {
        // T26, with the defaults: 29 run, the last 20 of them with a warning.
        let world = World::new(AdmissionSettings::default());
        let (mut ran, mut told) = (0, 0);
        let call = Call { arguments: Some("{}"), ..ECHO };
        for _ in 0..1_000 {
            if let Ok(ticket) = world.admit(call).await {
                ran += 1;
                told += u32::from(ticket.settle(settled("ok same")).is_some());
            }
        }
        assert_eq!((ran, told), (29, 20));
        let refused = world.admit(call).await.err().unwrap();
        assert_eq!((refused.outcome(), word(&refused)), (Outcome::Denied, "repeated"));
        assert!(refused.told("s__echo").contains("same result 29 times in a row"));
        // Without a session, the user and the agent count.
        let nobody = Call { session: None, ..call };
        let mut ran = 0;
        for _ in 0..100 {
            ran += u32::from(world.run(nobody, "ok same").await == "ran");
        }
        assert_eq!(ran, 29);
    });
}

#[test]
fn volatile_arguments_make_no_difference() {
    #[track_caller]
    fn check(volatile: &[&str], one: &str, other: &str, want_same: bool) {
        let repeat = RepeatSettings {
            volatile: volatile.iter().map(|name| (*name).to_owned()).collect(),
            ..RepeatSettings::default()
        };
        let admission = Admission::new(AdmissionSettings { repeat, ..AdmissionSettings::default() });
        let digest = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            admission.digest(&raw, args::canonical::digest(&raw))
        };
        assert_eq!(digest(one) == digest(other), want_same, "{one} {other}");
    }
    check(&[], r#"{"q":1,"request_id":"a"}"#, r#"{"q":1,"request_id":"b"}"#, false);
    check(&["request_id"], r#"{"q":1,"request_id":"a"}"#, r#"{"q":1,"request_id":"b"}"#, true);
    check(&["request_id"], r#"{"q":1,"request_id":"a"}"#, r#"{"q":2,"request_id":"a"}"#, false);
    for same in ["1.0", "10e-1"] {
        check(&[], r#"{"q":1}"#, &format!(r#"{{"q":{same}}}"#), true);
        check(&["id"], r#"{"q":1}"#, &format!(r#"{{"q":{same},"id":2}}"#), true);
    }
    check(&["request_id"], r#"{"q":{"request_id":"a"}}"#, r#"{"q":{"request_id":"b"}}"#, false);
}
