//! Does a client that is not ours get on with a caged server?
//!
//! rmcp, the official SDK, in each era: it opens a session, lists over all pages, calls, and leaves.

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::json;

use crate::{mounted, tests};

tests![
    an_sdk_talks_in_the_handshake_era,
    an_sdk_talks_in_the_stateless_era,
    an_sdk_that_tries_both_eras_finds_the_one
];

type Client = RunningService<RoleClient, ClientConfig>;

async fn open(server: &mounted::Server, lifecycle: ClientLifecycleMode) -> Client {
    let transport = TokioChildProcess::new(tokio::process::Command::from(server.command())).unwrap();
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

async fn use_it(client: Client) {
    let tools = client.list_all_tools().await.unwrap();
    // more than a page
    assert!(tools.len() > 8 && tools.iter().any(|tool| tool.name == "echo"), "{tools:?}");
    let arguments = json!({"text": "from an SDK"}).as_object().cloned().unwrap();
    let result =
        client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
    let text = serde_json::to_value(&result.content).unwrap();
    assert_eq!(text[0]["text"], "echo: from an SDK");
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 1);
    assert_eq!(client.list_all_resources().await.unwrap().len(), 1);
    client.cancel().await.unwrap();
}

fn with(server: &mounted::Server, lifecycle: ClientLifecycleMode) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = open(server, lifecycle).await;
        use_it(client).await;
    });
}

fn newest() -> Vec<ProtocolVersion> {
    vec![ProtocolVersion::V_2026_07_28]
}

fn an_sdk_talks_in_the_handshake_era() {
    with(&mounted::probe(), ClientLifecycleMode::Initialize);
}

fn an_sdk_talks_in_the_stateless_era() {
    with(&mounted::probe(), ClientLifecycleMode::Discover { preferred_versions: newest() });
}

fn an_sdk_that_tries_both_eras_finds_the_one() {
    let old = mounted::probe_with("probe-old", &[], &["--handshake-only"]);
    with(&old, ClientLifecycleMode::Auto { preferred_versions: newest(), legacy_version: None });
}
