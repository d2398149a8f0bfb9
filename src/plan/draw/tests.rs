use serde_json::json;

use super::super::{Bin, Origin};
use super::*;
use crate::plan::{Access, AllowRoot};
use crate::source::Integrity;

/// The bytes of the package that the tests' plans run.
pub(crate) const ARCHIVE: &[u8] = b"an archive";

pub(crate) fn released(package: &str, archive: &[u8], origin: Origin) -> Released {
    let (extras, integrity) = (&Extras::default(), &HeldTo::Archive(Integrity::of(archive)));
    let (ecosystem, version, origin) = (Ecosystem::Npm, "1.2.3", &origin);
    Released::stored(&Stored { ecosystem, package, extras, version, integrity, origin }).unwrap()
}

pub(crate) fn release() -> Released {
    released("@acme/spotify-mcp", ARCHIVE, Origin::Registry)
}

pub(crate) fn lock() -> Lock {
    lock_of(&release())
}

pub(crate) fn lock_of(release: &Released) -> Lock {
    let own = format!("node_modules/{}", release.package().name());
    let mut entry =
        json!({ "version": release.package().version(), "integrity": release.package().held_to() });
    if release.is_local() {
        entry["resolved"] = json!(crate::plan::OWN_TARBALL);
    }
    let text = json!({ "lockfileVersion": 3, "packages": {
        "": { "dependencies": { release.package().name(): "1.2.3" } },
        own: entry,
        "node_modules/keytar": {
            "version": "7.9.0", "integrity": Integrity::of(b"keytar"), "hasInstallScript": true,
        },
    }});
    Lock::read(text.to_string().as_bytes(), release).unwrap()
}

/// A Python server of which one package is built.
pub(crate) fn built_release() -> Released {
    let hashes = std::collections::BTreeSet::from([Digest::of(ARCHIVE)]);
    let (extras, integrity) = (&Extras::default(), &HeldTo::Files(hashes.try_into().unwrap()));
    let (ecosystem, package, version, origin) = (Ecosystem::Pypi, "chess-mcp", "2.0", &Origin::Registry);
    Released::stored(&Stored { ecosystem, package, extras, version, integrity, origin }).unwrap()
}

pub(crate) fn built_lock() -> Lock {
    let hash = |of: &str| Digest::of(of.as_bytes());
    let text = format!(
        "chess-mcp==2.0 --hash={}\ndocopt==0.6.2 --hash={}\n[build docopt]\nsetuptools==80.9.0 --hash={}\n",
        Digest::of(ARCHIVE),
        hash("docopt"),
        hash("setuptools")
    );
    Lock::read(text.as_bytes(), &built_release()).unwrap()
}

pub(crate) fn built_draft(lock: &Lock) -> Draft<'_> {
    Draft {
        name: "chess".parse().unwrap(),
        release: built_release(),
        runtime: Runtime::new("python", "3.13.5", "debian-trixie-2").unwrap(),
        program: Program::Script("chess-mcp".to_owned().try_into().unwrap()),
        ..draft(lock)
    }
}

pub(crate) fn draft(lock: &Lock) -> Draft<'_> {
    Draft {
        name: "spotify".parse().unwrap(),
        release: release(),
        lock,
        runtime: Runtime::new("node", "22.20.0", "debian-12").unwrap(),
        with: Vec::new(),
        program: Program::File(Bin::new("spotify-mcp", "./dist/index.js").unwrap()),
        arguments: Vec::new(),
        env: Vec::new(),
        egress: Vec::new(),
        egress_private: Vec::new(),
        mounts: Vec::new(),
        persist: false,
        limits: Limits::default(),
        user: User::NOBODY,
        cage_runtime: None,
    }
}

pub(crate) fn plan() -> Plan {
    Plan::draw(draft(&lock())).unwrap()
}

