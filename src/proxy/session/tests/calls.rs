use super::*;

/// Plays the server's side of one look-up page.
async fn looked_up(rig: &mut Rig, result: Value) -> Value {
    let asked = rig.got.json().await;
    assert_eq!(asked["method"], "tools/list");
    assert!(asked["id"].as_str().unwrap().starts_with("pinfold-"), "{asked}");
    rig.answer(&asked, result).await;
    asked
}

#[tokio::test]
async fn a_tool_called_unlisted_is_looked_up_over_all_pages_first() {
    let mut rig = Rig::opened().await;
    rig.call(1, "evil").await;
    looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "p2"})).await;
    let second = looked_up(&mut rig, json!({"tools": tools(&[("evil", EVIL)])})).await;
    assert_eq!(second["params"]["cursor"], "p2");
    let answer = rig.heard.json().await;
    assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(1), &json!("withheld")));
    // Known from now on, the unlisted included: the server may answer for what it does not list.
    for (id, name) in [(2, "a"), (3, "unlisted")] {
        rig.call(id, name).await;
        assert_eq!(rig.got.json().await["id"], id);
    }
    rig.call(4, "evil").await;
    assert_eq!(rig.heard.json().await["id"], 4);
}

#[tokio::test]
async fn a_good_tool_called_unlisted_reaches_the_server_as_it_was_written() {
    let mut rig = Rig::opened().await;
    let call = r#"{ "jsonrpc":"2.0","method":"tools/call", "id":1,"params":{"name":"\u0061","arguments":{"n":1E5}}}"#;
    rig.ask(call).await;
    looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds.")])})).await;
    assert_eq!(rig.got.line().await.unwrap(), call);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]} }"#;
    rig.say(answer).await;
    assert_eq!(rig.heard.line().await.unwrap(), answer);
}

#[tokio::test]
async fn calls_keep_their_order_while_one_waits_and_other_messages_do_not_wait() {
    let mut rig = Rig::opened().await;
    for id in 1..=5 {
        rig.call(id, "a").await;
    }
    let asked = rig.got.json().await;
    assert_eq!(asked["method"], "tools/list");
    // The server may need an answer of the client's before it can list.
    rig.say(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#).await;
    assert_eq!(rig.heard.json().await["method"], "roots/list");
    rig.ask(r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#).await;
    assert_eq!(rig.got.json().await["id"], "r");
    rig.answer(&asked, json!({"tools": tools(&[("a", "Adds.")])})).await;
    for id in 1..=5 {
        assert_eq!(rig.got.json().await["id"], id);
    }
}

#[tokio::test]
async fn more_calls_than_may_wait_are_all_decided() {
    let mut rig = Rig::opened().await;
    let mut client = rig.client.take().unwrap();
    let asking = tokio::spawn(async move {
        for id in 0..300 {
            let name = if id % 2 == 0 { "a" } else { "evil" };
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
            write(&mut client, call.to_string().as_bytes()).await;
        }
        client
    });
    looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds."), ("evil", EVIL)])})).await;
    for id in 0..300 {
        let heard = if id % 2 == 0 { rig.got.json().await } else { rig.heard.json().await };
        assert_eq!(heard["id"], id);
    }
    rig.client = Some(asking.await.unwrap());
}

#[tokio::test]
async fn a_changed_list_is_looked_up_again_before_the_next_call() {
    let mut rig = Rig::opened().await;
    rig.call(1, "a").await;
    looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds.")])})).await;
    assert_eq!(rig.got.json().await["id"], 1);
    rig.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    assert_eq!(rig.heard.json().await["method"], "notifications/tools/list_changed");
    rig.call(2, "a").await;
    looked_up(&mut rig, json!({"tools": tools(&[("a", EVIL)])})).await;
    let answer = rig.heard.json().await;
    assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(2), &json!("withheld")));
}

#[tokio::test]
async fn a_look_up_that_fails_refuses_the_call_and_the_next_call_tries_again() {
    let mut rig = Rig::opened().await;
    let failures = [
        json!({"error": {"code": -32000, "message": "busy"}}),
        json!({"result": {"tools": "none"}}),
        json!({"result": []}),
    ];
    for (id, failure) in (1..).zip(failures) {
        rig.call(id, "a").await;
        let asked = rig.got.json().await;
        let mut answer = failure;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        rig.say(answer.to_string()).await;
        let answer = rig.heard.json().await;
        assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(id), &json!("unchecked")));
    }
    // A cursor that comes round again is no list either.
    rig.call(8, "a").await;
    looked_up(&mut rig, json!({"tools": [], "nextCursor": "again"})).await;
    looked_up(&mut rig, json!({"tools": [], "nextCursor": "again"})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "unchecked");
    // A server without such a list has nothing to refuse.
    rig.call(9, "a").await;
    let asked = rig.got.json().await;
    rig.say(
        json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}).to_string(),
    )
    .await;
    assert_eq!(rig.got.json().await["id"], 9);
}

