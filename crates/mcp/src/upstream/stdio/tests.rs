//! Finding out whose answer was too long to keep.

use super::*;

#[track_caller]
fn check(line: &str, expected: Option<u64>) {
    let cut = line.len().min(64);
    let (head, tail) = (&line[..cut], &line[line.len() - cut..]);
    assert_eq!(id_of_cut_answer(head.as_bytes(), tail.as_bytes()), expected, "{line}");
}

#[test]
fn the_id_is_found_at_either_end() {
    let big = "x".repeat(200);
    check(&format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"a":"{big}"}}}}"#), Some(17));
    check(&format!(r#" {{ "id" : 17 , "jsonrpc":"2.0","result":{{"a":"{big}"}}}}"#), Some(17));
    check(&format!(r#"{{"result":{{"a":"{big}"}},"jsonrpc":"2.0","id":17}}"#), Some(17));
    check(&format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{big}"}},"id": 17 }}"#), Some(17));
    check(&format!(r#"{{"result":"{big}","id":17,"jsonrpc":"2.0"}}"#), Some(17));
}

#[test]
fn nothing_is_guessed() {
    let big = "x".repeat(200);
    check(&format!(r#"{{"jsonrpc":"2.0","id":17,"method":"ping","params":"{big}"}}"#), None);
    check(&format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"a":"{big}"}},"id":17}}"#), None);
    check(&format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{big}","id":17}}}}"#), None);
    check(&format!(r#"{{"jsonrpc":"2.0","id":"17","result":"{big}"}}"#), None);
    check(&big, None);
}
