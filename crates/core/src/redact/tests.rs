mod canary;
mod person;

use serde_json::{Value, json};

use super::*;

const SECRET: &str = "Tr0ub4dor&3 \"é/";

fn redactor() -> Redactor {
    Redactor::builder().value(SECRET).value("4815162342").names(["my-pin", "größe-pin"]).build().unwrap()
}

#[track_caller]
fn text(given: &str, expected: &str) {
    let redactor = redactor();
    let found = redactor.redact_text(given);
    assert_eq!(found, expected);
    assert_eq!(matches!(found, Cow::Borrowed(_)), given == expected);
    assert_eq!(redactor.redact_text(expected), expected, "twice is as good as once");
}

#[test]
fn names_of_secrets() {
    let redactor = redactor();
    let secret = "password Passwd user_password password1 dbpassword passwords userPassword pwd passphrase secret secrets \
        client-secret clientSecret SECRET_KEY token Token GITHUB_TOKEN github.token x-auth-token token_value api_key \
        apikey apiKey APIKey X-Api-Key api_keys OPENAI_API_KEY authorization Proxy-Authorization auth basic_auth \
        auth_header oauth credential credentials gcp_credentials private_key privateKey ssh_private_key private_key_pem \
        access_token accessTokens refresh_token session_token csrf_token id_token cookie cookies Set-Cookie jwt \
        aws_secret_access_key access_key connectionString my-pin myPin MY_PIN token2 größePin";
    for name in secret.split_whitespace() {
        assert!(redactor.is_secret_name(name), "{name}");
    }
    let plain = "max_tokens tokens token_count tokenCount total_tokens token_limit token_type nextPageToken page_token \
        next_token continuation_token sync_token progressToken eos_token tokenizer author authors authenticated \
        auth_url authUrl auth_type password_policy passwordLength password_expires_at secret_name secretId \
        access_key_id cookie_count key keys name id secretary compass pin my_pins url";
    for name in plain.split_whitespace() {
        assert!(!redactor.is_secret_name(name), "{name}");
    }
    for name in ["", "_", "___", "é", &"token_".repeat(100)] {
        assert!(!redactor.is_secret_name(name), "{name}");
    }
}

/// Case 107 of the OneRingAI reference; threat T12.
#[test]
fn audit_of_arguments() {
    let schema = json!({"type": "object", "properties": {
        "token": {"type": "string"}, "pin_of_card": {"type": "integer", "writeOnly": true}, "note": {"type": "string"},
    }});
    let value = json!({
        "token": "abc", "password": "x", "pin_of_card": 1234, "note": "n".repeat(1000), "max_tokens": 5,
        "nested": [{"Authorization": {"basic": "u"}, "path": "/tmp"}], "has_password": true, "secret": null,
    });
    let out = redactor().redact_value(&value, Some(&schema));
    let expected = json!({
        "token": MASK, "password": MASK, "pin_of_card": MASK,
        "note": format!("{}… [1000 characters in all]", "n".repeat(500)), "max_tokens": 5,
        "nested": [{"Authorization": MASK, "path": "/tmp"}], "has_password": true, "secret": null,
    });
    assert_eq!(out, expected);
    assert_eq!(redactor().redact_value(&out, None)["token"], MASK);
}

