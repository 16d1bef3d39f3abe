use super::*;

#[test]
fn accept_is_read_as_meant() {
    #[track_caller]
    fn accepts(values: &[&'static str], json: bool, events: bool) {
        let headers = values.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect();
        assert_eq!(Accepts::of(&headers), Accepts { json, events }, "{values:?}");
    }
    accepts(&[], true, true);
    accepts(&["*/*"], true, true);
    accepts(&["application/json, text/event-stream"], true, true);
    accepts(&["application/json", "text/event-stream"], true, true);
    accepts(&["Application/JSON;q=0.5,TEXT/event-stream; q=1"], true, true);
    accepts(&["application/json"], true, false);
    accepts(&["text/event-stream"], false, true);
    accepts(&["application/json, text/event-stream;q=0"], true, false);
    accepts(&["text/html"], false, false);
    accepts(&["application/*"], true, false);
}

#[test]
fn statuses_follow_the_revision() {
    for (code, legacy, modern) in [
        (code::METHOD_NOT_FOUND, 200, 404),
        (code::INVALID_PARAMS, 200, 400),
        (code::UNSUPPORTED_VERSION, 200, 400),
        (code::INTERNAL_ERROR, 200, 200),
        (-1, 200, 200),
        (BUSY, 429, 429),
    ] {
        assert_eq!(Statuses::Legacy.of(FrameKind::Error(code)).as_u16(), legacy);
        assert_eq!(Statuses::Modern.of(FrameKind::Error(code)).as_u16(), modern);
    }
    assert_eq!(Statuses::Modern.of(FrameKind::Result).as_u16(), 200);
}
