//! Does a pin that is not what this user consented to start anything?
//!
//! Never: damaged, edited, planted, open to others or a link, it is exit 19 whichever command meets it, a client is told
//! so in the protocol, and no cage is created. `pins reset` is the way out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mounted::mount;
use crate::package::Package;
use crate::patience::seconds;
use crate::pinfold::Home;
use crate::session::{Session, initialize};
use crate::{engine, tests};

tests![
    a_pin_that_is_not_this_users_own_starts_nothing,
    a_mounted_server_survives_a_second_look_and_a_second_mount,
    an_image_that_only_says_that_it_is_ours_is_not_used,
    two_homes_with_one_key_do_not_take_each_other_s_images,
];

struct Pinned {
    home: Home,
    pin: PathBuf,
    lock: PathBuf,
    good: [Vec<u8>; 2],
}

impl Pinned {
    fn restore(&self) {
        for (path, bytes) in [&self.pin, &self.lock].into_iter().zip(&self.good) {
            let _ = fs::remove_file(path);
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// Every command refuses with 19, and none starts a cage.
    #[track_caller]
    fn is_refused(&self, what: &str) {
        let launched = self.home.audit("launch").len();
        for words in
            [vec!["tools", "pinned"], vec!["call", "pinned", "hello"], vec!["pins", "show", "pinned"]]
        {
            let ran = self.home.run([&["--json"], &words[..]].concat());
            assert_eq!(ran.code, Some(19), "{what}: {ran}");
            let code = ran.error()["code"].as_str().unwrap().to_owned();
            assert!(["state-corrupt", "state-unsafe"].contains(&code.as_str()), "{what}: {ran}");
        }
        let mut session = Session::start(self.home.command(["run", "pinned"]));
        let error = session.refused("initialize", initialize(json!({})));
        assert!(
            error["data"]["code"].as_str().is_some_and(|code| code.starts_with("state-")),
            "{what}: {error}"
        );
        assert_eq!(session.ended(seconds(20)).code(), Some(19), "{what}");
        assert_eq!(self.home.audit("launch").len(), launched, "{what}: something was started");
    }
}

/// The pin with one value changed, and nothing else.
fn edited(pin: &[u8], place: &str, value: Value) -> Vec<u8> {
    let mut pin: Value = serde_json::from_slice(pin).unwrap();
    let old = pin.pointer_mut(place).unwrap_or_else(|| panic!("a pin has no {place}"));
    assert_ne!(*old, value);
    *old = value;
    serde_json::to_vec_pretty(&pin).unwrap()
}

fn a_pin_that_is_not_this_users_own_starts_nothing() {
    let home = Home::new();
    let package = Package::least("pinned");
    let server = mount(&home, &package.tarball(), &[]);
    assert_eq!(server.name, "pinned");
    let store = home.file("state/pins");
    let (pin, lock) = (store.join("pinned.json"), store.join("pinned.lock"));
    let good = [&pin, &lock].map(|path| fs::read(path).unwrap());
    let pinned = Pinned { home, pin, lock, good };
    let text = String::from_utf8(pinned.good[0].clone()).unwrap();

    fs::write(&pinned.pin, &pinned.good[0][..pinned.good[0].len() / 2]).unwrap();
    pinned.is_refused("cut short");
    fs::write(&pinned.pin, b"").unwrap();
    pinned.is_refused("empty");
    fs::write(&pinned.pin, vec![0xff; 4096]).unwrap();
    pinned.is_refused("no text");

    for (what, place, value) in [
        ("a way out added", "/plan/egress", json!(["registry.example:443"])),
        ("another command", "/plan/argv/1", json!("/tmp/x.js")),
        ("more memory", "/plan/limits/memory", json!(1_073_741_824)),
        ("another plan's digest", "/consent/plan", json!(format!("sha256:{}", "0".repeat(64)))),
        ("another time of consent", "/consent/at", json!("2026-01-01T00:00:00Z")),
    ] {
        fs::write(&pinned.pin, edited(&pinned.good[0], place, value)).unwrap();
        pinned.is_refused(what);
    }
    pinned.restore();
    // one byte of the lock: the tree is another
    let other = String::from_utf8(pinned.good[1].clone()).unwrap().replacen("sha512-", "sha512-A", 1);
    fs::write(&pinned.lock, other).unwrap();
    pinned.is_refused("another lock");
    pinned.restore();
    fs::remove_file(&pinned.lock).unwrap();
    pinned.is_refused("no lock");
    pinned.restore();

    // planted: good in a store whose user's key is another
    let key = pinned.home.file("state/seal.key");
    let ours = fs::read(&key).unwrap();
    fs::write(&key, [7; 32]).unwrap();
    pinned.is_refused("planted");
    fs::write(&key, ours).unwrap();

    fs::set_permissions(&pinned.pin, fs::Permissions::from_mode(0o666)).unwrap();
    pinned.is_refused("others may write to it");
    pinned.restore();
    let elsewhere = pinned.home.file("elsewhere.json");
    fs::rename(&pinned.pin, &elsewhere).unwrap();
    symlink(&elsewhere, &pinned.pin).unwrap();
    pinned.is_refused("a link");
    pinned.restore();

    // a pin under another name is not that name's
    fs::copy(&pinned.pin, pinned.home.file("state/pins/other.json")).unwrap();
    fs::copy(&pinned.lock, pinned.home.file("state/pins/other.lock")).unwrap();
    let ran = pinned.home.run(["--json", "tools", "other"]);
    assert_eq!(ran.code, Some(19), "{ran}");
    pinned.home.run(["--json", "pins", "reset", "other"]).ended(0);

    // as it was, it works; and the way out of a damaged one is a reset
    assert!(text.contains("pinned"));
    assert_eq!(pinned.home.run(["call", "pinned", "hello"]).ended(0).stdout.trim(), "hello");
    fs::write(&pinned.pin, b"{").unwrap();
    pinned.home.run(["--json", "pins", "reset", "pinned"]).ended(0);
    pinned.home.run(["--json", "tools", "pinned"]).failed(15, "not-mounted");

    mount(&pinned.home, &package.tarball(), &[]);
    pinned.home.run(["unmount", "pinned"]).ended(0);
    assert_eq!(engine::sealed(&server.tree), Vec::<String>::new());
}

fn a_mounted_server_survives_a_second_look_and_a_second_mount() {
    let home = Home::new();
    let package = Package::least("twice");
    let spec = package.tarball();
    let server = mount(&home, &spec, &[]);
    // the plan of a name is that of the pin, to the byte
    let shown = home.run(["--json", "show", "twice"]).ended(0).json();
    assert_eq!(shown["digest"], server.digest.as_str());
    let again = home.run(["--json", "mount", &spec]).ended(0).json();
    assert_eq!((&again["mounted"], &again["digest"]), (&json!("before"), &json!(server.digest)));
    assert_eq!(home.installed().len(), 1, "it was installed again");
    let seen = engine::inspect_image(&engine::sealed(&server.tree)[0]);
    let env = seen["Config"]["Env"].to_string();
    assert!(seen["Config"]["User"] == "65532:65532" && !env.contains("PINFOLD"), "{seen}");
    home.run(["unmount", "twice"]).ended(0);
    assert_eq!(engine::sealed(&server.tree), Vec::<String>::new());
}

/// Labels can be written by anybody: an image pulled for another purpose may carry ours.
fn an_image_that_only_says_that_it_is_ours_is_not_used() {
    let home = Home::new();
    let package = Package::least("forged");
    let server = mount(&home, &package.tarball(), &[]);
    let real = engine::sealed(&server.tree).remove(0);
    let labels = engine::inspect_image(&real)["Config"]["Labels"].clone();
    engine::remove_image(&real);

    let label = |name: &str| labels[name].as_str().unwrap().to_owned();
    let (init, stamp) = (label("pinfold.init"), format!("hmac-sha256:{}", "0".repeat(64)));
    let says = [
        ("pinfold", "sealed"),
        ("pinfold.tree", server.tree.as_str()),
        ("pinfold.init", init.as_str()),
        ("pinfold.stamp", stamp.as_str()),
    ];
    let forged = engine::forge(&says);
    let ran = home.run(["--json", "tools", "forged"]);
    assert_eq!(ran.code, Some(15), "{ran}");
    // the pinned bytes are installed again, and the forged image is neither used nor touched
    let digest = &server.digest;
    home.run(["--json", "mount", &package.tarball(), "--consent", digest]).ended(0);
    assert_eq!(home.run(["call", "forged", "hello"]).ended(0).stdout.trim(), "hello");
    home.run(["unmount", "forged"]).ended(0);
    assert_eq!(engine::sealed(&server.tree), [forged.as_str()]);
    engine::remove_image(&forged);
}

fn two_homes_with_one_key_do_not_take_each_other_s_images() {
    // as when a home was copied: the stamps of both are the same
    let homes = [Home::new(), Home::new()];
    let package = Package::least("one-key");
    // the very same archive, so the very same tree
    let spec = package.tarball();
    let [one, other] = homes.each_ref().map(|home| mount(home, &spec, &[]));
    assert_eq!(one.tree, other.tree);
    let [images, others] = homes.each_ref().map(|home| engine::sealed_of(&home.state().unwrap()));
    assert_eq!((images.len(), others.len()), (1, 1), "each has its own");
    assert_ne!(images, others);
    homes[0].run(["unmount", "one-key"]).ended(0);
    engine::nothing_of(&homes[0], "unmounted");
    assert_eq!(homes[1].run(["call", "one-key", "hello"]).ended(0).stdout.trim(), "hello");
    homes[1].run(["unmount", "one-key"]).ended(0);
    engine::nothing_of(&homes[1], "unmounted");
}