#[tokio::test]
async fn a_listing_of_the_clients_between_two_pages_of_ours_loses_no_refusal() {
    let mut rig = Rig::opened().await;
    rig.call(1, "evil").await;
    looked_up(&mut rig, json!({"tools": tools(&[("evil", EVIL)]), "nextCursor": "p2"})).await;
    let ours = rig.got.json().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    let theirs = rig.got.json().await;
    rig.answer(&theirs, json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "q2"})).await;
    assert_eq!(rig.heard.json().await["id"], 2);
    rig.answer(&ours, json!({"tools": []})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
    rig.call(3, "evil").await;
    looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds."), ("evil", EVIL)])})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
}

#[tokio::test]
async fn a_listing_that_leaves_pages_out_is_not_complete() {
    let mut rig = Rig::opened().await;
    let pages = [
        (json!({}), json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "p2"})),
        (json!({"cursor": "p9"}), json!({"tools": []})),
    ];
    for (params, result) in pages {
        rig.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string())
            .await;
        let asked = rig.got.json().await;
        rig.answer(&asked, result).await;
        rig.heard.line().await;
    }
    rig.call(2, "a").await;
    assert_eq!(rig.got.json().await["id"], 2);
    rig.call(3, "evil").await;
    looked_up(&mut rig, json!({"tools": tools(&[("evil", EVIL)])})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
}

#[tokio::test]
async fn a_look_up_without_an_answer_is_given_up() {
    let mut rig = Rig::opened_with(Policy { opener_timeout: Duration::from_millis(50), ..policy() }).await;
    rig.call(1, "a").await;
    let asked = rig.got.json().await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "unchecked");
    rig.answer(&asked, json!({"tools": []})).await;
    rig.client_hears_nothing_yet().await;
}

#[tokio::test]
async fn a_call_cancelled_while_it_waits_reaches_no_server() {
    let mut rig = Rig::opened().await;
    rig.call(1, "a").await;
    let asked = rig.got.json().await;
    rig.call(2, "a").await;
    rig.ask(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    rig.server_gets_nothing_yet().await;
    rig.answer(&asked, json!({"tools": tools(&[("a", "Adds.")])})).await;
    assert_eq!(rig.got.json().await["id"], 2);
    rig.client_hears_nothing_yet().await;
}

#[tokio::test]
async fn a_server_cannot_answer_a_call_it_has_not_seen() {
    let mut rig = Rig::opened().await;
    rig.call(1, "a").await;
    let asked = rig.got.json().await;
    rig.say(r#"{"jsonrpc":"2.0","id":1,"result":{"guessed":true}}"#).await;
    rig.client_hears_nothing_yet().await;
    rig.answer(&asked, json!({"tools": tools(&[("a", EVIL)])})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
}

#[tokio::test]
async fn a_look_up_in_the_stateless_era_bears_the_calls_own_context() {
    let mut rig = Rig::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"x": 18446744073709551616u128.to_string()},
        "progressToken": 5,
    });
    let params = json!({"name": "a", "arguments": {}, "_meta": meta});
    rig.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()).await;
    let first = looked_up(&mut rig, json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "p2"})).await;
    let mut expected = meta.clone();
    expected.as_object_mut().unwrap().remove("progressToken");
    assert_eq!(first["params"]["_meta"], expected);
    let second = looked_up(&mut rig, json!({"tools": []})).await;
    assert_eq!(second["params"], json!({"cursor": "p2", "_meta": expected}));
    assert_eq!(rig.got.json().await["params"]["_meta"], meta);
}

#[tokio::test]
async fn prompts_are_looked_up_as_tools_are() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"evil"}}"#).await;
    let asked = rig.got.json().await;
    assert_eq!(asked["method"], "prompts/list");
    rig.answer(&asked, json!({"prompts": [{"name": "evil", "description": EVIL}]})).await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
}

/// What a gatekeeper holds back: the way a pin's comparison will plug in.
struct HoldsX;

impl Gatekeeper for HoldsX {
    fn rule(&self, kind: Kind, name: &str, item: &Value) -> crate::proxy::Ruling {
        match ScreenOnly.rule(kind, name, item) {
            crate::proxy::Ruling::Show(verdict) if name == "x" => crate::proxy::Ruling::Hold(verdict),
            ruling => ruling,
        }
    }
}

#[tokio::test]
async fn a_held_item_is_absent_and_refused_and_says_why() {
    let mut rig = Rig::opened_with(Policy { gatekeeper: Arc::new(HoldsX), ..policy() }).await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": tools(&[("x", "Adds."), ("y", "Adds.")])})).await;
    assert_eq!(rig.heard.json().await["result"]["tools"], tools(&[("y", "Adds.")]));
    rig.call(2, "x").await;
    let answer = rig.heard.json().await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("changed since"), "{answer}");
    assert!(rig.events().contains(&Event::Held { kind: Kind::Tool, name: Shown::new("x") }));
}
