use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, HeaderMap};
use axum::routing::get;
use serde_json::{Value, json};

use super::*;
use crate::failure::{Code, Failure};
use crate::net::testing::Site;
use crate::source::pip_config::{PipConfig, PipSurroundings};

const FITTING: &str = if cfg!(target_arch = "x86_64") { "x86_64" } else { "aarch64" };

fn index(url: &str) -> Index {
    let around = PipSurroundings { config: Some(url.to_owned()), ..PipSurroundings::default() };
    PipConfig::read(&around).unwrap().index(None).unwrap()
}

fn carried() -> [CarriedPython; 2] {
    ["3.11.2", "3.13"].map(|version| CarriedPython::new(version).unwrap())
}

fn file(filename: &str) -> Value {
    json!({
        "filename": filename, "url": format!("https://files.example.com/{filename}"),
        "hashes": { "sha256": Digest::of(filename.as_bytes()).hex() },
        "requires-python": ">=3.10", "yanked": false, "size": 1000,
        "upload-time": "2026-08-18T16:06:24.385845Z",
    })
}

/// A plain wheel of this version.
fn wheel(version: &str) -> Value {
    file(&format!("a_b-{version}-py3-none-any.whl"))
}

fn with(mut file: Value, key: &str, value: Value) -> Value {
    file[key] = value;
    file
}

fn document_of(files: &[Value]) -> Value {
    json!({ "meta": { "api-version": "1.1" }, "name": "a-b", "files": files })
}

/// How a spec is asked: with a Python, with building allowed.
fn asked(
    files: &[Value],
    spec: &str,
    python: Option<&str>,
    build: bool,
) -> Result<(String, String), SourceError> {
    let document = serde_json::to_vec(&document_of(files)).unwrap();
    let (spec, carried): (PypiSpec, _) = (spec.parse().unwrap(), carried());
    let python = python.map(|python| python.parse().unwrap());
    let ask = Ask { spec: &spec, carried: &carried, python, build };
    let page = read(&document, &index("https://index.example/"), spec.name())?;
    choice::carries(ask.carried, ask.python)?;
    let chosen = choose(&page, &ask)?;
    Ok((chosen.version.to_string(), chosen.python.to_string()))
}

fn chosen(files: &[Value], spec: &str) -> String {
    asked(files, spec, None, false).unwrap_or_else(|error| panic!("{spec}: {error}")).0
}

fn refused(files: &[Value], spec: &str) -> PassedOver {
    match asked(files, spec, None, false) {
        Err(SourceError::NotInstallable { why, .. }) => why,
        other => panic!("{spec}: {other:?}"),
    }
}

#[test]
fn chooses_the_version_that_uv_would() {
    let files = [
        wheel("1.9.0"),
        wheel("1.10.0"),
        wheel("2.0.0"),
        wheel("2.1.0rc1"),
        with(wheel("2.2.0"), "yanked", json!("broken")),
        file("a_b-2.3.0.tar.gz"),
        with(wheel("2.4.0"), "requires-python", json!(">=3.14")),
        file("a_b-2.5.0-cp313-cp313-win_amd64.whl"),
    ];
    for (spec, expected) in [
        ("a-b", "2.0.0"),
        ("A_B@latest", "2.0.0"),
        ("a-b==1.9", "1.9.0"),
        ("a-b<2", "1.10.0"),
        ("a-b~=1.9", "1.10.0"),
        ("a-b==1.*", "1.10.0"),
        ("a-b>=2.0,!=2.0.0,<2.2,>=2.1.0rc1", "2.1.0rc1"),
        ("a-b==2.1.0rc1", "2.1.0rc1"),
    ] {
        assert_eq!(chosen(&files, spec), expected, "{spec}");
    }
    assert_eq!(chosen(&[wheel("1.0a1"), wheel("1.0a2")], "a-b"), "1.0a2");
    assert_eq!(chosen(&[wheel("1.0"), wheel("1.1.post1"), wheel("1.1")], "a-b"), "1.1.post1");
}

