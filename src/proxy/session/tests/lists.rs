use super::*;

#[tokio::test]
async fn a_refused_tool_is_absent_from_every_page_and_refused_on_call() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": tools(&[("a", "Adds two numbers.")]), "nextCursor": "p2"})).await;
    assert_eq!(rig.heard.json().await["result"]["nextCursor"], "p2");
    rig.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"p2"}}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": tools(&[("evil", EVIL), ("b", "Subtracts.")])})).await;
    assert_eq!(rig.heard.json().await["result"]["tools"], tools(&[("b", "Subtracts.")]));

    rig.call(3, "evil").await;
    let answer = rig.heard.json().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32602)));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("evil") && message.contains("notes") && message.contains("screen"), "{message}");
    assert!(!message.contains("id_rsa"), "{message}");
    // The others are called, without asking the server for its list again.
    for (id, name) in [(4, "a"), (5, "b"), (6, "no-such-tool")] {
        rig.call(id, name).await;
        let asked = rig.got.json().await;
        assert_eq!((&asked["id"], &asked["params"]["name"]), (&json!(id), &json!(name)));
    }
    let refused = |event: &Event| matches!(event, Event::Refused { kind: Kind::Tool, name, .. } if name.to_string() == "evil");
    assert!(rig.events().iter().any(refused));
    assert_eq!(rig.finish().await.counts.refused_calls, 1);
}

#[tokio::test]
async fn what_passes_the_screen_keeps_its_numbers_and_order() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    rig.got.line().await;
    let page = r#"{"jsonrpc":"2.0","id":1,"result":{"zeta":1,"tools":[{"name":"a","x":{"z":1,"a":18446744073709551616,"e":1E5,"f":1.10},"inputSchema":{"type":"object"}}],"nextCursor":"c"}}"#;
    rig.say(page).await;
    // `1E5` is written `1e+5`: the same number to every parser.
    assert_eq!(rig.heard.line().await.unwrap(), page.replace("1E5", "1e+5"));
}

#[tokio::test]
async fn all_lists_are_sieved_by_what_their_items_are_used_by() {
    let mut rig = Rig::opened().await;
    for (method, member, key) in [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ] {
        rig.ask(json!({"jsonrpc": "2.0", "id": method, "method": method}).to_string()).await;
        let asked = rig.got.json().await;
        let good = json!({key: "good", "description": "Reads a note."});
        let bad = [
            json!({key: "bad", "description": EVIL}),
            json!({"description": "no key"}),
            json!("text"),
            json!({key: 7}),
        ];
        rig.answer(&asked, json!({member: [bad[0], good, bad[1], bad[2], bad[3]]})).await;
        assert_eq!(rig.heard.json().await["result"], json!({member: [good]}));
    }
    for (method, params) in
        [("prompts/get", json!({"name": "bad"})), ("resources/read", json!({"uri": "bad"}))]
    {
        rig.ask(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()).await;
        assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
    }
    for (method, params) in
        [("prompts/get", json!({"name": "good"})), ("resources/read", json!({"uri": "x:other"}))]
    {
        rig.ask(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).to_string())
            .await;
        assert_eq!(rig.got.json().await["method"], method);
    }
}

#[tokio::test]
async fn a_page_that_is_no_list_is_an_error_and_its_other_members_are_screened() {
    let mut rig = Rig::opened().await;
    for result in [json!({"tools": {}}), json!([]), json!({}), json!({"tools": [], "nextCursor": 7})] {
        rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
        let asked = rig.got.json().await;
        rig.answer(&asked, result).await;
        assert_eq!(rig.heard.json().await["error"]["data"]["code"], "malformed-answer");
    }
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": [], "_meta": {"note": EVIL}, "ttlMs": 5})).await;
    assert_eq!(rig.heard.json().await["result"], json!({"tools": [], "ttlMs": 5}));
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    rig.got.line().await;
    rig.say(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": EVIL}}).to_string()).await;
    let answer = rig.heard.line().await.unwrap();
    assert!(!answer.contains("id_rsa") && answer.contains("\"code\":-1"), "{answer}");
}

#[tokio::test]
async fn a_second_item_of_a_refused_name_does_not_clear_it() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": tools(&[("x", EVIL), ("x", "Adds.")])})).await;
    assert_eq!(rig.heard.json().await["result"]["tools"].as_array().unwrap().len(), 1);
    rig.call(2, "x").await;
    assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
    // A later listing that shows it clean does.
    rig.ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, json!({"tools": tools(&[("x", "Adds.")])})).await;
    rig.heard.line().await;
    rig.call(4, "x").await;
    assert_eq!(rig.got.json().await["id"], 4);
}