#[test]
fn what_a_schema_declares() {
    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &Value) {
        assert_eq!(redactor().redact_value(value, Some(schema)), *expected);
    }
    let secret = json!({"type": "string", "format": "password"});
    let only = |schema: Value| json!({"properties": {"a": schema}});
    let value = json!({"a": "x", "b": "y"});
    let hidden = json!({"a": MASK, "b": "y"});
    check(&only(secret.clone()), &value, &hidden);
    check(&only(json!({"writeOnly": true})), &value, &hidden);
    check(&only(json!({"writeOnly": false})), &value, &value);
    check(&only(json!({"anyOf": [{"type": "null"}, secret]})), &value, &hidden);
    check(&only(json!({"if": true, "then": {"allOf": [secret]}})), &value, &hidden);
    check(&json!({"allOf": [only(secret.clone())]}), &value, &hidden);
    let defs = json!({"properties": {"a": {"$ref": "#/$defs/a%20b~1"}}, "$defs": {"a b/": {"$ref": "#/$defs/c"}, "c": secret}});
    check(&defs, &value, &hidden);
    // Only at the declared place: the same name elsewhere is another field.
    check(&only(secret.clone()), &json!({"a": "x", "b": {"a": "y"}}), &json!({"a": MASK, "b": {"a": "y"}}));
    check(&only(json!({"items": secret})), &json!({"a": ["x", null], "c": [1]}), &json!({"a": [MASK, null], "c": [1]}));
    check(&json!({"additionalProperties": secret, "properties": {"b": true}}), &value, &hidden);
    check(&json!({"patternProperties": {"^a": secret}}), &value, &json!({"a": MASK, "b": MASK}));
    check(&json!({"writeOnly": true}), &value, &json!(MASK));
    // A schema that refers to itself, followed as deep as the value goes.
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {
        "k": {"writeOnly": true}, "next": {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#"}]}}}}});
    check(&tree, &json!({"next": {"next": {"k": 1, "l": 2}}}), &json!({"next": {"next": {"k": MASK, "l": 2}}}));
    for odd in [json!(true), json!(1), json!({"$ref": "#/nowhere", "properties": [], "items": 1}), json!({"$ref": "#"})]
    {
        check(&odd, &value, &value);
    }
    // Over the bound everything is hidden rather than shown.
    let wide = json!({"anyOf": (0..1_000).map(|i| json!({"title": i})).collect::<Vec<_>>()});
    check(&wide, &value, &json!(MASK));
}

#[test]
fn values_are_bounded() {
    let mut deep = json!("end");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let out = redactor().redact_value(&deep, None).to_string();
    assert!(out.contains("[deeper levels left out]") && !out.contains("end"));
    let wide = json!({"a": vec![0; 50_000], "b": 1});
    let out = redactor().redact_value(&wide, None);
    assert_eq!(out["a"].as_array().unwrap().len(), 9_999);
    assert!(out.to_string().contains("too many values"));
}

#[test]
fn forms_of_secrets() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    for token in [
        "sk-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop",
        "sk_live_abcdefghij12",
        "ghp_abcdefghijklmnop1234",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghijklmno12345",
        "xoxb-1234567890-abcdef",
        "xoxp-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        jwt,
    ] {
        text(token, MASK);
        text(&format!("a '{token}', b"), &format!("a '{MASK}', b"));
        text(&format!(r#"{{"k":["{token}"]}}"#), &format!(r#"{{"k":["{MASK}"]}}"#));
    }
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
    text(&format!("a\n{pem}\nb"), "a\n***\nb");
    text("x -----BEGIN PRIVATE KEY-----\nMIIE cut", "x ***");
    let public = "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----";
    text(public, public);
    text("sent Bearer abc.DEF-123=, then", "sent Bearer ***, then");
    text("postgres://app:s3cr3t@db.internal:5432/x", "postgres://app:***@db.internal:5432/x");
    text("https://u:p@ss@h/?q=a@b", "https://u:***@h/?q=a@b");
    text(r"https:\/\/u:pass@h\/", r"https:\/\/u:***@h\/");
    for plain in [
        "bearer authentication is needed",
        "see https://example.org:8080/a@b and http://h/x:y@z",
        "risk-assessment-of-something-long-1",
        "sk-learn-is-a-library-of-python",
        "eyJ is how a JWT begins; AKIA too",
        "sha256 of it is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "",
    ] {
        text(plain, plain);
    }
}

#[test]
fn names_in_running_text() {
    for (given, expected) in [
        ("password=hunter2&x=1", "password=***&x=1"),
        ("export GITHUB_TOKEN=abc", "export GITHUB_TOKEN=***"),
        ("https://h/cb?code=1&access_token=abc", "https://h/cb?code=1&access_token=***"),
        ("Server=db;Password=a{b)c;Database=x", "Server=db;Password=***;Database=x"),
        ("Authorization: Basic dXNlcjpwYXNz\nHost: x", "Authorization: ***\nHost: x"),
        ("Set-Cookie: a=b; c=d\r\nx", "Set-Cookie: ***\r\nx"),
        ("X-Api-Key: abc", "X-Api-Key: ***"),
        ("password: hunter2", "password: ***"),
        (r#"got {"client_secret": "a\"b", "n": 1}"#, r#"got {"client_secret": "***", "n": 1}"#),
        (r#"body \"api_key\": \"x\\\"y\", end"#, r#"body \"api_key\": \"***\", end"#),
        ("{'token': 'abc', 'n': 1}", "{'token': '***', 'n': 1}"),
        ("secret => 'abc'", "secret => '***'"),
        ("my-pin=1", "my-pin=***"),
        ("größe-pin: 1", "größe-pin: ***"),
        ("token: a1b2c3d4", "token: ***"),
    ] {
        text(given, expected);
    }
    for plain in [
        "unexpected token: end of file",
        "max_tokens=100, token_count: 12",
        "?nextPageToken=abc123",
        "auth: none",
        "author: Bob",
        "the password is wrong",
        "password=",
        "token",
    ] {
        text(plain, plain);
    }
}

#[test]
fn text_that_is_json_stays_json() {
    for (given, expected) in [
        (r#" {"password" : 12345, "n":1.50 } "#, r#" {"password" : "***", "n":1.50 } "#),
        (r#"[{"auth":{"user":"u","k":[1]}},2]"#, r#"[{"auth":"***"},2]"#),
        (r#"{"token":null,"secret":true,"cookie":""}"#, r#"{"token":null,"secret":true,"cookie":""}"#),
        (r#"{"body":"{\"password\":\"x\",\"id\":123}"}"#, r#"{"body":"{\"password\":\"***\",\"id\":123}"}"#),
        (r#"{"n":4815162342,"m":48151623420}"#, r#"{"n":"***","m":"***"}"#),
        (r#"{"a":"\ud800 sk-abcdefghijklmnop1234"}"#, "{\"a\":\"\u{FFFD} ***\"}"),
        (r#"{"a":"\ud800 x"}"#, r#"{"a":"\ud800 x"}"#),
    ] {
        text(given, expected);
    }
}

#[test]
fn a_result_changes_only_where_a_secret_was() {
    let result = |text: &str| ToolResult::from_raw(RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    let with = |secret: &str, mask: &str| {
        let inner = Value::from(format!(r#"{{"id": 123456789012345678901, "password":"{mask}"}}"#)).to_string();
        format!(
            r#"{{ "content":[{{"type":"text","text":"see {secret} here","annotations":{{"priority":1.0}}}},{{"type":"image","data":"{}","mimeType":"image/png"}},{{"type":"text","text":{inner}}},{{"type":"resource","resource":{{"uri":"x:1","text":"{secret}"}}}}],"structuredContent":{{"n":123456789012345678901234567890,"api_key":"{mask}","token_count":3}}, "isError" :true,"x":["{secret}",1e5]}}"#,
            "c2stYWJjZGVmZ2hpamtsbW5vcDEyMzQ="
        )
    };
    let out = redactor().redact_result(&result(&with("sk-abcdefghijklmnop1234", "hunter2"))).unwrap();
    assert_eq!(out.raw().get(), with(MASK, MASK));
    assert!(out.is_error());
    // Running text may be source code: only forms and known values count in it.
    for clean in [r#"{"content":[{"type":"text","text":"password = ask()\ntoken=next"}]}"#, "{}", r#"{"content":null}"#]
    {
        assert!(redactor().redact_result(&result(clean)).is_none(), "{clean}");
    }
    assert!(redactor().redact_result(&result(&with(MASK, MASK))).is_none());
}

#[test]
fn secrets_of_several_lines_and_of_json() {
    let key = format!("-----BEGIN X-----\n{}\n{}\n-----END X-----\n", "A".repeat(40), "B".repeat(64));
    let file =
        json!({"type": "service_account", "project_id": "my-project", "private_key": "line-of-key-1234"}).to_string();
    let redactor = Redactor::builder()
        .values([key.as_str(), &file, r#"{"a": "b, c"}"#, "short", " padded-value \n"])
        .build()
        .unwrap();
    for (given, expected) in [
        (format!("x {} y", "B".repeat(64)), "x *** y"),
        (key.trim().replace('\n', "\\n"), MASK),
        (file.clone(), r#"{"type":"service_account","project_id":"my-project","private_key":"***"}"#),
        (r#"[{"a": "b, c"}]"#.to_owned(), "[***]"),
        ("at my-project: line-of-key-1234".to_owned(), "at my-project: ***"),
        ("short padded-value!".to_owned(), "short ***!"),
        ("-----BEGIN X-----".to_owned(), "-----BEGIN X-----"),
    ] {
        assert_eq!(redactor.redact_text(&given), expected);
    }
}

#[test]
fn a_secret_across_pieces_of_a_long_text_is_found() {
    let redactor = redactor();
    let secret = r#"Tr0ub4dor&3 \"\u00e9\/"#;
    for before in (256 * 1024 - 30..256 * 1024 + 2).step_by(8) {
        let text = format!("{}{secret}{}", "é".repeat(before / 2), "é".repeat(200_000));
        let expected = format!("{}***{}", "é".repeat(before / 2), "é".repeat(200_000));
        assert!(redactor.plain(&text, Strength::Forms) == expected, "{before}");
    }
}

#[test]
fn values_can_change() {
    let redactor = redactor().with_values(["new-secret-1"]).unwrap();
    assert_eq!(redactor.redact_text(&format!("{SECRET} new-secret-1 my-pin=1")), format!("{SECRET} *** my-pin=***"));
}

#[test]
fn overlapping_secrets_leave_no_rest() {
    let redactor = Redactor::builder().values(["abcdefgh", "efghijklmn", "cdefghij"]).build().unwrap();
    assert_eq!(redactor.redact_text("-abcdefghijklmn-abcdefghabcdefgh-"), "-***-***-");
}

#[test]
fn nothing_shows_the_values() {
    let builder = Redactor::builder().value(SECRET).name("my-pin");
    assert_eq!(format!("{builder:?}"), "RedactorBuilder { names: 1, values: 1 }");
    let shown = format!("{:?}", builder.build().unwrap());
    assert!(shown.contains("known_values: 1") && !shown.contains("Tr0ub"), "{shown}");
    let error = Redactor::builder().values(vec![SECRET; 10_001]).build().unwrap_err();
    assert!(error.to_string().contains("10001 known secrets") && !error.to_string().contains("Tr0ub"), "{error}");
}

#[test]
fn known_values_are_found_in_results_however_they_are_written() {
    #[track_caller]
    fn check(values: &[&str], given: &str, masked: bool) {
        let redactor = Redactor::builder().values(values.iter().map(|value| (*value).to_owned())).build().unwrap();
        let raw = RawValue::from_string(given.to_owned()).unwrap();
        let result = ToolResult::from_raw(raw).unwrap();
        let found = redactor.redact_known(&result).map(|result| result.raw().get().to_owned());
        assert_eq!(found.is_some(), masked, "{given}");
        // The quick look comes to the same end as the close one.
        let close = redactor.result(&result, Strength::Known).map(|result| result.raw().get().to_owned());
        assert_eq!(found, close, "{given}");
    }
    let one = ["hunter2-hunter2"];
    check(&one, r#"{"content":[{"type":"text","text":"nothing here\nat all \"quoted\" 100 % sure"}]}"#, false);
    check(&one, r#"{"content":[{"type":"text","text":"a hunter2-hunter2 b"}]}"#, true);
    check(&one, r#"{"content":[{"type":"text","text":"line\nhunter2-hunter2\t\"x\""}]}"#, true);
    check(&one, r#"{"content":[{"type":"text","text":"line\nhunter3-hunter3\t\"x\""}]}"#, false);
    check(&one, r#"{"content":[{"type":"text","text":"hunter2\u002dhunter2"}]}"#, true);
    check(&one, r#"{"content":[{"type":"text","text":"hunter2%2Dhunter2"}]}"#, true);
    check(&one, r#"{"content":[{"type":"text","text":"hunter2\\u002dhunter2"}]}"#, true);
    check(&one, r#"{"content":[{"type":"text","text":"{\"a\":\"hunter2-hunter2\"}"}]}"#, true);
    check(&one, r#"{"content":[],"structuredContent":{"hunter2-hunter2":1}}"#, true);
    check(&one, r#"{"content":[{"type":"image","data":"hunter2-hunter2"}]}"#, false);
    check(&["4815162342"], r#"{"content":[],"structuredContent":{"n":4815162342}}"#, true);
    check(&["4815162342"], r#"{"content":[],"structuredContent":{"n":4815162343,"m":[1,2,3]}}"#, false);
    // Values that JSON writes with an escape themselves.
    for (value, given) in [
        ("first line\nsecond line", r#"{"content":[{"type":"text","text":"first line\nsecond line"}]}"#),
        ("with \"quotes\" in it", r#"{"content":[{"type":"text","text":"with \"quotes\" in it"}]}"#),
        ("back\\slash-back", r#"{"content":[{"type":"text","text":"back\\slash-back"}]}"#),
        ("a/path/to/something", r#"{"content":[{"type":"text","text":"a\/path\/to\/something"}]}"#),
    ] {
        check(&[value], given, true);
        check(&[value, one[0]], r#"{"content":[{"type":"text","text":"a hunter2-hunter2\n b"}]}"#, true);
    }
}