#[test]
fn an_explicit_version_that_cannot_be_installed_is_refused_with_the_reason() {
    let files = [
        wheel("1.0"),
        with(wheel("2.2.0"), "yanked", json!("bro\u{1b}[2Jken")),
        with(wheel("2.2.1"), "yanked", json!(true)),
        with(wheel("2.2.2"), "yanked", json!({})),
        file("a_b-2.3.0.tar.gz"),
        with(wheel("2.4.0"), "requires-python", json!(">=3.14")),
        with(wheel("2.4.1"), "requires-python", json!("nonsense")),
        with(wheel("2.4.2"), "requires-python", json!(7)),
        file("a_b-2.5.0-cp313-cp313-win_amd64.whl"),
        wheel("3.0rc1"),
    ];
    assert_eq!(refused(&files, "a-b==2.2.0"), PassedOver::Yanked(Shown::new("bro [2Jken")));
    assert_eq!(refused(&files, "a-b==2.2.1"), PassedOver::Yanked(Shown::new("no reason given")));
    assert!(matches!(refused(&files, "a-b==2.2.2"), PassedOver::Yanked(_)));
    assert_eq!(refused(&files, "a-b==2.3.0"), PassedOver::NoWheel);
    assert_eq!(refused(&files, "a-b==2.4.0"), PassedOver::OtherPython(Shown::new(">=3.14")));
    assert_eq!(refused(&files, "a-b==2.4.1"), PassedOver::OtherPython(Shown::new("nonsense")));
    assert!(matches!(refused(&files, "a-b==2.4.2"), PassedOver::OtherPython(_)));
    assert_eq!(refused(&files, "a-b==2.5.0"), PassedOver::OtherSystems(Shown::new("cp313-cp313-win_amd64")));
    assert_eq!(refused(&files, "a-b>2.5"), PassedOver::Prerelease);

    for (spec, said) in [
        ("a-b==2.2.0", "bro [2Jken"),
        ("a-b==2.3.0", "--allow-build"),
        ("a-b==2.4.0", "3.11 and 3.13"),
        ("a-b==2.4.0", ">=3.14"),
        ("a-b>=2.4,<2.5", "the 2 other"),
    ] {
        let failure = Failure::from(asked(&files, spec, None, false).unwrap_err());
        assert_eq!(failure.code(), Code::CannotResolve);
        let told = format!("{} {} {}", failure.what(), failure.why(), failure.hint());
        assert!(told.contains(said), "{spec}: {told}");
    }
    let Err(SourceError::UnknownVersion { newest, .. }) = asked(&files, "a-b==9", None, false) else {
        panic!()
    };
    assert_eq!(newest.len(), 5);
    assert_eq!(newest[0].to_string(), "3.0rc1");
}

#[test]
fn the_python_is_the_newest_that_will_do_or_the_one_asked_for() {
    let narrow = [with(wheel("1.0"), "requires-python", json!(">=3.10,<3.13"))];
    let only = |tags: &str| [file(&format!("a_b-1.0-{tags}.whl"))];
    let native = |minor: &str| only(&format!("cp3{minor}-cp3{minor}-manylinux_2_28_{FITTING}"));
    let of = |files: &[Value], python| asked(files, "a-b", python, false).map(|(_, python)| python);
    assert_eq!(of(&[wheel("1.0")], None).unwrap(), "3.13");
    assert_eq!(of(&[wheel("1.0")], Some("3.11")).unwrap(), "3.11");
    assert_eq!(of(&narrow, None).unwrap(), "3.11");
    assert_eq!(of(&native("11"), None).unwrap(), "3.11");
    assert_eq!(of(&native("13"), None).unwrap(), "3.13");
    assert_eq!(of(&only(&format!("cp39-abi3-manylinux2014_{FITTING}")), None).unwrap(), "3.13");
    // One that needs a later patch than the image has.
    assert_eq!(of(&[with(wheel("1.0"), "requires-python", json!(">=3.11.4,<3.12"))], None).ok(), None);

    for (files, python) in [(&narrow[..], "3.13"), (&native("11")[..], "3.13"), (&native("13")[..], "3.11")] {
        let Err(SourceError::NotInstallable { why, .. }) = of(files, Some(python)) else {
            panic!("{python}")
        };
        assert_eq!(why, PassedOver::NotThatPython(python.parse().unwrap()));
    }
    let missing = of(&narrow, Some("3.12")).unwrap_err();
    assert!(matches!(missing, SourceError::PythonMissing { .. }));
    assert!(Failure::from(missing).why().to_string().contains("3.11 and 3.13"));
}

#[test]
fn a_python_that_is_asked_for_chooses_among_versions_too() {
    let files = [wheel("1.0"), with(wheel("2.0"), "requires-python", json!(">=3.12"))];
    let version = |python| asked(&files, "a-b", python, false).unwrap().0;
    assert_eq!((version(None), version(Some("3.11"))), ("2.0".to_owned(), "1.0".to_owned()));
}

