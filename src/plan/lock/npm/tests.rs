use proptest::prelude::*;

use super::*;
use crate::digest::Digest;
use crate::plan::lock::{Lock, Tree};
use crate::plan::tests::released;
use crate::plan::{Origin, Released};

fn hash(of: &str) -> Integrity {
    Integrity::of(of.as_bytes())
}

fn from(origin: Origin) -> Released {
    released("@acme/server", b"own", origin)
}

fn release() -> Released {
    from(Origin::Registry)
}

fn local() -> Released {
    from(Origin::Path("/srv/x".into()))
}

fn npm(lock: &Lock) -> &NpmTree {
    let Tree::Npm(tree) = lock.tree() else { panic!("another ecosystem's tree") };
    tree
}

/// A lock of the release with further entries.
fn lock(more: Value) -> Value {
    let mut packages = json!({
        "": { "dependencies": { "@acme/server": "1.2.3" } },
        "node_modules/@acme/server": { "version": "1.2.3", "integrity": hash("own"), "dependencies": { "a": "^1" } },
        "node_modules/a": { "version": "1.0.0", "integrity": hash("a") },
    });
    packages.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "name": "x", "lockfileVersion": 3, "requires": true, "packages": packages })
}

fn read(value: &Value) -> Result<Lock, PlanRefused> {
    Lock::read(value.to_string().as_bytes(), &release())
}

#[test]
fn accepts_a_tree_with_every_hash() {
    let lock = read(&lock(json!({ "node_modules/a/node_modules/@b/c": {
        "version": "2.0.0", "integrity": hash("c"), "hasInstallScript": true,
    }})))
    .unwrap();
    assert_eq!(lock.entries().len(), 3);
    assert_eq!(lock.script_wanters(), [Shown::new("@b/c@2.0.0")]);
    assert_eq!(lock.entries()[0].name(), "@acme/server");
}

#[test]
fn refuses_an_entry_without_a_hash_and_names_it() {
    let error = read(&lock(json!({ "node_modules/b": { "version": "1.0.0" } }))).unwrap_err();
    assert_eq!(error, PlanRefused::HashMissing { package: Shown::new("b@1.0.0") });
}

#[test]
fn refuses_a_hash_that_holds_nothing() {
    for weak in
        [json!("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="), json!(""), json!(null), json!("sha512-AAAA"), json!([])]
    {
        let error =
            read(&lock(json!({ "node_modules/b": { "version": "1.0.0", "integrity": weak } }))).unwrap_err();
        assert!(matches!(error, PlanRefused::HashMissing { .. }), "{weak}");
    }
}

#[test]
fn refuses_every_address_even_with_a_hash() {
    for from in [
        "https://registry.example/b.tgz",
        "http://x.example/b.tgz",
        "git+ssh://git@x.example/b.git#0123",
        "file:b.tgz",
        "file:package.tgz",
        "",
    ] {
        let entry = json!({ "version": "1.0.0", "integrity": hash("b"), "resolved": from });
        let error = read(&lock(json!({ "node_modules/b": entry }))).unwrap_err();
        assert!(matches!(error, PlanRefused::Source { .. }), "{from}");
    }
}

#[test]
fn refuses_a_link_to_a_directory() {
    let entry = json!({ "resolved": "../b", "link": true });
    assert!(matches!(read(&lock(json!({ "node_modules/b": entry }))), Err(PlanRefused::Source { .. })));
}

#[test]
fn refuses_what_is_asked_for_from_elsewhere_and_accepts_ranges_tags_and_aliases() {
    let with = |spec: &str| {
        read(&lock(json!({ "node_modules/b": {
            "version": "1.0.0", "integrity": hash("b"), "dependencies": { "c": spec },
        }})))
    };
    for bad in [
        "github:x/y",
        "x/y",
        "git+https://x.example/y",
        "https://x.example/y.tgz",
        "file:../y",
        "workspace:*",
    ] {
        assert!(matches!(with(bad), Err(PlanRefused::Source { .. })), "{bad}");
    }
    for good in ["^1.0.0", ">=1 <2 || 3.x", "latest", "*", "", "npm:@d/e@^1"] {
        assert!(with(good).is_ok(), "{good}");
    }
}

#[test]
fn refuses_other_bytes_or_another_version_for_the_release_itself() {
    for entry in [
        json!({ "version": "1.2.3", "integrity": hash("other") }),
        json!({ "version": "1.2.4", "integrity": hash("own") }),
        json!({ "version": "1.2.3", "integrity": hash("own"), "name": "other" }),
    ] {
        let error = read(&lock(json!({ "node_modules/@acme/server": entry }))).unwrap_err();
        assert!(matches!(error, PlanRefused::OtherBytes { .. }), "{entry}");
    }
}

#[test]
fn refuses_a_root_that_depends_on_anything_else() {
    for root in [
        json!({}),
        json!({ "dependencies": {} }),
        json!({ "dependencies": { "@acme/server": "1.2.3", "b": "1" } }),
        json!({ "dependencies": { "b": "1" } }),
        json!({ "dependencies": { "@acme/server": "1.2.3" }, "devDependencies": { "b": "1" } }),
        json!({ "dependencies": { "@acme/server": "1.2.3" }, "workspaces": ["b"] }),
    ] {
        assert!(matches!(read(&lock(json!({ "": root }))), Err(PlanRefused::Lock(_))), "{root}");
    }
}

