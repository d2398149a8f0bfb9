use super::*;
use crate::digest::Digest;

fn watched() -> (Policy, Sightings) {
    let sightings = Sightings::default();
    (Policy { sightings: Some(sightings.clone()), ..policy() }, sightings)
}

async fn listed(rig: &mut Rig, method: &str, cursor: Option<&str>, result: Value) {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    rig.ask(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).to_string()).await;
    let asked = rig.got.json().await;
    rig.answer(&asked, result).await;
    rig.heard.json().await;
}

fn names(sightings: &Sightings) -> Vec<String> {
    sightings.seen().map(|seen| seen.items.into_iter().map(|(_, name, _)| name).collect()).unwrap_or_default()
}

#[tokio::test]
async fn a_list_counts_once_it_was_read_to_its_end_and_without_what_the_screen_refused() {
    let (policy, sightings) = watched();
    let mut rig = Rig::opened_with(policy).await;
    let first = json!({"tools": tools(&[("a", "Adds."), ("evil", EVIL)]), "nextCursor": "p2"});
    listed(&mut rig, "tools/list", None, first).await;
    assert_eq!(sightings.seen(), None);
    listed(&mut rig, "tools/list", Some("p2"), json!({"tools": tools(&[("b", "Subtracts.")])})).await;
    let seen = sightings.seen().unwrap();
    assert_eq!((names(&sightings), seen.all, seen.instructions), (vec!["a".into(), "b".into()], true, None));
    // the digest is that of a trial
    let tool = &tools(&[("a", "Adds.")])[0];
    assert_eq!(seen.items[0].2, Digest::of_canonical(tool).unwrap());
    // said once, however often it is listed
    listed(&mut rig, "tools/list", None, json!({"tools": tools(&[("b", "Subtracts.")])})).await;
    assert_eq!(rig.events().iter().filter(|event| **event == Event::Sighted).count(), 1);
}

#[tokio::test]
async fn a_listing_that_left_a_page_out_does_not_count() {
    let (policy, sightings) = watched();
    let mut rig = Rig::opened_with(policy).await;
    listed(&mut rig, "tools/list", None, json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "p2"}))
        .await;
    listed(&mut rig, "tools/list", Some("p3"), json!({"tools": tools(&[("c", "Divides.")])})).await;
    listed(&mut rig, "tools/list", Some("p2"), json!({"tools": tools(&[("b", "Subtracts.")])})).await;
    assert_eq!(sightings.seen(), None);
    listed(&mut rig, "tools/list", None, json!({"tools": 7})).await;
    assert_eq!(sightings.seen(), None);
    assert!(!rig.events().contains(&Event::Sighted));
}

#[tokio::test]
async fn what_the_server_announced_is_waited_for_and_what_it_lacks_is_not() {
    let (policy, sightings) = watched();
    let mut rig = Rig::with(policy);
    rig.ask(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    let asked = rig.got.json().await;
    let opened = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {}, "logging": {}},
        "serverInfo": {"name": "s", "version": "1"},
        "instructions": "Ask it for notes.",
    });
    rig.answer(&asked, opened).await;
    rig.heard.json().await;
    listed(&mut rig, "tools/list", None, json!({"tools": tools(&[("a", "Adds.")])})).await;
    assert!(!sightings.seen().unwrap().all);
    listed(&mut rig, "resources/list", None, json!({"resources": []})).await;
    assert!(!sightings.seen().unwrap().all);
    rig.ask(r#"{"jsonrpc":"2.0","id":9,"method":"resources/templates/list"}"#).await;
    let asked = rig.got.json().await;
    rig.say(
        json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}).to_string(),
    )
    .await;
    rig.heard.json().await;
    let seen = sightings.seen().unwrap();
    assert!(seen.all);
    assert_eq!(seen.instructions, Some(Digest::of_canonical(&json!("Ask it for notes.")).unwrap()));
    assert_eq!(rig.events().iter().filter(|event| **event == Event::Sighted).count(), 1);
}

#[tokio::test]
async fn a_listing_of_our_own_to_check_a_call_counts_too() {
    let (policy, sightings) = watched();
    let mut rig = Rig::opened_with(policy).await;
    rig.call(1, "a").await;
    let asked = rig.got.json().await;
    assert_eq!(asked["method"], "tools/list");
    rig.answer(&asked, json!({"tools": tools(&[("a", "Adds.")]), "nextCursor": "p2"})).await;
    let asked = rig.got.json().await;
    assert_eq!(sightings.seen(), None);
    rig.answer(&asked, json!({"tools": tools(&[("b", "Subtracts.")])})).await;
    assert_eq!(rig.got.json().await["method"], "tools/call");
    assert_eq!(names(&sightings), ["a", "b"]);
}

#[tokio::test]
async fn an_item_that_differs_between_two_listings_is_there_in_both_forms() {
    let (policy, sightings) = watched();
    let mut rig = Rig::opened_with(policy).await;
    for text in ["It is noon.", "It is midnight."] {
        listed(&mut rig, "tools/list", None, json!({"tools": tools(&[("clock", text)])})).await;
    }
    assert_eq!(names(&sightings), ["clock", "clock"]);
}
