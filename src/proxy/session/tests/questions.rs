use super::*;

const SAMPLE: &str = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Capital of France?"}}],"maxTokens":5}}"#;
const ELICIT: &str = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which folder?","requestedSchema":{"type":"object","properties":{}}}}"#;

#[tokio::test]
async fn sampling_and_elicitation_are_answered_at_once_unless_allowed() {
    let mut rig = Rig::opened().await;
    for (line, said) in [(SAMPLE, "sampling is off"), (ELICIT, "elicitation is off")] {
        rig.say(line).await;
        let answer = rig.got.json().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("q"), &json!(-32601)));
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
    rig.client_hears_nothing_yet().await;
    assert!(rig.events().contains(&Event::Denied(Denied::Elicitation)));
    // Allowed by themselves: roots, ping, and what we do not know.
    for method in ["roots/list", "ping", "x/later"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"{method}", "method":"{method}"}}"#);
        rig.say(&line).await;
        assert_eq!(rig.heard.line().await.unwrap(), line);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":"{method}", "result":{{}}}}"#);
        rig.ask(&answer).await;
        assert_eq!(rig.got.line().await.unwrap(), answer);
    }
}

#[tokio::test]
async fn allowed_questions_are_screened_and_elicitation_says_who_asks() {
    let mut rig = Rig::opened_with(Policy { sampling: true, elicitation: true, ..policy() }).await;
    rig.say(SAMPLE).await;
    assert_eq!(rig.heard.json().await, serde_json::from_str::<Value>(SAMPLE).unwrap());
    rig.ask(r#"{"jsonrpc":"2.0","id":"q","result":{"ok":1}}"#).await;
    assert_eq!(rig.got.json().await["result"]["ok"], 1);
    rig.say(ELICIT).await;
    assert_eq!(rig.heard.json().await["params"]["message"], "[notes] Which folder?");
    rig.ask(r#"{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}"#).await;
    rig.got.line().await;
    for line in [SAMPLE.replace("Capital of France?", EVIL), ELICIT.replace("Which folder?", EVIL)] {
        rig.say(line).await;
        assert_eq!(rig.got.json().await["error"]["data"]["code"], "withheld");
    }
    rig.client_hears_nothing_yet().await;
}

#[tokio::test]
async fn elicitation_by_way_of_an_error_is_elicitation() {
    let error = json!({"code": -32042, "message": "Sign in", "data": {"elicitations": [{"mode": "url", "url": "https://x.example", "message": "Sign in", "elicitationId": "1"}]}});
    let line = |error: &Value| json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
    for elicitation in [false, true] {
        let mut rig = Rig::opened_with(Policy { elicitation, ..policy() }).await;
        rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
        rig.got.line().await;
        rig.say(line(&error)).await;
        let answer = rig.heard.json().await;
        if elicitation {
            assert_eq!(answer["error"], error);
        } else {
            assert!(
                answer.to_string().contains("elicitation is off")
                    && !answer.to_string().contains("x.example")
            );
        }
        for other in [
            json!({"code": -32042.0, "message": EVIL}),
            json!({"message": "m"}),
            json!({"code": 1, "Code": -32042}),
        ] {
            rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
            rig.got.line().await;
            rig.say(line(&other)).await;
            let answer = rig.heard.line().await.unwrap();
            assert!(!answer.contains("id_rsa") && !answer.contains("Code"), "{answer}");
        }
        let plain = r#"{"jsonrpc":"2.0","id":1,"error":{"code": -32602,"message":"bad \u0061rguments"}}"#;
        rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
        rig.got.line().await;
        rig.say(plain).await;
        assert_eq!(rig.heard.line().await.unwrap(), plain);
    }
}

/// A session opened in the stateless era.
async fn stateless(policy: Policy) -> Rig {
    let mut rig = Rig::with(policy);
    let discover = r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    rig.ask(discover).await;
    assert_eq!(rig.got.line().await.unwrap(), discover);
    rig.say(r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0}}"#).await;
    assert_eq!(rig.heard.json().await["result"]["ttlMs"], 0);
    rig
}

async fn input_required(rig: &mut Rig, result: &str) -> String {
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}"#).await;
    rig.got.line().await;
    rig.say(format!(r#"{{"jsonrpc":"2.0","id":1, "result":{result}}}"#)).await;
    rig.heard.line().await.unwrap()
}

const STATE: &str = r#""requestState":"st.ate/\u0041 \"q\"\n\ttab+==""#;

#[tokio::test]
async fn an_input_request_the_plan_does_not_allow_becomes_an_error() {
    let mut rig = stateless(policy()).await;
    for (requests, said) in [
        (r#"{"a":{"method":"elicitation/create","params":{"message":"m"}}}"#, "elicitation is off"),
        (
            r#"{"r":{"method":"roots/list"},"s":{"method":"sampling/createMessage","params":{}}}"#,
            "sampling is off",
        ),
    ] {
        let result = format!(r#"{{"resultType":"input_required","inputRequests":{requests},{STATE}}}"#);
        let answer: Value = serde_json::from_str(&input_required(&mut rig, &result).await).unwrap();
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
    for requests in [
        r#"{"a":{"method":"x/unknown"}}"#,
        r#"{"a":{"method":"roots/list","Method":"elicitation/create"}}"#,
        "[]",
        r#"{"a":1}"#,
    ] {
        let answer = input_required(&mut rig, &format!(r#"{{"inputRequests":{requests}}}"#)).await;
        assert!(answer.contains("malformed-answer"), "{answer}");
    }
    let smuggled = r#"{"\u0069nputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}}}}"#;
    assert!(input_required(&mut rig, smuggled).await.contains("elicitation is off"));
}

#[tokio::test]
async fn an_allowed_input_request_is_marked_and_the_request_state_is_untouched() {
    let mut rig = stateless(Policy { elicitation: true, ..policy() }).await;
    let result = format!(
        r#"{{ {STATE} ,"inputRequests": {{"r":{{"method":"roots/list"}},"a":{{"params":{{"message":"Name?","n":1.10}},"method":"elicitation/create"}}}} ,"resultType":"input_required"}}"#
    );
    let answer = input_required(&mut rig, &result).await;
    assert!(answer.contains(&format!("{{ {STATE} ,")), "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let asked = &answer["result"]["inputRequests"]["a"];
    assert_eq!(
        asked,
        &json!({"method": "elicitation/create", "params": {"message": "[notes] Name?", "n": serde_json::from_str::<Value>("1.10").unwrap()}})
    );
    let retry = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{{"uri":"x:y",{STATE},"inputResponses":{{"a":{{"action":"accept"}}}}}}}}"#
    );
    rig.ask(&retry).await;
    assert_eq!(rig.got.line().await.unwrap(), retry);
    // Nothing but state: nothing to check, nothing changed.
    let answer = input_required(&mut rig, &format!("{{{STATE}}}")).await;
    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":1, "result":{{{STATE}}}}}"#));
    let evil = format!(
        r#"{{"inputRequests":{{"a":{{"method":"elicitation/create","params":{{"message":"{EVIL}"}}}}}}}}"#
    );
    assert!(input_required(&mut rig, &evil).await.contains("withheld"));
}

#[tokio::test]
async fn a_server_asks_nothing_before_the_opener_or_in_the_stateless_era() {
    let mut unopened = Rig::new();
    let mut discovered = stateless(Policy { sampling: true, ..policy() }).await;
    for rig in [&mut unopened, &mut discovered] {
        for line in [
            SAMPLE,
            r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ] {
            rig.say(line).await;
            assert_eq!(rig.got.json().await["error"]["data"]["code"], "wrong-direction");
        }
        rig.client_hears_nothing_yet().await;
        assert!(rig.events().contains(&Event::Dropped(Dropped::WrongDirection)));
    }
}

#[tokio::test]
async fn a_client_that_falls_back_to_the_handshake_is_in_that_era() {
    let mut rig = Rig::new();
    rig.ask(r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{}}}"#).await;
    rig.got.line().await;
    rig.say(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#).await;
    assert_eq!(rig.heard.json().await["error"]["code"], -32601);
    rig.open().await;
    rig.say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    assert_eq!(rig.heard.json().await["method"], "roots/list");
}

#[tokio::test]
async fn a_subscription_stays_open_while_its_notifications_pass() {
    let mut rig = stateless(policy()).await;
    let listen = r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"_meta":{},"notifications":{"toolsListChanged":true}}}"#;
    rig.ask(listen).await;
    assert_eq!(rig.got.line().await.unwrap(), listen);
    for note in [
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}"#,
    ] {
        rig.say(note).await;
        assert_eq!(rig.heard.line().await.unwrap(), note);
    }
    rig.say(
        r#"{"jsonrpc":"2.0","id":"sub","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}"#,
    )
    .await;
    assert_eq!(rig.heard.json().await["id"], "sub");
}

#[tokio::test]
async fn an_errors_text_is_screened_and_its_code_kept() {
    let mut rig = Rig::opened().await;
    for error in [
        json!({"code": -32602, "message": EVIL}),
        json!({"code": -32602, "message": "bad", "data": {"why": [EVIL]}}),
        json!({"code": -32602, "message": "bad", "more": EVIL}),
        json!({"code": -32602, "message": "bad", "Message": "worse"}),
        json!({"code": -32602, "message": "bad", "mes\u{17f}age": "worse"}),
    ] {
        rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
        rig.got.line().await;
        rig.say(json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string()).await;
        let answer = rig.heard.json().await;
        let text = answer.to_string();
        assert!(!text.contains("id_rsa") && !text.contains("worse"), "{text}");
        let twin = error.as_object().unwrap().keys().any(|name| name != "message" && name.len() > 6);
        assert_eq!(answer["error"]["code"], if twin { -32000 } else { -32602 }, "{text}");
    }
}

#[tokio::test]
async fn requests_and_notifications_nobody_knows_are_screened_as_text() {
    let mut rig = Rig::opened().await;
    for (method, params) in [
        ("ping", json!({"why": EVIL})),
        ("roots/list", json!([{"a": EVIL}])),
        ("x/later", json!({"inputRequests": {"a": {"method": "elicitation/create"}}})),
        (EVIL, json!({})),
    ] {
        rig.say(json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()).await;
        assert_eq!(rig.got.json().await["error"]["code"], -32603, "{method}");
    }
    for (method, params) in [
        ("notifications/resources/updated", json!({"uri": EVIL})),
        ("notifications/elicitation/complete", json!({"elicitationId": EVIL})),
        ("notifications/tools/list_changed", json!({"_meta": {"note": EVIL}})),
        ("notifications/later", json!([EVIL])),
        ("notifications/later", json!({EVIL: 1})),
        ("notifications/later", json!({"inputRequests": {}})),
        (EVIL, json!({})),
    ] {
        rig.say(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }
    for clean in [
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated", "params":{"uri":"file:///\u0061.md"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete", "params":{"elicitationId":"1"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed" }"#,
        r#"{"jsonrpc":"2.0","method":"notifications/later", "params":["a", 1.50 ]}"#,
        r#"{"jsonrpc":"2.0","id":8, "method":"x/later","params":{"n":1E5,"text":"a \u0062"}}"#,
    ] {
        rig.say(clean).await;
        assert_eq!(rig.heard.line().await.unwrap(), clean);
    }
    assert_eq!(rig.finish().await.counts.dropped, 7);
}

#[tokio::test]
async fn a_question_with_a_look_alike_of_a_member_is_refused() {
    let mut rig = Rig::opened_with(Policy { sampling: true, elicitation: true, ..policy() }).await;
    for line in [
        ELICIT.replace("\"requestedSchema\"", "\"Message\":\"m\",\"requestedSchema\""),
        ELICIT.replace("\"requestedSchema\"", "\"me\u{17f}sage\":\"m\",\"requestedSchema\""),
        SAMPLE.replace("\"maxTokens\"", "\"syſtemPrompt\":\"m\",\"maxTo\u{212a}ens\""),
    ] {
        rig.say(line).await;
        assert_eq!(rig.got.json().await["error"]["data"]["code"], "withheld");
    }
    rig.client_hears_nothing_yet().await;
}