#[test]
fn refuses_a_path_outside_node_modules() {
    for path in [
        "b",
        "../b",
        "node_modules",
        "node_modules/",
        "node_modules/../b",
        "node_modules/b/../../c",
        "node_modules/.bin",
        "/node_modules/b",
        "node_modules/b/node_modules",
        "node_modules/b/lib",
        "node_modules//b",
        "packages/b",
        "node_modules/b\n",
    ] {
        let error = read(&lock(json!({ path: { "version": "1.0.0", "integrity": hash("b") } })));
        assert!(matches!(error, Err(PlanRefused::Lock(_))), "{path}");
    }
}

#[test]
fn refuses_other_versions_of_the_format_and_what_is_no_lock() {
    for bad in ["", "[]", "{}", "null", "{\"lockfileVersion\":2,\"packages\":{}}", "{\"lockfileVersion\":3}"]
    {
        assert!(matches!(Lock::read(bad.as_bytes(), &release()), Err(PlanRefused::Lock(_))), "{bad}");
    }
    let mut without = lock(json!({}));
    without["packages"].as_object_mut().unwrap().remove("node_modules/@acme/server");
    assert!(matches!(read(&without), Err(PlanRefused::Lock(_))));
}

#[test]
fn refuses_one_package_too_many() {
    let many = |n: usize| {
        let entry = json!({ "version": "1.0.0", "integrity": hash("b") });
        json!((0..n).map(|i| (format!("node_modules/b{i}"), entry.clone())).collect::<BTreeMap<_, _>>())
    };
    assert!(read(&lock(many(MOST_ENTRIES - 2))).is_ok());
    assert!(read(&lock(many(MOST_ENTRIES - 1))).is_err());
}

#[test]
fn accepts_what_travels_inside_another_archive() {
    let tree = |list: Value| {
        lock(json!({
            "node_modules/b": {
                "version": "1.0.0", "integrity": hash("b"), "bundleDependencies": list,
                "dependencies": { "c": "1" },
            },
            "node_modules/b/node_modules/c": { "version": "1.0.0", "inBundle": true, "dependencies": { "d": "1" } },
            "node_modules/b/node_modules/d": { "version": "1.0.0", "inBundle": true },
            "node_modules/b/node_modules/c/node_modules/e": { "version": "1.0.0", "inBundle": true },
        }))
    };
    for list in [json!(["c"]), json!(true)] {
        let lock = read(&tree(list)).unwrap();
        assert!(lock.entries().iter().filter(|e| !e.has_hash()).count() == 3);
    }
    assert!(matches!(read(&tree(json!(["d"]))), Err(PlanRefused::HashMissing { .. })));
}

#[test]
fn refuses_a_bundle_mark_that_nothing_proves() {
    for more in [
        json!({ "node_modules/b": { "version": "1.0.0", "inBundle": true } }),
        json!({
            "node_modules/b": { "version": "1.0.0", "integrity": hash("b"), "bundleDependencies": ["other"] },
            "node_modules/b/node_modules/c": { "version": "1.0.0", "inBundle": true },
        }),
        // A bundled package's dependency that is not inside the archive.
        json!({
            "node_modules/b": { "version": "1.0.0", "integrity": hash("b"), "bundleDependencies": ["c"] },
            "node_modules/b/node_modules/c": { "version": "1.0.0", "inBundle": true, "dependencies": { "d": "1" } },
            "node_modules/d": { "version": "1.0.0", "inBundle": true },
        }),
        // Listed, yet not marked: npm would fetch it.
        json!({
            "node_modules/b": { "version": "1.0.0", "integrity": hash("b"), "bundleDependencies": ["c"] },
            "node_modules/b/node_modules/c": { "version": "1.0.0" },
        }),
    ] {
        assert!(matches!(read(&lock(more.clone())), Err(PlanRefused::HashMissing { .. })), "{more}");
    }
}

#[test]
fn a_package_of_this_disk_keeps_its_one_address() {
    let own = |resolved: Value| {
        let mut entry = json!({ "version": "1.2.3", "integrity": hash("own") });
        if !resolved.is_null() {
            entry["resolved"] = resolved;
        }
        let text = lock(json!({ "node_modules/@acme/server": entry })).to_string();
        Lock::read(text.as_bytes(), &local())
    };
    let kept = own(json!(OWN_TARBALL)).unwrap();
    assert!(String::from_utf8_lossy(kept.bytes()).contains("\"resolved\": \"file:package.tgz\""));
    assert!(
        String::from_utf8_lossy(npm(&kept).manifest()).contains("\"@acme/server\": \"file:package.tgz\"")
    );
    for bad in [json!("file:other.tgz"), json!("https://registry.example/x.tgz"), json!(null)] {
        assert!(matches!(own(bad.clone()), Err(PlanRefused::Source { .. })), "{bad}");
    }
}

