use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::json;

use super::*;
use crate::failure::{Code, Failure};
use crate::net::testing::Site;
use crate::source::npm_config::{NpmConfig, Surroundings};
use crate::source::spec::Spec;
use crate::source::{Ecosystem, HeldTo};

fn npm(text: &str) -> NpmSpec {
    match text.parse().unwrap() {
        Spec::Npm(npm) => npm,
        other => panic!("{other}"),
    }
}

fn registries(url: &str) -> Registries {
    let around = Surroundings { config: Some(url.to_owned()), ..Surroundings::default() };
    NpmConfig::read(&around).unwrap().registries(None).unwrap()
}

fn entry(version: &str) -> Value {
    json!({
        "name": "@s/a", "version": version, "bin": { "a": "cli.js" }, "description": "does things",
        "dist": { "integrity": Integrity::of(version.as_bytes()).to_string() },
    })
}

/// A document with these versions, `latest` at the first of them.
fn document(versions: &[&str]) -> Value {
    let entries: serde_json::Map<String, Value> =
        versions.iter().map(|version| ((*version).to_owned(), entry(version))).collect();
    json!({ "name": "@s/a", "dist-tags": { "latest": versions.first() }, "versions": entries })
}

fn chosen(document: &Value, spec: &str) -> Result<Release, SourceError> {
    let registries = registries("https://registry.example/");
    choose(&serde_json::to_vec(document).unwrap(), registries.main(), &npm(spec))
}

fn version(document: &Value, spec: &str) -> Option<String> {
    match chosen(document, spec) {
        Ok(release) => Some(release.package().version()),
        Err(SourceError::UnknownVersion { .. }) => None,
        Err(error) => panic!("{spec}: {error}"),
    }
}

fn code(document: &Value, spec: &str) -> Code {
    Failure::from(chosen(document, spec).unwrap_err()).code()
}

#[test]
fn a_release_carries_what_identifies_it_and_what_is_said_of_it() {
    let mut document = document(&["2.0.0", "1.0.0"]);
    document["time"] =
        json!({ "created": "2020-01-01T00:00:00.000Z", "1.0.0": "2021-02-03T04:05:06.789Z", "2.0.0": 7 });
    document["maintainers"] = json!([{ "name": "x" }, { "name": "y" }]);
    let one = &mut document["versions"]["1.0.0"];
    one["_npmUser"] = json!({ "name": "eve\u{1b}[2J" });
    one["dist"]["attestations"] = json!({ "url": "https://x.example/" });
    one["dist"]["unpackedSize"] = json!(1234);
    one["deprecated"] = json!("use 2");
    one["license"] = json!({ "type": "MIT" });
    one["mcpName"] = json!("io.github.s/a");
    one["scripts"] = json!({ "postinstall": "node x.js" });
    let release = chosen(&document, "npm:@s/a@1.0.0").unwrap();

    assert_eq!((release.package().ecosystem(), release.package().name()), (Ecosystem::Npm, "@s/a"));
    assert_eq!(release.package().held_to(), HeldTo::Archive(Integrity::of(b"1.0.0")));
    assert_eq!(release.origin().to_string(), "https://registry.example/");
    assert_eq!((release.bins()[0].name(), release.bins()[0].file()), ("a", "cli.js"));
    let facts = release.facts();
    let shown = |text: &str| Some(Shown::new(text));
    assert_eq!(facts.description, shown("does things"));
    assert_eq!(facts.license, shown("MIT"));
    assert_eq!(facts.mcp_name, shown("io.github.s/a"));
    assert_eq!(facts.deprecated, shown("use 2"));
    assert!(!facts.publisher.as_ref().unwrap().to_string().contains('\u{1b}'));
    assert_eq!((facts.maintainers, facts.attested, facts.unpacked_bytes), (Some(2), true, Some(1234)));
    assert_eq!(facts.published, Some("2021-02-03T04:05:06.789Z".parse().unwrap()));
    assert_eq!(facts.first_published, Some("2020-01-01T00:00:00Z".parse().unwrap()));
    assert_eq!(facts.latest, shown("2.0.0"));
    assert_eq!(facts.install_scripts, [("postinstall", Shown::new("node x.js"))]);
}