#[test]
fn a_source_distribution_will_do_where_building_is_allowed() {
    let files =
        [wheel("1.0"), file("a_b-2.0.tar.gz"), with(file("a_b-3.0.tar.gz"), "requires-python", json!("<3"))];
    assert_eq!(asked(&files, "a-b", None, false).unwrap().0, "1.0");
    assert_eq!(asked(&files, "a-b", None, true).unwrap().0, "2.0");
    let page = serde_json::to_vec(&document_of(&[wheel("1.0"), file("a_b-1.0.tar.gz")])).unwrap();
    let page = Page::read(&page, &"a-b".parse().unwrap()).unwrap();
    let names = |build| -> Vec<String> {
        page.installable(&"1.0".parse().unwrap(), build).iter().map(|file| file.name.to_string()).collect()
    };
    assert_eq!(names(false), ["a_b-1.0-py3-none-any.whl"]);
    assert_eq!(names(true), ["a_b-1.0.tar.gz"]);
    let archive = Digest::of(b"a_b-1.0.tar.gz");
    assert_eq!(page.of_bytes(archive).map(|(_, name)| name), Some("a_b-1.0.tar.gz"));
    assert_eq!(page.of_bytes(Digest::of(b"another")), None);
}

#[test]
fn a_wheel_that_fits_goes_before_a_source_distribution() {
    let built = |files: &[Value], python: Option<&str>| {
        let document = serde_json::to_vec(&document_of(files)).unwrap();
        let (spec, carried): (PypiSpec, _) = ("a-b".parse().unwrap(), carried());
        let python = python.map(|python| python.parse().unwrap());
        let page = read(&document, &index("https://index.example/"), spec.name()).unwrap();
        let chosen = choose(&page, &Ask { spec: &spec, carried: &carried, python, build: true }).unwrap();
        (chosen.python.to_string(), chosen.build)
    };
    let source = || file("a_b-1.0.tar.gz");
    let native = || file(&format!("a_b-1.0-cp311-cp311-manylinux_2_28_{FITTING}.whl"));
    assert_eq!(built(&[wheel("1.0"), source()], None), ("3.13".to_owned(), false));
    assert_eq!(built(&[native(), source()], None), ("3.11".to_owned(), false));
    assert_eq!(built(&[native(), source()], Some("3.13")), ("3.13".to_owned(), true));
    assert!(built(&[file("a_b-1.0-cp313-cp313-win_amd64.whl"), source()], None).1);
    let taken_back = with(source(), "yanked", json!("broken"));
    assert!(matches!(
        asked(&[taken_back], "a-b", None, true),
        Err(SourceError::NotInstallable { why: PassedOver::Yanked(_), .. })
    ));
}

#[test]
fn files_that_are_not_the_projects_are_passed_over() {
    let files = [
        wheel("1.0"),
        file("other-2.0-py3-none-any.whl"),
        file("other-2.0.tar.gz"),
        file("a_b-3.0.egg"),
        file("a_b-3.0.exe"),
        file("../a_b-4.0-py3-none-any.whl"),
        file("a_b-latest-py3-none-any.whl"),
    ];
    assert_eq!(chosen(&files, "a-b"), "1.0");
}

#[test]
fn refuses_a_page_that_contradicts_itself() {
    let of = |document: Value| {
        let document = serde_json::to_vec(&document).unwrap();
        Page::read(&document, &"a-b".parse().unwrap()).map(drop)
    };
    assert!(of(document_of(&[])).is_ok());
    assert!(of(with(document_of(&[]), "name", json!("A.B"))).is_ok());
    for (key, value) in [
        ("name", json!("evil")),
        ("name", json!(7)),
        ("meta", json!({ "api-version": "2.0" })),
        ("meta", json!({})),
        ("meta", json!(null)),
        ("files", json!({})),
        ("files", json!([{ "filename": "a_b-1.0-py3-none-any.whl" }])),
        ("files", json!([7])),
    ] {
        assert!(of(with(document_of(&[]), key, value.clone())).is_err(), "{key}: {value}");
    }
}

#[test]
fn parts_of_the_wrong_shape_count_as_absent() {
    let odd = json!({
        "filename": "a_b-1.0-py3-none-any.whl", "url": "x", "hashes": "x", "size": -1, "upload-time": 7,
        "core-metadata": true,
    });
    let document = serde_json::to_vec(&document_of(&[odd])).unwrap();
    let page = Page::read(&document, &"a-b".parse().unwrap()).unwrap();
    let file = page.files().next().unwrap();
    assert_eq!((file.sha256, file.size, file.uploaded, file.metadata), (None, None, None, None));
    assert!(file.yanked.is_none());
}

