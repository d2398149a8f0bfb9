use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn what_is_not_screened_passes_byte_for_byte() {
    let mut rig = Rig::opened().await;
    let ask = r#" {  "method":"x/unknown" ,"params" : {"big":18446744073709551616,"e":1E5,"z":-0.0,"u":"\u0041\/\ud800","y":{"b":1,"a":2}},"id": "\u0061b","jsonrpc":"2.0", "extra":[null] }  "#;
    rig.ask(ask).await;
    assert_eq!(rig.got.line().await.as_deref(), Some(ask));
    let answer = r#"{"result" :{"content":[{"type":"text","text":"\u00e9\u0000é"}],"n":123456789012345678901234567890,"f":1.10},"jsonrpc":"2.0","id":"ab" }"#;
    rig.say(answer).await;
    assert_eq!(rig.heard.line().await.as_deref(), Some(answer));
    for note in [
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1, 2 ]}"#,
        r#"{ "method":"notifications/initialized","jsonrpc":"2.0"}"#,
    ] {
        rig.ask(note).await;
        assert_eq!(rig.got.line().await.as_deref(), Some(note));
        rig.say(note).await;
        assert_eq!(rig.heard.line().await.as_deref(), Some(note));
    }
}

#[tokio::test]
async fn a_megabyte_passes_as_it_is_and_line_ends_are_made_one() {
    let mut rig = Rig::opened().await;
    rig.ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\r").await;
    assert_eq!(rig.got.line().await.unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}");
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{}"}}}}"#, "é\\n".repeat(300_000));
    let mut server = rig.server.take().unwrap();
    let line = answer.clone();
    let said = tokio::spawn(async move {
        write(&mut server, line.as_bytes()).await;
        server
    });
    assert!(rig.heard.line().await == Some(answer), "a megabyte changed on its way");
    rig.server = Some(said.await.unwrap());
}

#[tokio::test]
async fn a_last_line_without_its_newline_counts() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    rig.got.line().await;
    rig.server.take().unwrap().write_all(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await.unwrap();
    assert_eq!(rig.heard.line().await.unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test]
async fn a_broken_request_is_answered_once_and_reaches_no_server() {
    let mut rig = Rig::opened().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"x","params":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":"{}"}}"#,
        "x".repeat(super::super::super::lines::LIMIT)
    );
    let broken: [(&[u8], Value, i64); 8] = [
        (b"hello", Value::Null, -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, json!(1), -32600),
        (br#"{"jsonrpc":"2.0","id":2,"method":"x","params":{"a":[{"b":1,"\u0062":2}]}}"#, json!(2), -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\"}", json!(3), -32600),
        (deep.as_bytes(), json!(4), -32600),
        (long.as_bytes(), json!(5), -32600),
        (br#"[{"jsonrpc":"2.0","id":6,"method":"x"}]"#, Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Value::Null, -32600),
    ];
    for (line, id, code) in broken {
        rig.ask(line).await;
        let answer = rig.heard.json().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    }
    rig.server_gets_nothing_yet().await;
    assert_eq!(rig.finish().await.counts.dropped, 8);
}

#[tokio::test]
async fn a_broken_answer_becomes_an_error_for_the_asker() {
    let mut rig = Rig::opened().await;
    let deep = format!(r#"{{"result":{}1{},"jsonrpc":"2.0","id":3}}"#, "[".repeat(200), "]".repeat(200));
    let long =
        format!(r#"{{"result":"{}","jsonrpc":"2.0","id":4}}"#, "x".repeat(super::super::super::lines::LIMIT));
    let broken: [&[u8]; 4] = [
        br#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"\xc0\x80\"}}",
        deep.as_bytes(),
        long.as_bytes(),
    ];
    for (line, id) in broken.into_iter().zip(1..) {
        rig.ask(json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string()).await;
        rig.got.line().await;
        rig.say(line).await;
        let answer = rig.heard.json().await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["error"]["data"]["code"], "malformed-answer", "{answer}");
        // Answered once: a second, good answer comes too late.
        rig.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string()).await;
    }
    rig.client_hears_nothing_yet().await;
}

#[tokio::test]
async fn a_clients_broken_answer_becomes_an_error_for_the_server() {
    let mut rig = Rig::opened().await;
    rig.say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    rig.heard.line().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[],"roots":[]}}"#).await;
    let answer = rig.got.json().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32600)));
    rig.client_hears_nothing_yet().await;
}

