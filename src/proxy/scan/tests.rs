use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;

fn flaw(line: &str) -> Option<Flaw> {
    scan(line.as_bytes()).1.err()
}

#[test]
fn refuses_a_member_named_twice_at_any_depth() {
    for line in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":[{"b":{"c":1,"d":[],"c":{}}}]}"#,
        r#"{"é":1,"\u00e9":2}"#,
        r#"{"x":{"😀":1,"\ud83d\ude00":2}}"#,
        r#"{"":1,"":2}"#,
        r#"{"x":{"\ud800":1,"\uD800":2}}"#,
        r#"{"\n":1,"\u000a":2}"#,
    ] {
        let flaw = flaw(line);
        assert!(matches!(flaw, Some(Flaw::NamedTwice | Flaw::NotAMessage)), "{line} {flaw:?}");
    }
    let many = (0..100).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(flaw(&format!("{{{many}}}")), None);
    assert_eq!(flaw(&format!("{{\"x\":{{{many},\"k50\":0}}}}")), Some(Flaw::NamedTwice));
}

#[test]
fn accepts_one_name_in_different_objects() {
    for line in [
        r#"{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":{"a":1}}"#,
        r#"{"x":{"\ud800":1,"\ud801":2}}"#,
        r#"{"a":1,"A ":2,"\u0061b":3}"#,
    ] {
        assert_eq!(flaw(line), None, "{line}");
    }
}

#[test]
fn refuses_one_level_too_many_and_accepts_one_less() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(flaw(&nested(DEPTH - 1)), None);
    assert_eq!(flaw(&nested(DEPTH)), Some(Flaw::TooDeep));
    assert_eq!(flaw(&"{\"a\":".repeat(1_000_000)), Some(Flaw::TooDeep));
}

#[test]
fn refuses_bytes_that_are_not_utf8() {
    for bytes in [&b"{\"a\":\"\xff\"}"[..], b"{\"\xc3\":1}", b"{\"a\":\"\xed\xa0\x80\"}"] {
        assert!(matches!(scan(bytes).1, Err(Flaw::NotUtf8 | Flaw::NotAMessage)), "{bytes:?}");
    }
}

#[test]
fn refuses_look_alikes_of_the_envelope() {
    for name in ["Result", "METHOD", "Id", "\\u0049d", "re\\u017fult", "params\u{e9}"] {
        assert_eq!(flaw(&format!("{{\"{name}\":1}}")), Some(Flaw::NotAMessage), "{name}");
    }
    assert_eq!(flaw(r#"{"result":{"Result":1,"ſ":2}}"#), None);
}

#[test]
fn refuses_the_names_our_parser_keeps_for_itself() {
    for name in ["$serde_json::private::Number", "\\u0024serde_json::private::RawValue"] {
        assert_eq!(flaw(&format!(r#"{{"a":[{{"{name}":"1"}}]}}"#)), Some(Flaw::Reserved));
    }
}

#[test]
fn finds_the_members_whatever_their_order_and_spacing() {
    let line = br#" { "result" : {"a":[1 , 2], "inputRequests" : {"x":1} } ,"x":{"inputRequests":2}, "id": 1E5 ,"jsonrpc":"2.0" } "#;
    let (found, outcome) = scan(line);
    assert_eq!(outcome, Ok(()));
    let text = |span: Option<Span>| std::str::from_utf8(span.unwrap().of(line)).unwrap();
    assert_eq!(text(found.id), "1E5");
    assert_eq!(text(found.jsonrpc), "\"2.0\"");
    assert_eq!(text(found.result), r#"{"a":[1 , 2], "inputRequests" : {"x":1} }"#);
    assert_eq!(text(found.input_requests), r#"{"x":1}"#);
    assert_eq!((found.method, found.params, found.error), (None, None, None));
}

#[test]
fn sees_input_requests_behind_an_escape_and_not_one_level_down() {
    assert!(scan(br#"{"result":{"\u0069nputRequests":{}}}"#).0.input_requests.is_some());
    assert!(scan(br#"{"result":{"a":{"inputRequests":{}}}}"#).0.input_requests.is_none());
    assert!(scan(br#"{"result":[{"inputRequests":{}}]}"#).0.input_requests.is_none());
    assert_eq!(flaw(r#"{"result":{"InputRequests":{}}}"#), Some(Flaw::NotAMessage));
    assert_eq!(flaw(r#"{"params":{"inputRequeſts":{}}}"#), Some(Flaw::NotAMessage));
}

#[test]
fn a_string_of_any_length_and_content_is_passed_over_exactly() {
    for length in 0..40 {
        for special in ["\\\"", "\\\\", "\\n", "é", "\u{7f}", "\u{80}", "~"] {
            let text = format!("{}{special}{}", "x".repeat(length), "y".repeat(40 - length));
            assert_eq!(flaw(&format!("{{\"a\":\"{text}\"}}")), None, "{text}");
        }
        for bad in ["\u{1f}", "\u{0}", "\n", "\\x", "\\u12g4"] {
            let text = format!("{}{bad}", "x".repeat(length));
            assert_eq!(flaw(&format!("{{\"a\":\"{text}\"}}")), Some(Flaw::NotJson), "{text:?}");
        }
    }
}

/// Pieces that make JSON, and near-JSON, likely.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\""),
        Just("\\"),
        Just("\"a\""),
        Just("\"b\":"),
        Just("1"),
        Just("-0.5e+7"),
        Just("01"),
        Just("1."),
        Just("true"),
        Just("null"),
        Just("fals"),
        Just("\\u0041"),
        Just(" "),
        Just("\t"),
        Just("é"),
        Just("{}"),
        Just("[]"),
        Just("\"a\":1"),
        Just("\u{1}"),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_passes_is_what_serde_json_reads_too(text in pieces()) {
        let line = format!("{{\"q\":{text}}}");
        let serde: Result<Box<RawValue>, _> = serde_json::from_str(&line);
        match scan(line.as_bytes()).1 {
            Ok(()) => prop_assert!(serde.is_ok(), "{line}"),
            Err(Flaw::NotJson) => prop_assert!(serde.is_err(), "{line}"),
            Err(_) => {}
        }
    }

    #[test]
    fn any_value_of_serde_json_passes(keys in proptest::collection::vec("[a-z\\PC]{0,3}", 0..20), text in "\\PC{0,40}") {
        let mut value = serde_json::json!([text, 1.5, -7, null]);
        for key in keys {
            value = serde_json::json!({key: value, "other": {"x": []}});
        }
        let line = serde_json::to_vec(&serde_json::json!({"q": value})).unwrap();
        prop_assert_eq!(scan(&line).1, Ok(()));
    }

    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = scan(&bytes);
        let _ = scan(&[b"{\"a\":\"", &bytes[..], b"\"}"].concat());
    }
}
