//! The envelope, line framing and event streams as a specification.

use super::*;

mod envelope {
    use super::*;

    /// Kind and parts of a message in one line, for comparison.
    fn describe(message: &Message) -> String {
        let raw = |raw: &Option<Box<serde_json::value::RawValue>>| {
            raw.as_ref().map_or_else(|| "-".to_owned(), |raw| raw.get().to_owned())
        };
        match message {
            Message::Request { id, method, params } => format!("request {id} {method} {}", raw(params)),
            Message::Notification { method, params } => format!("notification {method} {}", raw(params)),
            Message::Response { id, result } => format!("response {id} {}", result.get()),
            Message::Error { id, error } => {
                let id = id.as_ref().map_or_else(|| "-".to_owned(), Id::to_json);
                format!("error {id} {} {} {}", error.code, error.message, raw(&error.data))
            }
        }
    }

    #[track_caller]
    fn reads(text: &str, expected: &str) {
        let message = parse(text.as_bytes()).unwrap();
        assert_eq!(describe(&message), expected);
        // Writing and reading again gives the same message.
        let written = write(&message);
        assert!(!written.contains(&b'\n') && !written.contains(&b'\r'));
        let again = describe(&parse(&written).unwrap());
        assert_eq!(again.replace(' ', ""), expected.replace(['\n', '\r', ' '], ""));
    }