#[tokio::test]
async fn answers_nobody_waits_for_are_dropped_and_counted() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    rig.got.line().await;
    for unasked in ["2", "\"1\"", "1.0", "null", "\"open\""] {
        rig.say(format!(r#"{{"jsonrpc":"2.0","id":{unasked},"result":{{}}}}"#)).await;
        rig.say(format!(r#"{{"jsonrpc":"2.0","id":{unasked},"error":{{"code":1,"message":"m"}}}}"#)).await;
    }
    rig.say(r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#).await;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"first":true}}"#;
    rig.say(answer).await;
    rig.say(r#"{"jsonrpc":"2.0","id":1,"result":{"second":true}}"#).await;
    assert_eq!(rig.heard.line().await.unwrap(), answer);
    rig.client_hears_nothing_yet().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
    rig.server_gets_nothing_yet().await;
    assert_eq!(rig.finish().await.counts.dropped, 13);
}

#[tokio::test]
async fn an_id_can_be_used_again_once_it_is_answered_and_not_before() {
    let mut rig = Rig::opened().await;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
    for _ in 0..2 {
        rig.ask(ask).await;
        assert_eq!(rig.got.line().await.unwrap(), ask);
        rig.ask(ask).await;
        assert_eq!(rig.heard.json().await["error"]["data"]["code"], "id-in-use");
        rig.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
        assert_eq!(rig.heard.json().await["result"], json!({}));
    }
}

#[tokio::test]
async fn the_1025th_open_request_is_refused_and_room_is_made_by_answers_and_cancels() {
    let mut rig = Rig::opened().await;
    for id in 0..1024 {
        rig.ask(json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string()).await;
        assert_eq!(rig.got.json().await["id"], id);
    }
    for id in 1024..1100 {
        rig.ask(json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string()).await;
        let answer = rig.heard.json().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["data"]["code"]),
            (&json!(id), &json!("too-many-requests"))
        );
    }
    rig.say(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    assert_eq!(rig.heard.json().await["id"], 5);
    rig.ask(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#).await;
    assert_eq!(rig.got.json().await["params"]["requestId"], 6);
    for id in [2000, 2001] {
        rig.ask(json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string()).await;
        assert_eq!(rig.got.json().await["id"], id);
    }
    // The same the other way.
    for id in 0..1025 {
        rig.say(json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"}).to_string()).await;
        if id < 1024 {
            assert_eq!(rig.heard.json().await["id"], id);
        } else {
            assert_eq!(rig.got.json().await["error"]["data"]["code"], "too-many-requests");
        }
    }
}

#[tokio::test]
async fn noise_on_the_servers_output_is_counted_and_not_passed_on() {
    let mut rig = Rig::opened().await;
    for noise in [
        "Notes server running on stdio",
        "",
        "   ",
        r#"{"level":"info","msg":"listening","id":1}"#,
        "[1,2,3]",
        "\u{1b}[31mred\u{1b}[0m",
    ] {
        rig.say(noise).await;
    }
    rig.client_hears_nothing_yet().await;
    let events = rig.events();
    let noise: Vec<_> = events.iter().filter(|event| matches!(event, Event::Noise(_))).collect();
    assert_eq!(noise.len(), 4, "{events:?}");
    assert!(!format!("{noise:?}").contains('\u{1b}'));
    for _ in 0..500 {
        rig.say("x".repeat(1000)).await;
    }
    rig.client_hears_nothing_yet().await;
    assert!(rig.events().len() < 100, "noise is told sparingly");
    assert_eq!(rig.finish().await.counts.noise, 506);
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_the_server_and_not_itself() {
    let mut rig = Rig::sized(policy(), 4096);
    rig.open().await;
    // The server talks until nobody takes it any more.
    let line =
        [format!(r#"{{"jsonrpc":"2.0","method":"x","params":"{}"}}"#, "x".repeat(1000)).as_bytes(), b"\n"]
            .concat();
    let mut server = rig.server.take().unwrap();
    let mut written = 0;
    while tokio::time::timeout(Duration::from_millis(200), server.write_all(&line)).await.is_ok() {
        written += line.len();
        assert!(written < 300_000, "something grows");
    }
    // Meanwhile the other direction is open.
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    assert_eq!(rig.got.json().await["id"], 1);
    let mut heard = 0;
    while heard < written / line.len() {
        assert_eq!(rig.heard.json().await["method"], "x");
        heard += 1;
    }
}

#[tokio::test]
async fn a_server_that_does_not_read_stops_the_client_and_not_itself() {
    let mut rig = Rig::sized(policy(), 4096);
    rig.open().await;
    let line =
        [format!(r#"{{"jsonrpc":"2.0","method":"x","params":"{}"}}"#, "x".repeat(1000)).as_bytes(), b"\n"]
            .concat();
    let mut client = rig.client.take().unwrap();
    let mut written = 0;
    while tokio::time::timeout(Duration::from_millis(200), client.write_all(&line)).await.is_ok() {
        written += line.len();
        assert!(written < 300_000, "something grows");
    }
    rig.client_hears_nothing_yet().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_from_either_side_never_panic(
        client in proptest::collection::vec(message(), 0..12),
        server in proptest::collection::vec(message(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut rig = Rig::sized(policy(), 1 << 20);
            for line in &client {
                rig.ask(line).await;
            }
            for line in &server {
                rig.say(line).await;
            }
            rig.client.take();
            rig.server.take();
            let _ = rig.end.take().unwrap().send("done".to_owned().into());
            let mut lines = 0;
            while let Some(line) = rig.heard.line().await {
                serde_json::from_str::<Value>(&line).expect("the client gets JSON only");
                lines += 1;
            }
            assert!(lines <= 2 * client.len() + server.len());
            rig.task.await.expect("no panic");
        });
    }
}

/// Lines that are messages often enough to reach the rules.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![Just("1"), Just("2"), Just("\"a\""), Just("null"), Just("1.0")];
    let method = prop_oneof![
        Just("initialize"),
        Just("server/discover"),
        Just("tools/list"),
        Just("tools/call"),
        Just("prompts/get"),
        Just("notifications/tools/list_changed"),
        Just("notifications/cancelled"),
        Just("notifications/message"),
        Just("sampling/createMessage"),
        Just("elicitation/create"),
        Just("resources/read"),
        Just("\\u0070ing"),
    ];
    let body = prop_oneof![
        Just("{}"),
        Just("null"),
        Just("[]"),
        Just("{\"name\":\"t\"}"),
        Just("{\"requestId\":1}"),
        Just("{\"tools\":[{\"name\":\"t\"}]}"),
        Just("{\"tools\":[],\"nextCursor\":\"c\"}"),
        Just("{\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}"),
        Just("{\"instructions\":7}"),
        Just("{\"code\":-32042,\"message\":\"m\"}"),
        Just("{\"uri\":\"u\",\"level\":\"info\"}"),
    ];
    let whole = (id, method, body, 0..5).prop_map(|(id, method, body, shape)| {
        match shape {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{body}}}"#),
            1 => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{body}}}"#),
            2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{body}}}"#),
            3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{body}}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","result":{body}}}"#),
        }
        .into_bytes()
    });
    prop_oneof![6 => whole, 1 => proptest::collection::vec(any::<u8>(), 0..60)]
}

#[tokio::test]
async fn an_answer_that_is_both_a_result_and_an_error_is_neither() {
    let mut rig = Rig::opened().await;
    for (body, heard) in [
        (r#""result":{"ok":1.50},"error":null"#, Some(r#""result":{"ok":1.50}"#)),
        (r#""error":{"code": 1,"message":"m"},"result":null"#, Some(r#""error":{"code": 1,"message":"m"}"#)),
        (r#""result":null,"error":null"#, Some(r#""result":null"#)),
        (r#""result":{"ok":1},"error":{"code":1,"message":"m"}"#, None),
        (r#""error":{},"result":{"inputRequests":{"a":{"method":"elicitation/create"}}}"#, None),
        (r#""error":false,"result":0"#, None),
    ] {
        rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
        rig.got.line().await;
        rig.say(format!(r#"{{"jsonrpc":"2.0","id":1,{body}}}"#)).await;
        let line = rig.heard.line().await.unwrap();
        match heard {
            Some(heard) => assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":1,{heard}}}"#)),
            None => assert!(line.contains("malformed-answer"), "{line}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_client_gets_one_of_both_and_no_unchecked_question(
        topic in prop_oneof![Just("initialize"), Just("tools/list"), Just("skills/get"), Just("x")],
        members in proptest::collection::vec(member(), 1..4),
    ) {
        let mut referee = super::super::super::referee::Referee::new(policy());
        referee.client_says(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{topic}"}}"#).as_bytes());
        let mut line = format!(r#"{{"jsonrpc":"2.0","id":1,{}}}"#, members.join(",")).into_bytes();
        let moves = referee.server_says(&line);
        if !moves.pass {
            line = moves.to_client.unwrap_or_default();
        }
        if !line.is_empty() {
            let heard: Value = serde_json::from_slice(&line).unwrap();
            prop_assert!(heard.get("result").is_some() != heard.get("error").is_some(), "{}", heard);
            for part in ["result", "error", "params"] {
                let part = heard.get(part).map(Value::to_string).unwrap_or_default();
                prop_assert!(!part.contains("elicitation/create"), "{}", heard);
            }
        }
    }
}

/// A member of an answer.
fn member() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("result"), Just("error"), Just("params"), Just("re\\u0073ult"), Just("x")];
    let asks = r#"{"a":{"method":"elicitation/create","params":{"message":"m"}}}"#;
    let value = prop_oneof![
        Just("null".to_owned()),
        Just("{}".to_owned()),
        Just(r#"{"tools":[]}"#.to_owned()),
        Just(r#"{"code":1,"message":"m"}"#.to_owned()),
        Just(format!(r#"{{"inputRequests":{asks}}}"#)),
        Just(format!(r#"{{"tools":[],"input\u0052equests":{asks}}}"#)),
        Just(format!(r#"{{"InputRequests":{asks}}}"#)),
        Just(format!(r#"{{"code":1,"message":"m","inputRequests":{asks}}}"#)),
    ];
    (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"))
}