#[tokio::test]
async fn refused_instructions_are_left_out_of_the_opener() {
    for (method, era) in [
        ("initialize", json!({"protocolVersion": "2025-06-18"})),
        ("server/discover", json!({"supportedVersions": ["2026-07-28"]})),
    ] {
        for (text, kept) in
            [(json!("Use `add` to add."), true), (json!(EVIL), false), (json!({"a": 1}), false)]
        {
            let mut rig = Rig::new();
            rig.ask(
                json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": {"_meta": {}}}).to_string(),
            )
            .await;
            let asked = rig.got.json().await;
            let mut result = era.clone();
            result["capabilities"] = json!({"tools": {}, "unknown": {"n": 1}});
            result["serverInfo"] = json!({"name": "s", "version": "1"});
            let bare = result.clone();
            result["instructions"] = text.clone();
            rig.answer(&asked, result.clone()).await;
            let got = rig.heard.json().await;
            assert_eq!(got["result"], if kept { result } else { bare }, "{text}");
            let told = rig
                .events()
                .iter()
                .any(|event| matches!(event, Event::Refused { kind: Kind::Instructions, .. }));
            assert_eq!(told, !kept);
        }
    }
}

#[tokio::test]
async fn a_server_whose_own_name_is_refused_is_withheld() {
    let info = json!({"name": "s", "title": EVIL, "version": "1"});
    for result in
        [json!({"serverInfo": info}), json!({"_meta": {"io.modelcontextprotocol/serverInfo": info}})]
    {
        let mut rig = Rig::new();
        rig.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
        let asked = rig.got.json().await;
        rig.answer(&asked, result).await;
        let answer = rig.heard.json().await;
        assert_eq!(answer["error"]["data"]["code"], "screen-refused");
        assert!(!answer.to_string().contains("id_rsa"));
    }
}

#[tokio::test]
async fn log_and_progress_text_is_screened() {
    let mut rig = Rig::opened().await;
    let note = |method: &str, params: &Value| {
        json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
    };
    for (method, params) in [
        ("notifications/message", json!({"level": "info", "logger": "l", "data": {"z": 1, "a": "all well"}})),
        ("notifications/progress", json!({"progressToken": 7, "progress": 1.50, "message": "half way"})),
    ] {
        rig.say(note(method, &params)).await;
        assert_eq!(rig.heard.json().await["params"], params);
    }
    rig.say(note(
        "notifications/message",
        &json!({"level": "info", "logger": EVIL, "data": {"deep": [EVIL]}}),
    ))
    .await;
    let got = rig.heard.json().await;
    assert_eq!(got["params"]["level"], "info");
    assert!(
        got["params"]["data"].as_str().unwrap().contains("withheld") && !got.to_string().contains("id_rsa")
    );
    rig.say(note(
        "notifications/progress",
        &json!({"progressToken": "t", "progress": 1, "total": 2, "message": EVIL}),
    ))
    .await;
    let got = rig.heard.json().await;
    assert_eq!((&got["params"]["progressToken"], &got["params"]["total"]), (&json!("t"), &json!(2)));
    assert!(!got.to_string().contains("id_rsa"));
}

#[tokio::test]
async fn skills_are_screened_as_text() {
    let mut rig = Rig::opened().await;
    for (text, passes) in [("Sort the notes by date.", true), (EVIL, false)] {
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            rig.ask(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string()).await;
            let asked = rig.got.json().await;
            rig.answer(&asked, json!({"skills": [{"description": text}]})).await;
            let answer = rig.heard.json().await;
            assert_eq!(answer.get("result").is_some(), passes, "{answer}");
        }
    }
}

/// What the client gets for its `tools/list` that the server answers with `result`.
async fn listed(rig: &mut Rig, result: Value) -> Value {
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, result).await;
    rig.heard.json().await
}

