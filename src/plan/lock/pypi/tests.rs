use proptest::prelude::*;

use super::super::{LIMIT, Lock, Tree};
use super::*;
use crate::plan::Origin;
use crate::plan::release::{Released, Stored};
use crate::source::{Ecosystem, Extras, HeldTo};

fn hash(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn release(files: &[&str]) -> Released {
    let hashes: BTreeSet<Digest> = files.iter().map(|file| hash(file)).collect();
    let integrity = HeldTo::Files(hashes.try_into().unwrap());
    let (origin, extras) = (Origin::Registry, Extras::default());
    let (ecosystem, package, version) = (Ecosystem::Pypi, "own-server", "1.2.0");
    let stored =
        Stored { ecosystem, package, extras: &extras, version, integrity: &integrity, origin: &origin };
    Released::stored(&stored).unwrap()
}

fn line(package: &str, files: &[&str]) -> String {
    files.iter().fold(package.to_owned(), |line, file| format!("{line} \\\n    --hash={}", hash(file))) + "\n"
}

fn read(text: &str) -> Result<Lock, PlanRefused> {
    Lock::read(text.as_bytes(), &release(&["wheel", "other wheel"]))
}

fn tree(lock: &Lock) -> &PypiTree {
    let Tree::Pypi(tree) = lock.tree() else { panic!("another ecosystem's tree") };
    tree
}

/// The release and one dependency, in the wrong order and in other spellings.
fn usual() -> String {
    line("Own_Server==1.2.0", &["source archive", "wheel"]) + "\n" + &line("A.B==v2.0-RC1", &["b", "a"])
}

#[test]
fn the_same_tree_has_the_same_digest_however_it_is_written() {
    let first = read(&usual()).unwrap();
    let sorted = line("a-b==2.0rc1", &["a", "b"]) + &line("own-server==1.2.0", &["wheel"]);
    let second = read(&sorted.replace(" \\\n   ", "")).unwrap();
    assert_eq!(first, second);
    assert_eq!(first.digest(), Digest::of(first.bytes()));
    let text = String::from_utf8(first.bytes().to_vec()).unwrap();
    assert!(text.starts_with("a-b==2.0rc1 \\\n    --hash=sha256:"), "{text}");
    let names: Vec<_> = first.entries().iter().map(|entry| (entry.name(), entry.version())).collect();
    assert_eq!(names, [("a-b", "2.0rc1"), ("own-server", "1.2.0")]);
}

#[test]
fn a_stored_lock_reads_back_the_same() {
    let first = read(&usual()).unwrap();
    assert_eq!(read(std::str::from_utf8(first.bytes()).unwrap()).unwrap(), first);
}

#[test]
fn the_release_is_held_to_its_own_files() {
    let lock = read(&usual()).unwrap();
    let text = std::str::from_utf8(lock.bytes()).unwrap();
    assert!(text.contains(&hash("wheel").to_string()));
    assert!(!text.contains(&hash("source archive").to_string()));
}

#[test]
fn refuses_other_bytes_or_another_version_for_the_release_itself() {
    for own in
        [line("own-server==1.2.0", &["source archive"]), line("own-server==1.2.1", &["wheel", "other wheel"])]
    {
        assert!(matches!(read(&own), Err(PlanRefused::OtherBytes { .. })), "{own}");
    }
    assert!(read(&line("own-server==1.2", &["wheel"])).is_ok(), "the same version in other words");
}

#[test]
fn refuses_a_package_without_a_sha256_hash_and_names_it() {
    for hashes in ["", " --hash=md5:d41d8cd98f00b204e9800998ecf8427e", " --hash=sha256:00", " --hash=sha256:"]
    {
        let error = read(&(usual() + &format!("weak==1.0{hashes}\n"))).unwrap_err();
        assert_eq!(error, PlanRefused::HashMissing { package: Shown::new("weak==1.0") }, "{hashes}");
    }
    let beside = format!("strong==1.0 --hash=md5:d41d8cd98f00b204e9800998ecf8427e --hash={}\n", hash("s"));
    let lock = read(&(usual() + &beside)).unwrap();
    assert!(!String::from_utf8_lossy(lock.bytes()).contains("md5"));
}

#[test]
fn refuses_what_comes_from_elsewhere() {
    for from in ["https://x.example/b.whl", "git+https://x.example/b", "file:///etc/b.whl"] {
        let error = read(&(usual() + &format!("b @ {from} --hash={}\n", hash("b")))).unwrap_err();
        let (package, from) = (Shown::new("b"), Shown::new(from));
        assert_eq!(error, PlanRefused::Source { package, from });
    }
}

#[test]
fn refuses_every_line_that_is_not_an_exact_version() {
    for bad in [
        "--index-url https://x.example/simple",
        "-r other.txt",
        "-e .",
        "--extra-index-url=https://x.example",
        "b",
        "b>=1",
        "b==1.*",
        "b===1",
        "b[extra]==1",
        "./b.whl",
        "b==1 ; python_version < '3'",
        "b==1; python_version < '3'",
        "b==1 --config-settings=x",
        "b==1 # a comment",
        "# a comment",
        "b==${VERSION}",
        "b == 1",
    ] {
        let text = usual() + &format!("{bad} --hash={}\n", hash("b"));
        assert!(matches!(read(&text), Err(PlanRefused::Lock(_))), "{bad}: {:?}", read(&text));
    }
}

#[test]
fn refuses_a_package_that_is_there_twice_or_not_at_all() {
    assert!(matches!(read(&(usual() + &line("a_b==3.0", &["c"]))), Err(PlanRefused::Lock(_))));
    assert!(matches!(read(&line("a-b==3.0", &["c"])), Err(PlanRefused::Lock(_))));
    assert!(matches!(read(""), Err(PlanRefused::Lock(_))));
    assert!(matches!(Lock::read(b"\xff", &release(&["wheel"])), Err(PlanRefused::Lock(_))));
    assert!(matches!(Lock::read(&vec![b'\n'; LIMIT + 1], &release(&["wheel"])), Err(PlanRefused::Lock(_))));
}

#[test]
fn refuses_one_package_too_many() {
    let many = |n: usize| (0..n).map(|i| line(&format!("p{i}==1"), &["p"])).collect::<String>();
    assert!(read(&(usual() + &many(MOST_ENTRIES - 2))).is_ok());
    assert!(read(&(usual() + &many(MOST_ENTRIES - 1))).is_err());
}

/// The usual tree, of which one package is built with a tool and another with nothing.
fn built() -> String {
    line("Own_Server==1.2.0", &["wheel"])
        + &line("A.B==v2.0-RC1", &["a"])
        + &line("plain==1", &["p"])
        + "[build A.B]\n"
        + &line("Set.up==80", &["s2", "s1"])
        + "[build plain]\n"
}

#[test]
fn what_builds_a_package_is_apart_from_the_tree() {
    let lock = read(&built()).unwrap();
    assert_eq!(lock.entries().len(), 3, "tools are no part of what runs");
    let names: Vec<_> = lock.builds().iter().map(|build| build.name().as_str()).collect();
    assert_eq!(names, ["a-b", "plain"]);
    let build = &lock.builds()[0];
    assert_eq!((build.version().to_string().as_str(), build.sha256()), ("2.0rc1", hash("a")));
    assert_eq!(build.tools().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["set-up"]);
    assert!(
        build.requirements().starts_with("set-up==80 \\\n    --hash=sha256:"),
        "{}",
        build.requirements()
    );
    assert_eq!(lock.builds()[1].requirements(), "");
    assert!(!tree(&lock).requirements(&BTreeMap::new()).contains("set-up"));
    assert_eq!(read(std::str::from_utf8(lock.bytes()).unwrap()).unwrap(), lock);
    assert_ne!(lock.digest(), read(built().split('[').next().unwrap()).unwrap().digest());
}

#[test]
fn refuses_a_build_that_is_not_of_one_archive_of_the_tree() {
    let tree = || line("own-server==1.2.0", &["wheel"]) + &line("a==1", &["a"]);
    let tool = line("t==1", &["t"]);
    assert!(read(&(tree() + "[build a]\n" + &tool)).is_ok());
    for sections in [
        "[build b]\n".to_owned(),
        "[build a]\n[build a]\n".to_owned(),
        "[build A]\n[build a]\n".to_owned(),
        "[build a]\n".to_owned() + &tool + &tool,
        "[build a]\nt==1\n".to_owned(),
        "[build a]\n--index-url https://elsewhere.example/\n".to_owned(),
        "[build a]\nt @ https://elsewhere.example/t.whl --hash=sha256:00\n".to_owned(),
        "[build a\n".to_owned(),
        "[build]\n".to_owned(),
        "[build a b]\n".to_owned(),
        "[other a]\n".to_owned(),
        "[build own-server]\n[build a]\n".to_owned() + "[build ../a]\n",
    ] {
        assert!(read(&(tree() + &sections)).is_err(), "{sections}");
    }
    let two = line("own-server==1.2.0", &["wheel"]) + &line("a==1", &["a", "other"]) + "[build a]\n";
    assert!(read(&two).is_err(), "one of two archives");
    let many: String = (0..=MOST_BUILDS).map(|i| line(&format!("p{i}==1"), &["p"])).collect();
    let sections: String = (0..=MOST_BUILDS).map(|i| format!("[build p{i}]\n")).collect();
    assert!(read(&(tree() + &many + &sections)).is_err());
    assert!(read(&(tree() + &many + sections.split_once('\n').unwrap().1)).is_ok());
}

#[test]
fn only_a_wheel_that_is_there_already_has_a_place() {
    let lock = read(&usual()).unwrap();
    let placed = tree(&lock).requirements(&BTreeMap::from([(
        "own-server".parse().unwrap(),
        Placed { path: "/tmp/work/own.whl".into(), sha256: hash("wheel") },
    )]));
    assert!(placed.contains("own-server @ file:///tmp/work/own.whl \\\n"), "{placed}");
    assert!(placed.contains("a-b==2.0rc1 \\\n"), "{placed}");
    assert!(matches!(read(&placed), Err(PlanRefused::Source { .. })), "no place is ever stored");
}

#[test]
fn what_is_laid_down_is_the_lock_and_nothing_else() {
    let lock = read(&usual()).unwrap();
    let not =
        |laid: &'static [(&'static str, &'static str)]| tree(&lock).not_laid_as_locked(laid.iter().copied());
    assert_eq!(not(&[("A_b", "2.0rc1"), ("own-server", "1.2.0")]), None);
    assert_eq!(not(&[("a-b", "2.0-RC1"), ("Own.Server", "1.2")]), None);
    assert_eq!(not(&[("own-server", "1.2.0")]), Some("a-b"));
    assert_eq!(not(&[("a-b", "2.0"), ("own-server", "1.2.0")]), Some("a-b"));
    assert_eq!(not(&[("a-b", "2.0rc1"), ("own-server", "1.2.0"), ("c", "1")]), Some("c"));
    assert_eq!(not(&[("a-b", "2.0rc1"), ("own-server", "1.2.0"), ("a_b", "2.0rc1")]), Some("a_b"));
    assert_eq!(not(&[("not a name", "1")]), Some("not a name"));
}

proptest! {
    #[test]
    fn never_panics_and_what_is_accepted_reads_back_the_same(
        name in "[a-zA-Z0-9._@-]{0,8}", version in "[0-9a-z.!+*]{0,8}", rest in "( --hash=sha256:[0-9a-f]{64}){0,2}|\\PC{0,20}",
    ) {
        let text = usual() + &format!("{name}=={version}{rest}\n");
        if let Ok(lock) = read(&text) {
            prop_assert_eq!(read(std::str::from_utf8(lock.bytes()).unwrap()), Ok(lock));
        }
        let _ = read(&rest);
    }
}