#[test]
fn the_first_publication_is_known_without_the_registrys_own_word() {
    let mut document = document(&["2.0.0", "1.0.0"]);
    document["time"] =
        json!({ "2.0.0": "2022-01-01T00:00:00Z", "1.0.0": "2021-01-01T00:00:00Z", "0.1.0": "x" });
    let first = chosen(&document, "npm:@s/a").unwrap().facts().first_published;
    assert_eq!(first, Some("2021-01-01T00:00:00Z".parse().unwrap()));
}

#[test]
fn chooses_the_version_that_npm_would() {
    let mut document = document(&["2.1.0", "3.0.0-beta.1", "2.2.0", "1.9.0", "1.10.0", "0.1.0"]);
    document["dist-tags"]["beta"] = json!("3.0.0-beta.1");
    for (spec, expected) in [
        ("npm:@s/a", Some("2.1.0")),
        ("npm:@s/a@latest", Some("2.1.0")),
        ("npm:@s/a@beta", Some("3.0.0-beta.1")),
        ("npm:@s/a@^1", Some("1.10.0")),
        ("npm:@s/a@^2", Some("2.1.0")),
        ("npm:@s/a@>2.1", Some("2.2.0")),
        ("npm:@s/a@*", Some("2.1.0")),
        ("npm:@s/a@^3.0.0-alpha", Some("3.0.0-beta.1")),
        ("npm:@s/a@^3", None),
        ("npm:@s/a@1.9.0", Some("1.9.0")),
        ("npm:@s/a@1.9.1", None),
        ("npm:@s/a@gamma", None),
    ] {
        assert_eq!(version(&document, spec).as_deref(), expected, "{spec}");
    }
}

#[test]
fn a_deprecated_version_is_the_last_choice_of_a_range() {
    let mut document = document(&["1.3.0", "1.2.0", "1.1.0"]);
    document["versions"]["1.3.0"]["deprecated"] = json!("broken");
    document["versions"]["1.2.0"]["deprecated"] = json!(false);
    assert_eq!(version(&document, "npm:@s/a@^1").as_deref(), Some("1.2.0"));
    assert_eq!(version(&document, "npm:@s/a@>1.2").as_deref(), Some("1.3.0"));
    assert_eq!(version(&document, "npm:@s/a@1.3.0").as_deref(), Some("1.3.0"));
}

#[test]
fn an_unknown_version_is_answered_with_the_newest() {
    let document = document(&["1.0.0", "1.10.0", "1.9.0", "2.0.0", "0.1.0", "0.2.0"]);
    let Err(SourceError::UnknownVersion { newest, .. }) = chosen(&document, "npm:@s/a@9.9.9") else {
        panic!()
    };
    let newest: Vec<_> = newest.iter().map(ToString::to_string).collect();
    assert_eq!(newest, ["2.0.0", "1.10.0", "1.9.0", "1.0.0", "0.2.0"]);
    assert_eq!(code(&document, "npm:@s/a@9.9.9"), Code::NotFound);
}

#[test]
fn a_tag_that_stands_at_nothing_is_no_version() {
    for latest in [json!("9.9.9"), json!("nonsense"), json!(7), Value::Null] {
        let mut document = document(&["1.0.0"]);
        document["dist-tags"]["latest"] = latest;
        assert_eq!(version(&document, "npm:@s/a"), None);
    }
}

#[test]
fn refuses_a_release_without_a_sha512() {
    for integrity in
        [Value::Null, json!(""), json!("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="), json!("sha512-x"), json!(7)]
    {
        let mut document = document(&["1.0.0"]);
        document["versions"]["1.0.0"]["dist"]["integrity"] = integrity;
        assert_eq!(code(&document, "npm:@s/a"), Code::HashMissing);
    }
    let mut document = document(&["1.0.0"]);
    document["versions"]["1.0.0"]["dist"] = Value::Null;
    assert_eq!(code(&document, "npm:@s/a"), Code::HashMissing);
}