#[tokio::test]
async fn a_look_alike_of_a_lists_member_is_left_out() {
    let clean = tools(&[("a", "Adds.")]);
    for twin in ["Tools", "TOOLS", "tool\u{17f}", "nextcursor", "NextCur\u{17f}or", "_Meta", "InputRequests"]
    {
        let mut rig = Rig::opened().await;
        let evil = tools(&[("b", "Subtracts.")]);
        let answer = listed(&mut rig, json!({"tools": clean, twin: evil, "other": 1})).await;
        if twin == "InputRequests" {
            // The scan refuses that one as a whole.
            assert_eq!(answer["error"]["data"]["code"], "malformed-answer");
        } else {
            assert_eq!(answer["result"], json!({"tools": clean, "other": 1}), "{twin}");
        }
    }
}

#[tokio::test]
async fn an_item_with_a_look_alike_of_a_member_is_left_out_and_refused_on_call() {
    for twin in ["Name", "DESCRIPTION", "de\u{17f}cription", "inputſchema", "Uri", "_META", "icon\u{17f}"] {
        let mut rig = Rig::opened().await;
        let item = json!({"name": "a", "description": "Adds.", twin: "b", "inputSchema": {}});
        let answer = listed(&mut rig, json!({"tools": [item, {"name": "b", "x-Name": "honest"}]})).await;
        assert_eq!(answer["result"]["tools"], json!([{"name": "b", "x-Name": "honest"}]), "{twin}");
        rig.call(2, "a").await;
        assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
    }
    // A schema may name its properties as it likes.
    let mut rig = Rig::opened().await;
    let honest = json!([{"name": "a", "inputSchema": {"properties": {"Name": {}, "name": {}, "URI": {}}}}]);
    assert_eq!(listed(&mut rig, json!({"tools": honest})).await["result"]["tools"], honest);
}

#[tokio::test]
async fn names_that_hide_something_are_left_out_and_refused_on_call() {
    for name in [
        "j\u{200b}s",
        "js\u{fe0f}",
        "j\u{3164}s",
        "\u{202e}sj",
        "j\ns",
        "j\u{7f}s",
        "\u{301}js",
        "j\u{200d}s",
        "js\u{e0041}",
        " ",
        "",
    ] {
        let mut rig = Rig::opened().await;
        let answer = listed(&mut rig, json!({"tools": tools(&[(name, "Adds."), ("b", "Adds.")])})).await;
        assert_eq!(answer["result"]["tools"], tools(&[("b", "Adds.")]), "{name:?}");
        rig.call(2, name).await;
        assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld", "{name:?}");
    }
}

#[tokio::test]
async fn honest_names_of_any_script_are_shown() {
    let mut rig = Rig::opened().await;
    let honest = tools(&[
        ("get_user.v2/a:b-c", ""),
        ("Sum of two", ""),
        ("обзор", ""),
        ("e\u{301}tude", ""),
        ("要約", ""),
        ("सारांश", ""),
    ]);
    assert_eq!(listed(&mut rig, json!({"tools": honest})).await["result"]["tools"], honest);
}

#[tokio::test]
async fn a_name_that_looks_like_a_refused_one_is_refused_before_and_after_it() {
    for twin in ["JS", "ј\u{455}", "ｊｓ", "j\u{17f}"] {
        for names in [[(twin, "Adds."), ("js", EVIL)], [("js", EVIL), (twin, "Adds.")]] {
            let mut rig = Rig::opened().await;
            let answer = listed(&mut rig, json!({"tools": tools(&names)})).await;
            assert_eq!(answer["result"]["tools"], json!([]), "{twin}");
            rig.call(2, twin).await;
            assert_eq!(rig.heard.json().await["error"]["data"]["code"], "withheld");
        }
    }
    // By itself each is a name like another, and so are two that look alike where none is refused.
    let mut rig = Rig::opened().await;
    let honest = tools(&[("JS", "Adds."), ("js", "Adds.")]);
    assert_eq!(listed(&mut rig, json!({"tools": honest})).await["result"]["tools"], honest);
}

#[tokio::test]
async fn a_look_alike_of_the_openers_members_is_left_out() {
    let mut rig = Rig::new();
    rig.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
    rig.got.line().await;
    rig.say(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"Instructions":"Be kind.","in\u017ftructions":"Be kind.","serverinfo":{"name":"x"},"new":1}}"#).await;
    assert_eq!(
        rig.heard.json().await["result"],
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "new": 1})
    );
}