#[test]
fn reads_a_version_of_python() {
    assert_eq!(CarriedPython::new("3.13.9").unwrap().minor(), PythonMinor::of_3(13));
    for bad in ["", "3", "2.7.18", "4.0", "x", "3.999.1"] {
        assert_eq!(CarriedPython::new(bad), None, "{bad}");
    }
}

/// A site with a page of `a-b`, and what it serves besides.
async fn site(files: impl Fn(u16) -> Vec<Value> + Send + Sync + 'static, more: Router) -> Site {
    let files = Arc::new(files);
    let page = move |headers: HeaderMap| {
        let files = files.clone();
        async move {
            if headers[ACCEPT] != JSON {
                return Err(StatusCode::NOT_ACCEPTABLE);
            }
            // Only the test knows where its files lie.
            let port = headers["host"].to_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
            Ok(document_of(&files(port)).to_string())
        }
    };
    Site::https(Router::new().route("/simple/a-b/", get(page)).merge(more)).await
}

async fn find_at(site: &Site, spec: &str) -> Result<FoundRelease, SourceError> {
    let (spec, carried): (PypiSpec, _) = (spec.parse().unwrap(), carried());
    let ask = Ask { spec: &spec, carried: &carried, python: None, build: false };
    find(&site.client(), &index(&format!("{}simple", site.url())), &ask).await
}

const METADATA: &str =
    "Metadata-Version: 2.4\nName: a-b\nVersion: 1.0\nSummary: does things\nLicense-Expression: MIT\n\n";

#[tokio::test]
async fn a_release_carries_its_hashes_and_what_is_said_of_it() {
    // The files lie on another name of this machine's, as a mirror's would.
    let files = |port| {
        let url = |file: Value| {
            let url = format!("https://evil.example.com:{port}/f/{}", file["filename"].as_str().unwrap());
            with(file, "url", json!(url))
        };
        let digest = Digest::of(METADATA.as_bytes()).hex();
        let plain = with(url(wheel("1.0")), "core-metadata", json!({ "sha256": digest }));
        let native = url(file("a_b-1.0-cp313-cp313-win_amd64.whl"));
        let old = with(url(wheel("0.9")), "upload-time", json!("2020-01-02T03:04:05Z"));
        let source = with(url(file("a_b-1.0.tar.gz")), "url", json!("/f/a_b-1.0.tar.gz"));
        vec![plain, native, old, source, with(url(wheel("2.0")), "requires-python", json!(">=3.14"))]
    };
    let metadata = Router::new().route("/f/{file}", get(|| async { METADATA }));
    let site = site(files, metadata).await;
    let found = find_at(&site, "a-b[cli]").await.unwrap();

    assert_eq!(found.release.package().exact(), "a-b[cli]==1.0");
    assert_eq!(found.python, PythonMinor::of_3(13));
    for (name, held) in [
        ("a_b-1.0-py3-none-any.whl", true),
        ("a_b-1.0-cp313-cp313-win_amd64.whl", true),
        ("a_b-1.0.tar.gz", false),
    ] {
        assert_eq!(found.release.package().is(name.as_bytes()), held, "{name}");
    }
    assert_eq!(found.release.scripts(), None);
    let facts = found.release.facts();
    assert_eq!(facts.description, Some(Shown::new("does things")));
    assert_eq!(facts.published, Some("2026-08-18T16:06:24.385845Z".parse().unwrap()));
    assert_eq!(facts.first_published, Some("2020-01-02T03:04:05Z".parse().unwrap()));
    assert_eq!((facts.latest.clone(), facts.download_bytes), (Some(Shown::new("2.0")), Some(1000)));
    assert_eq!(facts.passed_over, [Shown::new("2.0: it needs Python >=3.14")]);
    assert_eq!(facts.requires_python, Some(Shown::new(">=3.10")));
    let hosts: Vec<_> = found.files.iter().map(|target| target.name().unwrap().to_string()).collect();
    assert_eq!(hosts, ["evil.example.com", "registry.example"]);
    assert!(found.files.iter().all(|target| matches!(target, Target::Operator(_))));
}