    #[track_caller]
    fn refuses(text: impl AsRef<[u8]>, reason: &str) {
        let error = parse(text.as_ref()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }

    #[test]
    fn messages_of_every_kind_are_read_and_written() {
        reads(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping -");
        reads(r#"{"jsonrpc":"2.0","id":"a\"b","method":"x","params":{}}"#, r#"request "a\"b" x {}"#);
        reads(r#"{"jsonrpc":"2.0","method":"n","params":{"a":[1]}}"#, r#"notification n {"a":[1]}"#);
        reads(r#"{"jsonrpc":"2.0","method":"n","params":null}"#, "notification n -");
        reads(r#"{"jsonrpc":"2.0","id":-3,"result":null}"#, "response -3 null");
        reads(r#"{"jsonrpc":"2.0","id":7.0,"result":{"x":1e400}}"#, r#"response 7.0 {"x":1e400}"#);
        reads(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#, "error - -1 m -");
        reads(r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m","data":[ 1 ]}}"#, "error - -1 m [ 1 ]");
        reads(r#"{"jsonrpc":"2.0","id":2,"error":{"code":"odd"}}"#, "error 2 -32603  -");
        reads(" \t{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n \"a\":1\r\n}} \r\n", "response 1 {\n \"a\":1\r\n}");
    }

    #[test]
    fn text_below_the_envelope_is_kept_to_the_byte() {
        let params = r#"{ "b":123456789012345678901234567890, "a":1.0,"\u0061":-0, "e":[{}] }"#;
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        reads(&text, &format!("request 1 m {params}"));
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for text in [
            "",
            "{",
            "{}{}",
            r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#,
            "nonsense",
            "\u{feff}{}",
            "{\"a\":\"\n\"}",
            "[1",
            "\0",
        ] {
            refuses(text, "not one JSON value");
        }
        refuses(b"{\"jsonrpc\":\"2.0\",\"x\":\"\xff\",\"method\":\"m\"}", "not one JSON value");
    }

    #[test]
    fn what_is_no_message_is_refused() {
        refuses("1", "not an object");
        refuses("{}", "jsonrpc");
        refuses(r#"{"jsonrpc":2.0,"method":"m"}"#, "jsonrpc");
        refuses(r#"{"jsonrpc":"2.0"}"#, "none of");
        refuses(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "id");
        refuses(r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "id");
        refuses(r#"{"jsonrpc":"2.0","id":[1],"result":1}"#, "id");
        refuses(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "method");
        refuses(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, "params");
        refuses(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "both");
        refuses(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#, "together");
        refuses(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "error");
        refuses(r#"{"jsonrpc":"2.0","result":1}"#, "without");
    }

    #[test]
    fn no_member_may_be_given_twice() {
        refuses(r#"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"m"}"#, "twice");
        refuses(r#"{"jsonrpc":"2.0","method":"a","m\u0065thod":"b"}"#, "twice");
        refuses(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, "twice");
        refuses(r#"{"jsonrpc":"2.0","method":"a","params":{},"params":{}}"#, "twice");
        refuses(r#"{"jsonrpc":"2.0","method":"a","x":1,"x":1}"#, "twice");
        let many = (0..40).map(|n| format!(",\"x{n}\":0")).collect::<Vec<_>>().concat();
        refuses(format!(r#"{{"jsonrpc":"2.0","method":"a"{many}}}"#), "unknown members");
    }

    #[test]
    fn an_unusable_message_still_names_its_id() {
        let error = parse(br#"{"jsonrpc":"2.0","id":9,"result":1,"error":{}}"#).unwrap_err();
        assert_eq!(error.id(), Some(&Id::from(9)));
        assert_eq!(error.to_rpc_error().code, code::INVALID_REQUEST);
        assert_eq!(parse(b"{").unwrap_err().to_rpc_error().code, code::PARSE_ERROR);
    }

    #[test]
    fn batches_are_a_case_of_their_own() {
        let batch = br#" [{"jsonrpc":"2.0","method":"a"}, {"x":[1,2]}] "#;
        assert!(matches!(parse(batch), Err(WireError::Batch)));
        let parts = split_batch(batch, 2).unwrap();
        assert_eq!(
            parts.iter().map(|part| part.get()).collect::<Vec<_>>(),
            [r#"{"jsonrpc":"2.0","method":"a"}"#, r#"{"x":[1,2]}"#]
        );
        assert!(split_batch(batch, 1).is_none());
        assert!(split_batch(b"[]", 9).is_none());
    }

    #[test]
    fn deep_nesting_is_carried_not_built() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        assert!(matches!(parse(text.as_bytes()), Ok(Message::Response { .. })));
    }

    #[test]
    fn ids_differ_by_type_and_spelling() {
        let ids = ["7", "7.0", "\"7\"", "70e-1"].map(|text| Id::from_json(text).unwrap());
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(ids.iter().position(|other| other == id), Some(at));
        }
        assert_eq!(ids.map(|id| id.as_u64()), [Some(7), None, None, None]);
        for text in ["null", "true", "{}", "", "01", "-", "7 8"] {
            assert!(Id::from_json(text).is_none(), "{text}");
        }
    }
}

mod lines {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::io::{AsyncRead, ReadBuf};

    use super::*;

    /// Gives its bytes in pieces of `step`, with a pending poll between pieces.
    struct Slow {
        bytes: Vec<u8>,
        step: usize,
        pause: bool,
    }

    impl AsyncRead for Slow {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            self.pause = !self.pause;
            if self.pause {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let n = self.step.min(self.bytes.len()).min(out.remaining());
            out.put_slice(&self.bytes[..n]);
            self.bytes.drain(..n);
            Poll::Ready(Ok(()))
        }
    }

    async fn read(bytes: &[u8], step: usize, max: usize) -> Vec<String> {
        let mut reader = LineReader::with_max(Slow { bytes: bytes.to_vec(), step, pause: false }, max);
        let mut lines = Vec::new();
        loop {
            // Dropped and asked again at every pending poll: nothing may get lost.
            let next = tokio::select! {
                biased;
                next = reader.next() => next.unwrap(),
                () = tokio::task::yield_now() => continue,
            };
            match next {
                None => return lines,
                Some(Line::Frame(line)) => lines.push(String::from_utf8_lossy(&line).into_owned()),
                Some(Line::TooLong { bytes, .. }) => lines.push(format!("too long: {bytes}")),
            }
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str]) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(runtime.block_on(read(bytes, step, 8)), expected, "in pieces of {step}");
        }
    }

    #[test]
    fn lines_end_with_lf_or_crlf_or_the_stream() {
        check(b"", &[]);
        check(b"a\nb\r\nc", &["a", "b", "c"]);
        check(b"\n\r\n  \t\na\n\n", &["a"]);
        check(b"\xef\xbb\xbfa\n", &["a"]);
        check(b"12345678\n12345678\r\n", &["12345678", "12345678"]);
    }

    #[test]
    fn an_over_long_line_is_dropped_and_the_next_is_in_step() {
        check(b"123456789\nb\n", &["too long: 9", "b"]);
        check(b"a\n1234567890123456789012345\r\nb\n", &["a", "too long: 26", "b"]);
        check(b"12345678901234567890", &["too long: 20"]);
    }

    #[tokio::test]
    async fn both_ends_of_an_over_long_line_are_kept() {
        let line = [vec![b'a'; 300], vec![b'-'; 1000], vec![b'z'; 300]].concat();
        for step in [1, 7, 10_000] {
            let slow = Slow { bytes: line.clone(), step, pause: false };
            let Some(Line::TooLong { head, tail, .. }) = LineReader::with_max(slow, 500).next().await.unwrap() else {
                panic!("not too long");
            };
            assert_eq!((head, tail), (vec![b'a'; 256].into(), vec![b'z'; 256].into()));
        }
    }

    #[tokio::test]
    async fn memory_stays_bounded_on_an_endless_line() {
        let mut reader = LineReader::with_max(tokio::io::repeat(b'x'), 64 * 1024);
        for _ in 0..20 {
            let step = tokio::time::timeout(std::time::Duration::from_millis(1), reader.next());
            assert!(step.await.is_err(), "an endless line has no end");
            assert!(reader.capacity() <= 512 * 1024, "{}", reader.capacity());
        }
    }
}

mod events {
    use super::*;

    fn event(event: Option<&str>, data: &str) -> SseItem {
        SseItem::Event(SseEvent { event: event.map(str::to_owned), data: data.to_owned(), id: None, retry: None })
    }

    #[track_caller]
    fn check(stream: &[u8], expected: &[SseItem]) {
        for step in [1, 2, 3, 5, 1000] {
            let mut parser = SseParser::new(32);
            let mut items = Vec::new();
            for chunk in stream.chunks(step) {
                parser.push(chunk);
                items.extend(std::iter::from_fn(|| parser.next_item()));
            }
            assert_eq!(items, expected, "in pieces of {step}");
        }
    }

    #[test]
    fn events_end_with_a_blank_line_in_any_line_ending() {
        check(b"data: a\n\n", &[event(None, "a")]);
        check(b"data: a\r\n\r\ndata:b\r\rdata: c\n\n", &[event(None, "a"), event(None, "b"), event(None, "c")]);
        check(b"\xef\xbb\xbfevent: message\ndata: {}\n\n", &[event(Some("message"), "{}")]);
        check(b"data: a\ndata:  b\ndata\n\n", &[event(None, "a\n b\n")]);
        check(b": comment\n\n:\n\ndata: a\nnonsense\n\n", &[event(None, "a")]);
        check("data: \u{e9}\n\n".as_bytes(), &[event(None, "\u{e9}")]);
    }

    #[test]
    fn what_the_end_cut_off_is_dropped() {
        check(b"data: a\n\ndata: b\n", &[event(None, "a")]);
        check(b"event: x\n\n", &[]);
    }

    #[test]
    fn ids_stay_and_retry_times_are_read() {
        let with = |data: &str, id: Option<&str>, retry| {
            SseItem::Event(SseEvent { event: None, data: data.to_owned(), id: id.map(str::to_owned), retry })
        };
        check(b"id: 1\nretry: 20\n\ndata: a\n\n", &[with("", Some("1"), Some(20)), with("a", Some("1"), None)]);
        check(b"retry: x\ndata: a\nid: 1\0\n\n", &[with("a", None, None)]);
    }

    #[test]
    fn an_over_long_event_is_dropped_and_the_next_is_in_step() {
        let long = [b"data: ".as_slice(), &[b'x'; 100], b"\ndata: more\n\ndata: a\n\n"].concat();
        check(&long, &[SseItem::TooLong, event(None, "a")]);
        let many = [b"data: 123456\n".repeat(10).as_slice(), b"\ndata: a\n\n"].concat();
        check(&many, &[SseItem::TooLong, event(None, "a")]);
        let keep_alives = [b": keep-alive\n".repeat(50).as_slice(), b"data: a\n\n"].concat();
        check(&keep_alives, &[event(None, "a")]);
    }
}
