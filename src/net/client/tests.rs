use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use futures_util::stream;

use super::*;
use crate::net::testing::{HOST, Site, names};
use crate::net::{OperatorUrl, ThirdPartyUrl};

const SMALL: Limits = Limits { bytes: 1_000, time: Duration::from_secs(20), redirects: 3 };

async fn asked(site: &Site, path: &str, limits: Limits) -> Result<Vec<u8>, NetError> {
    site.client().get(site.url().child(path), "*/*", limits).await
}

fn pages(path: &'static str, reply: impl Fn() -> Response<Body> + Clone + Send + Sync + 'static) -> Router {
    Router::new().route(path, get(move || std::future::ready(reply())))
}

fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut reply = Response::builder().status(status);
    for (name, value) in headers {
        reply = reply.header(*name, *value);
    }
    reply.body(body.into()).unwrap()
}

fn redirect(to: &'static str) -> Router {
    pages("/x", move || reply(302, &[("location", to)], Body::empty()))
}

#[tokio::test]
async fn accepts_a_host_of_the_operators_on_a_private_address() {
    let site = Site::https(pages("/x", || reply(200, &[], "hello"))).await;
    assert_eq!(asked(&site, "x", SMALL).await.unwrap(), b"hello");
}

#[tokio::test]
async fn accepts_plain_http_where_the_operator_wrote_it() {
    let site = Site::http(pages("/x", || reply(200, &[], "hello"))).await;
    assert_eq!(asked(&site, "x", SMALL).await.unwrap(), b"hello");
}

#[tokio::test]
async fn refuses_a_third_partys_name_that_leads_to_a_private_address() {
    let site = Site::https(pages("/x", || reply(200, &[], "secret"))).await;
    let theirs: ThirdPartyUrl = format!("https://evil.example.com:{}/x", site.port()).parse().unwrap();
    let refused = site.client().get(theirs, "*/*", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::NotPublic { .. }), "{refused}");
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn the_operators_standing_is_not_lent_to_a_third_party_of_the_same_name() {
    let site = Site::https(pages("/x", || reply(200, &[], "hello"))).await;
    let client = site.client();
    client.get(site.url().child("x"), "*/*", SMALL).await.unwrap();
    // A connection to this very host and port is idle in the operator's pool now.
    let theirs: ThirdPartyUrl = format!("https://{HOST}:{}/x", site.port()).parse().unwrap();
    let refused = client.get(theirs, "*/*", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::NotPublic { .. }), "{refused}");
}

#[tokio::test]
async fn refuses_a_certificate_nobody_vouches_for() {
    let site = Site::https(pages("/x", || reply(200, &[], "hello"))).await;
    let refused = Client::new(names()).get(site.url().child("x"), "*/*", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::Unreachable { .. }), "{refused}");
}

#[tokio::test]
async fn refuses_a_certificate_for_another_name() {
    let site = Site::https(pages("/x", || reply(200, &[], "hello"))).await;
    let other = OperatorUrl::chosen_by_operator(&format!("https://127.0.0.1:{}/x", site.port())).unwrap();
    let refused = site.client().get(other, "*/*", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::Unreachable { .. }), "{refused}");
}

#[tokio::test]
async fn follows_a_redirect_within_the_same_origin() {
    let site = Site::https(redirect("/y").route("/y", get(|| async { "there" }))).await;
    assert_eq!(asked(&site, "x", SMALL).await.unwrap(), b"there");
}

#[tokio::test]
async fn refuses_redirects_to_where_a_third_party_may_not_point() {
    for to in [
        "http://registry.example/",
        "http://cdn.example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest/",
        "https://2130706433/",
        "https://localhost/",
        "https://metadata.google.internal/",
        "https://u:p@cdn.example.com/",
        "file:///etc/passwd",
        "https://",
    ] {
        let site = Site::https(redirect(to)).await;
        let refused = asked(&site, "x", SMALL).await.unwrap_err();
        assert!(matches!(refused, NetError::Redirect { .. }) && refused.is_refusal(), "{to}: {refused}");
    }
}