#[test]
fn the_same_tree_has_the_same_digest_however_it_is_written() {
    let first = read(&lock(json!({}))).unwrap();
    let pretty = serde_json::to_vec_pretty(&lock(json!({
        "node_modules/a": { "license": "MIT", "integrity": hash("a"), "funding": ["x"], "version": "1.0.0", "new": 1 },
    })))
    .unwrap();
    let second = Lock::read(&pretty, &release()).unwrap();
    assert_eq!(first, second);
    assert_eq!(first.digest(), Digest::of(first.bytes()));
}

#[test]
fn a_stored_lock_reads_back_the_same() {
    let first = read(&lock(json!({}))).unwrap();
    assert_eq!(Lock::read(first.bytes(), &release()).unwrap(), first);
}

#[test]
fn every_change_of_a_hash_changes_the_digest() {
    let first = read(&lock(json!({}))).unwrap();
    let other =
        read(&lock(json!({ "node_modules/a": { "version": "1.0.0", "integrity": hash("b") } }))).unwrap();
    assert_ne!(first.digest(), other.digest());
}

#[test]
fn refuses_a_known_key_of_an_unknown_shape() {
    for (key, value) in [("dependencies", json!(["a"])), ("os", json!({})), ("inBundle", json!("no"))] {
        let mut entry = json!({ "version": "1.0.0", "integrity": hash("b") });
        entry[key] = value;
        assert!(
            matches!(read(&lock(json!({ "node_modules/b": entry }))), Err(PlanRefused::Lock(_))),
            "{key}"
        );
    }
}

proptest! {
    #[test]
    fn never_panics_on_any_path_or_text(path in "\\PC{0,30}|(node_modules/[a-z@./]{0,6}){1,3}", text in "\\PC{0,60}") {
        let _ = read(&lock(json!({ path: { "version": "1.0.0", "integrity": hash("b"), "inBundle": true } })));
        let _ = Lock::read(text.as_bytes(), &release());
    }
}

#[test]
fn refuses_a_package_with_a_lock_of_its_own() {
    let more =
        json!({ "node_modules/b": { "version": "1.0.0", "integrity": hash("b"), "hasShrinkwrap": true } });
    let error = read(&lock(more)).unwrap_err();
    assert_eq!(error, PlanRefused::OwnLock { package: Shown::new("b@1.0.0") });
    assert_eq!(error.code(), crate::failure::Code::SourceRefused);
}

#[test]
fn what_travels_in_a_locked_archive_is_as_locked_and_nothing_else() {
    let owner = json!({ "version": "1.0.0", "integrity": hash("b"), "bundleDependencies": ["c"], "dependencies": { "c": "1" } });
    let lock = read(&lock(json!({ "node_modules/b": owner }))).unwrap();
    let laid = |more: Value| {
        let mut laid = npm(&lock).packages.clone();
        laid.remove("");
        laid.extend(more.as_object().unwrap().clone());
        laid
    };
    let own = "node_modules/b/node_modules/c";
    for accepted in [
        json!({}),
        json!({ own: { "version": "1.0.0", "inBundle": true } }),
        json!({ own: { "version": "1.0.0", "inBundle": true, "dependencies": { "d": "1" } },
                "node_modules/b/node_modules/d": { "version": "1.0.0", "inBundle": true } }),
    ] {
        assert_eq!(npm(&lock).not_laid_as_locked(&laid(accepted.clone())), None, "{accepted}");
    }
    for (path, refused) in [
        (own, json!({ "version": "1.0.0" })),
        (own, json!({ "version": "1.0.0", "inBundle": true, "integrity": hash("c") })),
        (own, json!({ "version": "1.0.0", "inBundle": true, "resolved": "https://registry.example/c.tgz" })),
        (own, json!({ "inBundle": true, "link": true, "resolved": "../c" })),
        ("node_modules/b/node_modules/d", json!({ "version": "1.0.0", "inBundle": true })),
        ("node_modules/a/node_modules/c", json!({ "version": "1.0.0", "inBundle": true })),
        ("node_modules/c", json!({ "version": "1.0.0", "inBundle": true })),
        ("node_modules/a", json!({ "version": "9.9.9", "integrity": hash("a") })),
        ("node_modules/a", json!({ "version": "1.0.0", "integrity": hash("other") })),
        ("node_modules/a", json!({ "version": "1.0.0", "bundleDependencies": ["c"] })),
    ] {
        assert_eq!(npm(&lock).not_laid_as_locked(&laid(json!({ path: refused }))), Some(path), "{refused}");
    }
}

#[test]
fn a_laid_package_cannot_declare_what_it_bundles_itself() {
    let lock = read(&lock(json!({}))).unwrap();
    let laid = json!({
        "node_modules/a": { "version": "1.0.0", "integrity": hash("a"), "bundleDependencies": ["c"] },
        "node_modules/a/node_modules/c": { "version": "1.0.0", "inBundle": true },
    });
    assert_eq!(
        npm(&lock).not_laid_as_locked(laid.as_object().unwrap()),
        Some("node_modules/a/node_modules/c")
    );
}