#[test]
fn refuses_a_document_about_something_else() {
    let mut other = document(&["1.0.0"]);
    other["name"] = json!("@s/b");
    assert_eq!(code(&other, "npm:@s/a"), Code::RegistryFailed);
    for (field, value) in [("name", json!("@s/b")), ("version", json!("1.0.1")), ("version", Value::Null)] {
        let mut document = document(&["1.0.0"]);
        document["versions"]["1.0.0"][field] = value;
        assert_eq!(code(&document, "npm:@s/a"), Code::RegistryFailed, "{field}");
    }
}

#[test]
fn refuses_a_program_that_leads_out_of_its_package() {
    let mut document = document(&["1.0.0"]);
    document["versions"]["1.0.0"]["bin"] = json!({ "a": "../../../bin/sh" });
    assert_eq!(code(&document, "npm:@s/a"), Code::LaunchRefused);
}

#[test]
fn refuses_an_answer_that_is_no_document() {
    let registries = registries("https://registry.example/");
    let deep = format!(
        "{{\"name\":\"@s/a\",\"dist-tags\":{{\"latest\":\"1.0.0\"}},\"versions\":{{\"1.0.0\":{}1{}}}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for answer in [
        "",
        "<html>",
        "[]",
        "null",
        "{}",
        "{\"name\":\"@s/a\"}",
        "{\"name\":\"@s/a\",\"versions\":[]}",
        &deep,
    ] {
        let refused = choose(answer.as_bytes(), registries.main(), &npm("npm:@s/a")).unwrap_err();
        assert_eq!(Failure::from(refused).code(), Code::RegistryFailed, "{answer:.60}");
    }
}

#[test]
fn an_odd_entry_beside_the_chosen_one_does_no_harm() {
    let mut document = document(&["1.0.0"]);
    document["versions"]["not-a-version"] = json!(7);
    document["versions"]["2.0.0"] = json!("x");
    document["time"] = json!([]);
    document["maintainers"] = json!("x");
    assert_eq!(version(&document, "npm:@s/a").as_deref(), Some("1.0.0"));
    assert_eq!(code(&document, "npm:@s/a@2.0.0"), Code::RegistryFailed);
}

async fn asked(pages: Router, spec: &str) -> Result<Release, SourceError> {
    let site = Site::https(pages).await;
    let registries = registries(site.url().as_str());
    find(&site.client(), &registries, &npm(spec)).await
}

#[tokio::test]
async fn asks_the_registry_for_the_scoped_name_in_one_segment() {
    let pages = Router::new().route(
        "/{name}",
        get(|axum::extract::Path(name): axum::extract::Path<String>| async move {
            assert_eq!(name, "@s/a");
            document(&["1.0.0"]).to_string()
        }),
    );
    assert_eq!(asked(pages, "npm:@s/a").await.unwrap().package().version(), "1.0.0");
}

#[tokio::test]
async fn tells_an_unknown_package_from_a_registry_that_fails() {
    for (status, expected) in [
        (StatusCode::NOT_FOUND, Code::NotFound),
        (StatusCode::UNAUTHORIZED, Code::RegistryFailed),
        (StatusCode::FORBIDDEN, Code::RegistryFailed),
        (StatusCode::INTERNAL_SERVER_ERROR, Code::RegistryFailed),
        (StatusCode::NO_CONTENT, Code::RegistryFailed),
    ] {
        let failure = Failure::from(
            asked(Router::new().fallback(move || async move { status }), "npm:a").await.unwrap_err(),
        );
        assert_eq!(failure.code(), expected, "{status}: {failure}");
    }
}

#[tokio::test]
async fn a_registry_that_is_down_is_no_unknown_package() {
    let site = Site::https(Router::new()).await;
    // The name service knows no such host.
    let registries = registries("https://gone.example/");
    let refused = find(&site.client(), &registries, &npm("npm:a")).await.unwrap_err();
    assert_eq!(Failure::from(refused).code(), Code::RegistryFailed);
}