#[tokio::test]
async fn refuses_metadata_with_other_bytes_and_does_without_what_cannot_be_had() {
    let files = |hash: &'static str| {
        move |_| {
            let here = with(wheel("1.0"), "url", json!("/f/a.whl"));
            vec![with(here, "core-metadata", json!({ "sha256": Digest::of(hash.as_bytes()).hex() }))]
        }
    };
    let served = || Router::new().route("/f/a.whl.metadata", get(|| async { METADATA }));
    let refused = find_at(&site(files("other"), served()).await, "a-b").await.unwrap_err();
    assert_eq!(Failure::from(refused).code(), Code::HashMismatch);
    let without = find_at(&site(files("other"), Router::new()).await, "a-b").await.unwrap();
    assert_eq!(without.release.facts().description, None);
}

#[tokio::test]
async fn refuses_a_chosen_file_whose_host_is_refused_and_leaves_out_others() {
    let at = |url: &'static str| move |_| vec![with(wheel("1.0"), "url", json!(url))];
    for bad in [
        "https://10.0.0.1/a.whl",
        "ftp://registry.example/a.whl",
        "https://u:p@registry.example/a.whl",
        "http://files.example.com/a.whl",
    ] {
        let refused = find_at(&site(at(bad), Router::new()).await, "a-b").await.unwrap_err();
        assert!(matches!(refused, SourceError::Unreachable { .. }), "{bad}: {refused}");
    }
    let mixed = |_| {
        vec![with(wheel("1.0"), "url", json!("/a.whl")), with(wheel("0.9"), "url", json!("ftp://x/a.whl"))]
    };
    assert_eq!(find_at(&site(mixed, Router::new()).await, "a-b").await.unwrap().files.len(), 1);
}

#[tokio::test]
async fn a_release_without_a_hash_is_none() {
    let files = |_| vec![with(with(wheel("1.0"), "hashes", json!({ "md5": "x" })), "url", json!("/a.whl"))];
    let refused = find_at(&site(files, Router::new()).await, "a-b").await.unwrap_err();
    assert_eq!(Failure::from(refused).code(), Code::HashMissing);
}

#[tokio::test]
async fn tells_an_unknown_package_from_an_index_that_fails() {
    let fails = |status: u16| async move {
        let status = StatusCode::from_u16(status).unwrap();
        let site = Site::https(Router::new().fallback(move || async move { status })).await;
        Failure::from(find_at(&site, "a-b").await.unwrap_err()).code()
    };
    assert_eq!(fails(404).await, Code::NotFound);
    for status in [401, 403, 406, 500, 503] {
        assert_eq!(fails(status).await, Code::RegistryFailed, "{status}");
    }
    for html in ["<!DOCTYPE html>", "\n <html>"] {
        let site = Site::https(Router::new().fallback(move || async move { html })).await;
        let refused = find_at(&site, "a-b").await.unwrap_err();
        assert!(matches!(refused, SourceError::HtmlOnly { .. }), "{refused}");
    }
    let site = Site::https(Router::new().fallback(|| async { "nonsense" })).await;
    let refused = find_at(&site, "a-b").await.unwrap_err();
    assert!(matches!(refused, SourceError::Nonsense { .. }), "{refused}");
}

#[tokio::test]
async fn a_file_is_held_to_its_bytes() {
    let files = |_| vec![with(wheel("1.0"), "url", json!("../../f/a.whl"))];
    let site = site(files, Router::new().route("/f/a.whl", get(|| async { "the wheel" }))).await;
    let (index, name) = (index(&format!("{}simple", site.url())), "a-b".parse().unwrap());
    let client = site.client();
    let fetch = |filename: &'static str, bytes: &'static str| {
        super::file(&client, &index, &name, filename, Digest::of(bytes.as_bytes()))
    };
    assert_eq!(fetch("a_b-1.0-py3-none-any.whl", "the wheel").await, Ok(b"the wheel".to_vec()));
    let other = fetch("a_b-1.0-py3-none-any.whl", "another").await.unwrap_err();
    assert_eq!(Failure::from(other).code(), Code::HashMismatch);
    let unknown = fetch("a_b-2.0-py3-none-any.whl", "x").await.unwrap_err();
    assert_eq!(Failure::from(unknown).code(), Code::NotFound);
}

#[tokio::test]
async fn tells_where_files_lie_for_a_package_of_this_disk() {
    let files = |_| vec![with(wheel("1.0"), "url", json!("/a.whl"))];
    let site = site(files, Router::new()).await;
    let (client, index) = (site.client(), index(&format!("{}simple", site.url())));
    let found = super::files(&client, &index, &"A.B".parse().unwrap()).await.unwrap();
    assert_eq!(found.len(), 1);
}
