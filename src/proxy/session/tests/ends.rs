use super::*;

#[tokio::test]
async fn a_server_that_dies_fails_every_open_request_once() {
    let mut rig = Rig::opened().await;
    for id in 1..=3 {
        rig.ask(json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string()).await;
        rig.got.line().await;
    }
    rig.call(4, "waits").await;
    rig.got.line().await;
    rig.say(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).await;
    rig.server.take();
    let end =
        ServerEnd { how: "exit status 3".into(), last_words: vec![Shown::new("Traceback: no such key")] };
    rig.end.take().unwrap().send(end.clone()).unwrap();
    assert_eq!(rig.heard.json().await["id"], 2);
    for id in [1, 3, 4] {
        let answer = rig.heard.json().await;
        assert_eq!(answer["id"], id);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("notes") && message.contains("exit status 3"), "{message}");
        assert_eq!(answer["error"]["data"]["lastWords"][0], "Traceback: no such key");
        assert_eq!(answer["error"]["code"], -32000);
    }
    assert_eq!(rig.heard.line().await, None);
    assert_eq!(rig.task.await.unwrap().left, Left::Server(end));
}

#[tokio::test]
async fn the_end_of_the_server_is_enough_even_if_its_output_stays_open() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    rig.got.line().await;
    rig.end.take().unwrap().send("killed".to_owned().into()).unwrap();
    rig.say(r#"{"jsonrpc":"2.0","method":"notifications/late"}"#).await;
    assert_eq!(rig.heard.json().await["method"], "notifications/late");
    assert!(rig.heard.json().await["error"]["message"].as_str().unwrap().contains("killed"));
    assert_eq!(rig.task.await.unwrap().left, Left::Server("killed".to_owned().into()));
}

#[tokio::test]
async fn a_server_that_only_closes_its_output_has_ended() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    rig.got.line().await;
    rig.server.take();
    assert!(rig.heard.json().await["error"]["message"].as_str().unwrap().contains("closed its output"));
    assert!(matches!(rig.task.await.unwrap().left, Left::Server(_)));
}

#[tokio::test]
async fn a_client_that_leaves_still_gets_the_answers_it_asked_for() {
    let mut rig = Rig::opened().await;
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    rig.call(2, "a").await;
    assert_eq!(rig.got.json().await["id"], 1);
    let look_up = rig.got.json().await;
    rig.client.take();
    rig.answer(&look_up, json!({"tools": tools(&[("a", "Adds.")])})).await;
    assert_eq!(rig.got.json().await["id"], 2);
    assert_eq!(rig.got.line().await, None, "the server's input is closed after the last call");
    for id in 1..=2 {
        rig.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await;
        assert_eq!(rig.heard.json().await["id"], id);
    }
    rig.server.take();
    assert_eq!(rig.task.await.unwrap().left, Left::Client);
}

#[tokio::test]
async fn a_client_that_no_longer_reads_ends_the_session() {
    let mut rig = Rig::opened().await;
    drop(rig.heard);
    rig.server.as_mut().unwrap().write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n").await.unwrap();
    assert_eq!(rig.task.await.unwrap().left, Left::ClientBroke);
}

#[tokio::test]
async fn a_request_to_a_server_that_no_longer_reads_is_answered() {
    let mut rig = Rig::opened().await;
    drop(rig.got);
    rig.client
        .as_mut()
        .unwrap()
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n")
        .await
        .unwrap();
    let answer = rig.heard.json().await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("no longer reads"), "{answer}");
}

#[tokio::test]
async fn an_opener_without_an_answer_is_given_up_with_the_remedy() {
    let mut rig = Rig::with(Policy { opener_timeout: Duration::from_millis(50), ..policy() });
    rig.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
    rig.got.line().await;
    let answer = rig.heard.json().await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("notes") && message.contains("pinfold tools notes"), "{message}");
    rig.say(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#).await;
    rig.client_hears_nothing_yet().await;
    assert!(rig.events().contains(&Event::OpenerTimedOut));
}
