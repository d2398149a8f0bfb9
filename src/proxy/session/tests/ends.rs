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

/// A stream that takes nothing, and tells when it is dropped.
struct Stuck(Option<oneshot::Sender<()>>);

impl tokio::io::AsyncWrite for Stuck {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::task::Poll::Pending
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Pending
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Pending
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        let _ = self.0.take().unwrap().send(());
    }
}

/// A session whose server takes nothing: the client's two ends, the server's output, the news that its input was
/// dropped, the way to say that the client is gone, and the session.
fn with_stuck_server()
-> (DuplexStream, DuplexStream, DuplexStream, oneshot::Receiver<()>, oneshot::Sender<()>, JoinHandle<Ending>)
{
    let (client, from_client) = duplex(1 << 20);
    let (to_client, heard) = duplex(1 << 20);
    let (server, from_server) = duplex(1 << 20);
    let (dropped, told) = oneshot::channel();
    let (gone, client_gone) = oneshot::channel::<()>();
    let (tell, _) = mpsc::channel(256);
    let streams = Streams { from_client, to_client, from_server, to_server: Stuck(Some(dropped)) };
    let policy = Policy { ending: Duration::from_millis(400), ..policy() };
    let client_gone = async {
        if client_gone.await.is_err() {
            std::future::pending().await
        }
    };
    let never = std::future::pending::<ServerEnd>();
    let task = tokio::spawn(session(streams, policy, tell, never, client_gone));
    (client, heard, server, told, gone, task)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), what).await.expect("in time")
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_while_the_server_takes_nothing() {
    for asks in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        "",
    ] {
        let (mut client, _heard, _server, dropped, _gone, task) = with_stuck_server();
        for _ in 0..200 {
            write(&mut client, asks.as_bytes()).await;
        }
        drop(client);
        soon(dropped).await.unwrap();
        assert_eq!(soon(task).await.unwrap().left, Left::Client, "{asks}");
    }
}

#[tokio::test]
async fn a_client_that_left_more_than_is_read_ahead_is_gone_when_its_end_is_told() {
    let (mut client, _heard, _server, dropped, gone, task) = with_stuck_server();
    for id in 0..1000 {
        write(
            &mut client,
            json!({"jsonrpc": "2.0", "id": id, "method": "x".repeat(500)}).to_string().as_bytes(),
        )
        .await;
    }
    drop(client);
    gone.send(()).unwrap();
    soon(dropped).await.unwrap();
    assert_eq!(soon(task).await.unwrap().left, Left::Client);
}

#[tokio::test]
async fn a_client_that_reads_nothing_and_leaves_is_not_waited_for() {
    let mut rig = Rig::sized(Policy { ending: Duration::from_millis(400), ..policy() }, 4096);
    rig.open().await;
    // Answers of ours fill what the client does not read, and then its own pump waits.
    let mut client = rig.client.take().unwrap();
    client.write_all(&b"no message\n".repeat(300)).await.unwrap();
    drop(client);
    assert_eq!(soon(rig.task).await.unwrap().left, Left::Client);
}

#[tokio::test]
async fn a_server_that_outlives_its_input_is_not_waited_for() {
    let mut rig = Rig::with(Policy { ending: Duration::from_millis(200), ..policy() });
    rig.open().await;
    rig.client.take();
    assert_eq!(rig.got.line().await, None);
    rig.say(r#"{"jsonrpc":"2.0","method":"notifications/mark"}"#).await;
    assert_eq!(rig.heard.json().await["method"], "notifications/mark");
    assert_eq!(soon(rig.task).await.unwrap().left, Left::Client);
}

#[tokio::test]
async fn a_client_that_broke_is_noticed_by_an_answer_of_our_own() {
    let mut rig = Rig::opened().await;
    drop(rig.heard);
    rig.client.as_mut().unwrap().write_all(b"no message\n").await.unwrap();
    assert_eq!(soon(rig.task).await.unwrap().left, Left::ClientBroke);
}

#[tokio::test]
async fn a_server_that_floods_with_requests_and_reads_no_answer_keeps_nobody_waiting() {
    let (mut client, heard, mut server, _dropped, _gone, task) = with_stuck_server();
    let mut heard = Ear(BufReader::new(heard));
    // Before the opener each is answered by us, and none of the answers is read.
    for n in 0..3000 {
        let id = format!("{n}-{}", "x".repeat(900));
        write(&mut server, json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string().as_bytes())
            .await;
    }
    write(&mut server, br#"{"jsonrpc":"2.0","method":"notifications/mark"}"#).await;
    assert_eq!(heard.json().await["method"], "notifications/mark");
    write(&mut client, b"no message").await;
    assert_eq!(heard.json().await["error"]["code"], -32700);
    drop(client);
    let ending = soon(task).await.unwrap();
    assert_eq!(ending.left, Left::Client);
    assert!(ending.counts.dropped > 5000, "{:?}", ending.counts);
}
