use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, duplex};

use super::*;

/// A server that a test scripts: `reply` gets each message of ours and gives the lines to answer with; no line at
/// all, and it closes its output.
pub(in crate::proxy) fn serve(
    mut reply: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> (DuplexStream, DuplexStream) {
    let (reader, mut out) = duplex(1 << 16);
    let (writer, input) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut lines = BufReader::new(input).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let replies = reply(&message);
            if replies.is_empty() && message.get("id").is_some() && message.get("method").is_some() {
                return;
            }
            for line in replies {
                let _ = out.write_all(format!("{line}\n").as_bytes()).await;
            }
        }
    });
    (reader, writer)
}

pub(in crate::proxy) fn result(asked: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
}

fn error(asked: &Value, code: i64) -> String {
    json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": "no\u{1b}[2J"}})
        .to_string()
}

async fn open(
    era: Era,
    reply: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> Result<(Peer, Value), PeerError> {
    let (reader, writer) = serve(reply);
    Peer::open(reader, writer, era, era.widest(), Duration::from_secs(5)).await
}

#[tokio::test]
async fn a_handshake_is_initialize_and_then_initialized() {
    let (tell, told) = std::sync::mpsc::channel();
    let (mut peer, opened) = open(Era::Handshake, move |asked| {
        let _ = tell.send(asked.clone());
        match asked["method"].as_str() {
            Some("initialize") => {
                vec![result(asked, json!({"protocolVersion": "2025-06-18", "capabilities": {}}))]
            }
            Some("notifications/initialized") => vec![],
            _ => vec![result(asked, json!({"n": 1}))],
        }
    })
    .await
    .unwrap();
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    assert_eq!(peer.request("x", json!({"a": 1})).await.unwrap()["n"], 1);
    let seen: Vec<Value> = told.try_iter().collect();
    assert_eq!(seen[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(seen[0]["params"]["capabilities"], Era::Handshake.widest());
    assert_eq!(seen[1]["method"], "notifications/initialized");
    assert_eq!(seen[2]["params"], json!({"a": 1}));
}

#[tokio::test]
async fn a_stateless_peer_bears_its_context_in_every_request() {
    let (tell, told) = std::sync::mpsc::channel();
    let (mut peer, _) = open(Era::Stateless, move |asked| {
        let _ = tell.send(asked.clone());
        vec![result(asked, json!({"supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": {}}))]
    })
    .await
    .unwrap();
    peer.request("x", json!({"a": 1})).await.unwrap();
    for asked in told.try_iter() {
        let meta = &asked["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], Era::Stateless.widest());
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "pinfold");
    }
}

#[tokio::test]
async fn tells_a_server_of_the_other_era_from_one_that_refuses() {
    for (code, other) in [(-32601, true), (-32022, true), (-32602, true), (-32021, false)] {
        let failed = open(Era::Stateless, move |asked| vec![error(asked, code)]).await.err().unwrap();
        assert_eq!(failed.is_other_era(), other, "{failed}");
        assert!(!failed.to_string().contains('\u{1b}'), "{failed:?}");
    }
    let answers = json!({"supportedVersions": ["2025-11-25"]});
    let failed = open(Era::Stateless, move |asked| vec![result(asked, answers.clone())]).await.err().unwrap();
    assert!(failed.is_other_era());
    let answers = json!({"protocolVersion": "2026-07-28"});
    let failed = open(Era::Handshake, move |asked| vec![result(asked, answers.clone())]).await.err().unwrap();
    assert!(failed.is_other_era());
    let failed = open(Era::Handshake, |_| vec![]).await.err().unwrap();
    assert!(matches!(&failed, PeerError::Ended { .. }) && !failed.is_other_era());
}

/// Opens a handshake session with a server that answers everything else by `reply`.
async fn opened(mut reply: impl FnMut(&Value) -> Vec<String> + Send + 'static) -> Peer {
    let answer = move |asked: &Value| match asked["method"].as_str() {
        Some("initialize") => vec![result(asked, json!({"protocolVersion": "2025-11-25"}))],
        Some("notifications/initialized") => vec![],
        _ => reply(asked),
    };
    open(Era::Handshake, answer).await.unwrap().0
}

#[tokio::test]
async fn what_comes_in_between_is_passed_over_or_answered() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut peer = opened(move |asked| {
        let _ = tell.send(asked.clone());
        if asked["method"] != "x" {
            return vec![];
        }
        vec![
            "Server running".into(),
            r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#.into(),
            r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#.into(),
            r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}"#.into(),
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.into(),
            r#"{"jsonrpc":"2.0","id":999,"result":{}}"#.into(),
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"z":18446744073709551616,"a":1.10}}}}"#,
                asked["id"]
            ),
        ]
    })
    .await;
    let answer = peer.request("x", json!({})).await.unwrap();
    assert_eq!(answer.to_string(), r#"{"z":18446744073709551616,"a":1.10}"#);
    assert!(peer.take_changed(List::Tools) && !peer.take_changed(List::Tools));
    told.recv().await.unwrap();
    assert_eq!(told.recv().await.unwrap()["result"], json!({}));
    assert_eq!(told.recv().await.unwrap()["result"], json!({"roots": []}));
    assert_eq!(told.recv().await.unwrap()["error"]["code"], -32601);
}