fn read_back(plan: &Plan, expected: &Digest) -> Result<Plan, PlanRefused> {
    let text = serde_json::to_string(plan).unwrap();
    serde_json::from_str::<PlanFile>(&text).unwrap().check(expected)
}

fn env(asked: &[&str]) -> Vec<EnvAsked> {
    asked.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn starts_the_file_itself_with_no_shell_and_no_package_manager() {
    let lock = lock();
    let plan = Plan::draw(Draft { arguments: vec!["--x".into(), "a;b".into()], ..draft(&lock) }).unwrap();
    let argv: Vec<_> = plan.argv().iter().map(Argument::as_str).collect();
    assert_eq!(argv, ["node", "/opt/server/node_modules/@acme/spotify-mcp/dist/index.js", "--x", "a;b"]);
    assert_eq!(plan.arguments().len(), 2);
}

#[test]
fn every_part_is_in_the_digest_and_only_the_installed_ones_in_the_trees() {
    let lock = lock();
    let first = Plan::draw(draft(&lock)).unwrap();
    let of = |change: &dyn Fn(&mut Draft<'_>)| {
        let mut changed = draft(&lock);
        change(&mut changed);
        Plan::draw(changed).unwrap()
    };
    for (what, plan) in [
        ("name", of(&|d| d.name = "other".parse().unwrap())),
        ("bin", of(&|d| d.program = Program::File(Bin::new("spotify-mcp", "dist/other.js").unwrap()))),
        ("argument", of(&|d| d.arguments = vec!["x".into()])),
        ("setting", of(&|d| d.env = env(&["A=b"]))),
        ("credential", of(&|d| d.env = env(&["A"]))),
        ("egress", of(&|d| d.egress = vec!["api.example.com".parse().unwrap()])),
        (
            "private egress",
            of(&|d| d.egress_private = vec![crate::plan::PrivateWay::typed("localhost:5432").unwrap()]),
        ),
        (
            "limit",
            of(&|d| d.limits = crate::plan::LimitsAsked::default().pids(99).unwrap().or(&Default::default())),
        ),
        ("user", of(&|d| d.user = "1000:1000".parse().unwrap())),
        ("folder", of(&|d| d.mounts = vec![mount("/srv/a", Access::Read)])),
        ("access", of(&|d| d.mounts = vec![mount("/srv/a", Access::Write)])),
        ("kept home", of(&|d| d.persist = true)),
        ("runtime of the engine's", of(&|d| d.cage_runtime = Some("runsc".parse().unwrap()))),
    ] {
        assert_ne!(plan.digest(), first.digest(), "{what}");
        assert_eq!(plan.tree_digest(), first.tree_digest(), "{what}");
    }
    let runtime = of(&|d| d.runtime = Runtime::new("node", "22.20.1", "debian-12").unwrap());
    assert_ne!(runtime.digest(), first.digest());
    assert_ne!(runtime.tree_digest(), first.tree_digest());
}

#[test]
fn the_order_in_which_things_are_given_does_not_matter_unless_it_runs() {
    let lock = lock();
    let of = |asked: &[&str]| Plan::draw(Draft { env: env(asked), ..draft(&lock) }).unwrap();
    assert_eq!(of(&["A", "B", "C=d", "A"]).digest(), of(&["C=d", "B", "A"]).digest());
    let arguments = |list: &[&str]| {
        let arguments = list.iter().map(ToString::to_string).collect();
        Plan::draw(Draft { arguments, ..draft(&lock) }).unwrap()
    };
    assert_ne!(arguments(&["a", "b"]).digest(), arguments(&["b", "a"]).digest());
}

#[test]
fn a_digest_is_the_same_for_ever() {
    // A change here makes every pin and every committed digest invalid: raise FORMAT and say so.
    insta::assert_json_snapshot!(plan());
    insta::assert_snapshot!(format!("{}\n{}", plan().digest(), plan().tree_digest()));
}

#[test]
fn a_credential_an_argument_refers_to_is_listed() {
    let lock = lock();
    let plan = Plan::draw(Draft { arguments: vec!["x{secret:DB_URL}".into()], ..draft(&lock) }).unwrap();
    assert_eq!(plan.credentials().iter().map(EnvName::as_str).collect::<Vec<_>>(), ["DB_URL"]);
}

#[test]
fn refuses_a_variable_given_in_two_ways() {
    let lock = lock();
    for asked in [&["A", "A=b"][..], &["A=b", "A=c"]] {
        let refused = Plan::draw(Draft { env: env(asked), ..draft(&lock) }).unwrap_err();
        assert!(matches!(refused, PlanRefused::TwiceGiven(_)), "{asked:?}");
    }
    assert!(Plan::draw(Draft { env: env(&["A=b", "A=b"]), ..draft(&lock) }).is_ok());
}

#[test]
fn refuses_a_control_character_in_an_argument_and_says_which() {
    let lock = lock();
    let refused = Plan::draw(Draft { arguments: vec!["x".into(), "\r".into()], ..draft(&lock) }).unwrap_err();
    assert_eq!(refused, PlanRefused::Argument { position: 2, why: ArgumentRefused::Control });
}

#[test]
fn refuses_more_than_a_card_can_show() {
    let lock = lock();
    let arguments = |n: usize| Plan::draw(Draft { arguments: vec!["x".into(); n], ..draft(&lock) });
    assert!(arguments(MOST_ARGUMENTS).is_ok() && arguments(MOST_ARGUMENTS + 1).is_err());
    let egress = |n: usize| {
        let egress = (0..n).map(|i| format!("h{i}.example.com").parse().unwrap()).collect();
        Plan::draw(Draft { egress, ..draft(&lock) })
    };
    assert!(egress(MOST_RULES).is_ok() && egress(MOST_RULES + 1).is_err());
}

#[test]
fn a_stored_plan_reads_back_the_same() {
    let lock = lock();
    let asked = env(&["A", "B=ü"]);
    let egress = vec!["*.example.com".parse().unwrap(), "public".parse().unwrap()];
    let plan =
        Plan::draw(Draft { env: asked, egress, arguments: vec!["€\u{1f600}".into()], ..draft(&lock) })
            .unwrap();
    assert_eq!(read_back(&plan, &plan.digest()).unwrap(), plan);
}

#[test]
fn refuses_a_stored_plan_under_the_digest_of_another() {
    let error = read_back(&plan(), &Digest::of(b"other")).unwrap_err();
    assert!(matches!(error, PlanRefused::Digest { .. }));
}

#[test]
fn refuses_a_stored_plan_that_could_not_have_been_drawn_whatever_its_digest() {
    for (pointer, value) in [
        ("/format", json!(1)),
        ("/name", json!("../x")),
        ("/source", json!("npm:other")),
        ("/package", json!("../x")),
        ("/version", json!("latest")),
        ("/integrity", json!("sha1-x")),
        ("/program/file/path", json!("../x")),
        ("/program", json!({ "script": "spotify-mcp" })),
        ("/program", json!({ "module": "os" })),
        ("/ecosystem", json!("pypi")),
        ("/argv/0", json!("sh")),
        ("/argv/1", json!("/tmp/x")),
        ("/argv", json!(["node"])),
        ("/env", json!({ "LD_PRELOAD": "x" })),
        ("/credentials", json!(["NODE_OPTIONS"])),
        ("/egress", json!(["127.0.0.1:80"])),
        ("/egress", json!(["localhost:80"])),
        ("/egress_private", json!(["127.0.0.1:80"])),
        ("/egress_private", json!(["metadata:80"])),
        ("/egress_private", json!(["public"])),
        ("/mounts", json!(["/"])),
        ("/install/scripts", json!(true)),
        ("/install/build", json!(true)),
        ("/limits/pids", json!(0)),
        ("/user", json!("0:0")),
        ("/runtime/name", json!("bash")),
        ("/runtime/name", json!("python")),
    ] {
        let mut stored = serde_json::to_value(plan()).unwrap();
        *stored.pointer_mut(pointer).unwrap() = value.clone();
        let digest = Digest::of_canonical(&stored).unwrap();
        let checked = serde_json::from_value::<PlanFile>(stored).map(|file| file.check(&digest));
        assert!(!matches!(checked, Ok(Ok(_))), "{pointer} {value}");
    }
    let mut stored = serde_json::to_value(plan()).unwrap();
    stored["further"] = json!(1);
    assert!(serde_json::from_value::<PlanFile>(stored).is_err());
}

fn mount(path: &str, access: Access) -> Mount {
    Mount::new(path.parse().unwrap(), access)
}

#[test]
fn folders_are_in_one_order_and_read_back() {
    let lock = lock();
    let of = |mounts: Vec<Mount>| Plan::draw(Draft { mounts, ..draft(&lock) }).unwrap();
    let (a, b) = (mount("/srv/a", Access::Write), mount("/srv/a/b", Access::Read));
    let plan = of(vec![b.clone(), a.clone()]);
    assert_eq!(plan.digest(), of(vec![a.clone(), b.clone(), a.clone()]).digest());
    assert_eq!(plan.mounts(), [a, b]);
    assert_eq!(read_back(&plan, &plan.digest()).unwrap(), plan);

    let mut stored = serde_json::to_value(&plan).unwrap();
    stored["mounts"].as_array_mut().unwrap().reverse();
    let digest = Digest::of_canonical(&stored).unwrap();
    let file: PlanFile = serde_json::from_value(stored).unwrap();
    assert!(matches!(file.check(&digest), Err(PlanRefused::Stored(_))));
}

#[test]
fn refuses_more_folders_than_a_card_can_show() {
    let lock = lock();
    let of = |count: usize| {
        let mounts = (0..count).map(|n| mount(&format!("/srv/{n}"), Access::Read)).collect();
        Plan::draw(Draft { mounts, ..draft(&lock) })
    };
    assert!(of(16).is_ok());
    assert!(matches!(of(17), Err(PlanRefused::TooMany { .. })));
}

#[test]
fn refuses_root_without_a_folder() {
    let lock = lock();
    let user = User::root(&AllowRoot::typed(true).unwrap());
    let of = |mounts| Plan::draw(Draft { mounts, user, ..draft(&lock) });
    assert_eq!(of(Vec::new()).unwrap_err(), PlanRefused::Root);
    let plan = of(vec![mount("/srv/a", Access::Write)]).unwrap();
    assert_eq!(read_back(&plan, &plan.digest()).unwrap(), plan);
}

#[test]
fn a_plan_that_builds_says_so_and_is_another_tree() {
    let built = built_lock();
    let plan = Plan::draw(built_draft(&built)).unwrap();
    assert!(plan.builds());
    assert_eq!(read_back(&plan, &plan.digest()).unwrap(), plan);
    let text = String::from_utf8(built.bytes().to_vec()).unwrap();
    let wheels = Lock::read(text.split('[').next().unwrap().as_bytes(), &built_release()).unwrap();
    let other = Plan::draw(built_draft(&wheels)).unwrap();
    assert!(!other.builds());
    assert_ne!(other.tree, plan.tree);
}

#[test]
fn a_plan_that_names_no_runtime_of_the_engines_is_written_as_before_there_was_a_choice() {
    let lock = lock();
    let named = Plan::draw(Draft { cage_runtime: Some("runsc".parse().unwrap()), ..draft(&lock) }).unwrap();
    assert!(!serde_json::to_string(&plan()).unwrap().contains("cage_runtime"));
    assert_eq!(read_back(&named, &named.digest()).unwrap().cage_runtime().unwrap().as_str(), "runsc");
    let bad = serde_json::to_string(&named).unwrap().replace("runsc", "/bin/sh");
    assert!(serde_json::from_str::<PlanFile>(&bad).is_err());
}