#[tokio::test]
async fn refuses_a_redirect_to_a_name_that_leads_to_a_private_address() {
    let site = Site::https(redirect("https://evil.example.com/")).await;
    let refused = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::NotPublic { .. }), "{refused}");
}

#[tokio::test]
async fn refuses_redirects_without_end() {
    let site = Site::https(redirect("/x")).await;
    let refused = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::TooManyRedirects { limit: 3, .. }), "{refused}");
}

#[tokio::test]
async fn a_status_other_than_success_is_told() {
    let site = Site::https(pages("/x", || reply(503, &[], "\u{1b}[2J"))).await;
    let told = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(told, NetError::Status { status: 503, .. }), "{told}");
}

#[tokio::test]
async fn refuses_a_body_that_announces_too_much() {
    let site = Site::https(pages("/x", || reply(200, &[], vec![b'x'; 1_001]))).await;
    let refused = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::TooLarge { limit: 1_000, .. }), "{refused}");
}

#[tokio::test]
async fn accepts_a_body_of_just_the_limit() {
    let site = Site::https(pages("/x", || reply(200, &[], vec![b'x'; 1_000]))).await;
    assert_eq!(asked(&site, "x", SMALL).await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn refuses_a_body_that_never_ends() {
    let endless = || Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; 100])));
    let site = Site::https(pages("/x", move || reply(200, &[], endless()))).await;
    let refused = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::TooLarge { limit: 1_000, .. }), "{refused}");
}

#[tokio::test]
async fn refuses_a_small_body_that_unpacks_to_a_large_one() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut packed, &[0; 100_000]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1_000);
    let site =
        Site::https(pages("/x", move || reply(200, &[("content-encoding", "gzip")], packed.clone()))).await;
    let refused = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(refused, NetError::TooLarge { limit: 1_000, .. }), "{refused}");
}

#[tokio::test]
async fn refuses_a_body_that_stalls() {
    let stalled = || {
        let first = stream::iter([Ok::<_, Infallible>("a")]);
        Body::from_stream(first.chain(stream::pending()))
    };
    let site = Site::https(pages("/x", move || reply(200, &[], stalled()))).await;
    let limits = Limits { time: Duration::from_millis(300), ..SMALL };
    let refused = asked(&site, "x", limits).await.unwrap_err();
    assert!(matches!(refused, NetError::TooSlow { .. }), "{refused}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_body() {
    let broken = || {
        let pieces: [Result<&str, std::io::Error>; 2] = [Ok("{\"a\":"), Err(std::io::Error::other("gone"))];
        Body::from_stream(stream::iter(pieces))
    };
    let site = Site::https(pages("/x", move || reply(200, &[], broken()))).await;
    let told = asked(&site, "x", SMALL).await.unwrap_err();
    assert!(matches!(told, NetError::Broken { .. }), "{told}");
}

#[tokio::test]
async fn a_download_tells_the_hashes_of_what_arrived() {
    let site = Site::https(pages("/x", || reply(200, &[], "hello"))).await;
    let mut out = Vec::new();
    let told = site.client().download(site.url().child("x"), SMALL, &mut out).await.unwrap();
    assert_eq!((out.as_slice(), told.bytes), (&b"hello"[..], 5));
    assert_eq!(told.sha256, Digest::of(b"hello"));
    assert_eq!(told.sha512, <[u8; 64]>::from(Sha512::digest(b"hello")));
}

#[tokio::test]
async fn an_unknown_host_cannot_be_resolved() {
    let site = Site::https(Router::new()).await;
    let ours = OperatorUrl::chosen_by_operator("https://gone.example/").unwrap();
    let told = site.client().get(ours, "*/*", SMALL).await.unwrap_err();
    assert!(matches!(told, NetError::Unresolvable { .. }), "{told}");
}