#[tokio::test]
async fn a_broken_answer_is_told_as_such() {
    for line in [r#"{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}}"#, r#"{"jsonrpc":"2.0","id":2}"#] {
        let mut peer = opened(move |_| vec![line.into()]).await;
        assert!(matches!(peer.request("x", json!({})).await, Err(PeerError::Malformed { .. })), "{line}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let (reader, writer) = serve(|_| vec!["noise".into()]);
    let limit = Duration::from_millis(50);
    let failed = Peer::open(reader, writer, Era::Stateless, json!({}), limit).await.err().unwrap();
    assert!(matches!(&failed, PeerError::TimedOut { .. }) && failed.is_other_era());
    let failure = Failure::from(failed);
    assert_eq!(failure.code(), Code::ServerFailed);
}

#[tokio::test]
async fn lists_are_read_to_their_end_and_no_further() {
    let page = |asked: &Value, tools: Value, next: Value| {
        vec![result(asked, json!({"tools": tools, "nextCursor": next}))]
    };
    let mut peer = opened(move |asked| match asked["params"]["cursor"].as_str() {
        None => page(asked, json!([{"name": "a"}]), json!("2")),
        Some("2") => page(asked, json!([]), json!("3")),
        _ => page(asked, json!([{"name": "b", "x": 1}]), Value::Null),
    })
    .await;
    assert_eq!(
        peer.list_all(List::Tools).await.unwrap(),
        [json!({"name": "a"}), json!({"name": "b", "x": 1})]
    );

    let mut peer = opened(move |asked| page(asked, json!([]), json!("again"))).await;
    assert!(matches!(peer.list_all(List::Tools).await, Err(PeerError::Endless { .. })));
    let mut count = 0;
    let mut peer = opened(move |asked| {
        count += 1;
        page(asked, json!([]), json!(count.to_string()))
    })
    .await;
    assert!(matches!(peer.list_all(List::Tools).await, Err(PeerError::Endless { .. })));
    let many = json!(vec![json!({"name": "a"}); ITEMS]);
    let mut peer = opened(move |asked| page(asked, many.clone(), json!("2"))).await;
    let more = peer.list_all(List::Tools).await;
    assert!(matches!(more, Err(PeerError::Endless { .. })), "{more:?}");
    for next in [json!(7), json!({})] {
        let mut peer = opened(move |asked| page(asked, json!([]), next.clone())).await;
        assert!(matches!(peer.list_all(List::Tools).await, Err(PeerError::Malformed { .. })));
    }
}
