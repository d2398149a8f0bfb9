use proptest::prelude::*;

use super::super::tests::{zip_of, zip_with};
use super::*;

fn why(bytes: &[u8]) -> String {
    members(bytes).unwrap_err()
}

/// Where a signature begins for the `nth` time.
fn nth(bytes: &[u8], signature: &[u8], nth: usize) -> usize {
    bytes.windows(4).enumerate().filter(|(_, window)| *window == signature).nth(nth).unwrap().0
}

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const THE_END: &[u8] = b"PK\x05\x06";

fn changed(bytes: &[u8], at: usize, to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn accepts_an_archive_and_reads_its_members() {
    let bytes = zip_of(&[("a/b.txt", "one"), ("c.txt", ""), ("ä.txt", "two")]);
    let mut archive = Archive::read(&bytes).unwrap();
    assert_eq!(archive.members().collect::<Vec<_>>(), ["a/b.txt", "c.txt", "ä.txt"]);
    assert_eq!(archive.text("a/b.txt", 3), Ok(Some("one".to_owned())));
    assert_eq!(archive.text("ä.txt", 3), Ok(Some("two".to_owned())));
    assert_eq!(archive.text("gone", 3), Ok(None));
    assert!(archive.text("a/b.txt", 2).unwrap_err().contains("larger"));
    assert!(members(&zip_of(&[])).unwrap().is_empty());
}

#[test]
fn accepts_folders_and_members_that_are_not_packed() {
    let bytes = zip_with(|zip, options| {
        zip.add_directory("a/", options).unwrap();
        zip.start_file("a/b", options.compression_method(zip::CompressionMethod::Stored)).unwrap();
        std::io::Write::write_all(zip, b"x").unwrap();
    });
    assert_eq!(members(&bytes).unwrap().len(), 2);
}

#[test]
fn refuses_what_lies_around_or_between() {
    let good = zip_of(&[("a", "1"), ("b", "2")]);
    assert!(members(&good).is_ok());
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("no zip", b"nonsense that is long enough to be one".to_vec()),
        ("something before", [b"#!/bin/sh\n", good.as_slice()].concat()),
        ("something after", [good.as_slice(), b"x"].concat()),
        ("two archives", [good.as_slice(), zip_of(&[("c", "3")]).as_slice()].concat()),
        ("half", good[..good.len() / 2].to_vec()),
        ("a comment", {
            let end = nth(&good, THE_END, 0);
            [&changed(&good, end + 20, &[1, 0]), b"x".as_slice()].concat()
        }),
        (
            "an entry fewer",
            changed(
                &changed(&good, nth(&good, THE_END, 0) + 8, &[1, 0]),
                nth(&good, THE_END, 0) + 10,
                &[1, 0],
            ),
        ),
        (
            "an entry more",
            changed(
                &changed(&good, nth(&good, THE_END, 0) + 8, &[3, 0]),
                nth(&good, THE_END, 0) + 10,
                &[3, 0],
            ),
        ),
        ("another disk", changed(&good, nth(&good, THE_END, 0) + 4, &[1, 0])),
        ("a directory elsewhere", changed(&good, nth(&good, THE_END, 0) + 16, &[0, 0, 0, 0])),
        ("a gap between members", {
            let second = nth(&good, LOCAL, 1);
            let mut bytes = good.clone();
            bytes.splice(second..second, *b"gap");
            let end = nth(&bytes, THE_END, 0);
            let directory = u32_at(&bytes, end + 16) + 3;
            let bytes = changed(&bytes, end + 16, &directory.to_le_bytes());
            let entry = nth(&bytes, CENTRAL, 1);
            changed(&bytes, entry + 42, &(second as u32 + 3).to_le_bytes())
        }),
        ("one member for two names", {
            let entry = nth(&good, CENTRAL, 1);
            changed(&good, entry + 42, &[0, 0, 0, 0])
        }),
    ] {
        assert!(members(&bytes).is_err(), "{what}");
    }
}

#[test]
fn refuses_a_member_that_is_described_in_two_ways() {
    let good = zip_of(&[("a", "1"), ("b", "2")]);
    let (local, entry) = (nth(&good, LOCAL, 0), nth(&good, CENTRAL, 0));
    for (what, bytes) in [
        ("another name", changed(&good, local + 30, b"c")),
        ("another name in the directory", changed(&good, entry + 46, b"c")),
        ("another method", changed(&good, local + 8, &[0, 0])),
        ("another size", changed(&good, local + 22, &[9])),
        ("another packed size", changed(&good, entry + 20, &[1])),
        ("another checksum", changed(&good, local + 14, &[9, 9])),
        ("other flags", changed(&good, local + 6, &[0, 8])),
        ("a longer name", changed(&good, local + 26, &[2])),
    ] {
        assert!(members(&bytes).is_err(), "{what}");
    }
}

#[test]
fn refuses_two_members_of_one_name() {
    let twice = zip_of(&[("a", "1"), ("b", "2")]);
    let twice =
        changed(&changed(&twice, nth(&twice, LOCAL, 1) + 30, b"a"), nth(&twice, CENTRAL, 1) + 46, b"a");
    assert!(why(&twice).contains("one name"));
    let folder = zip_of(&[("a/", ""), ("bx", "2")]);
    let folder =
        changed(&changed(&folder, nth(&folder, LOCAL, 1) + 30, b"a/"), nth(&folder, CENTRAL, 1) + 46, b"a/");
    assert!(members(&folder).is_err());
}

#[test]
fn refuses_rare_kinds_of_member() {
    let good = zip_of(&[("a", "1")]);
    let (local, entry) = (nth(&good, LOCAL, 0), nth(&good, CENTRAL, 0));
    let both = |local_at: usize, entry_at: usize, to: &[u8]| {
        changed(&changed(&good, local + local_at, to), entry + entry_at, to)
    };
    assert!(why(&both(6, 8, &[1, 0])).contains("encrypted"));
    assert!(why(&both(6, 8, &[0x40, 0])).contains("rare"));
    assert!(why(&both(6, 8, &[0, 0x20])).contains("rare"));
    assert!(why(&both(8, 10, &[93, 0])).contains("packed"));
    for kind in [0o120_000_u32, 0o060_000, 0o010_000, 0o140_000, 0o040_000] {
        let linked = changed(&good, entry + 38, &((kind | 0o777) << 16).to_le_bytes());
        assert!(why(&linked).contains("plain file"), "{kind:o}");
    }
    assert!(members(&changed(&good, entry + 38, &(0o100_644_u32 << 16).to_le_bytes())).is_ok());
    assert!(members(&changed(&good, entry + 38, &[0; 4])).is_ok());
}

#[test]
fn refuses_names_that_lead_elsewhere() {
    for bad in ["/a", "../a", "a/../../b", "a//b", "./a", "a\\b", "C:a", "a\nb", "a\0b", "..", "/"] {
        assert!(path(bad.as_bytes(), UTF8).is_err(), "{bad:?}");
    }
    for good in ["a", "a/b", "a/", ".a", "a..b", "ä"] {
        assert!(path(good.as_bytes(), UTF8).is_ok(), "{good}");
    }
    assert!(path("ä".as_bytes(), 0).is_err());
    assert!(path(b"\xff", UTF8).is_err());
}

#[test]
fn refuses_extra_fields_that_give_another_reading() {
    for id in OTHER_READING {
        assert!(extra(&[&id.to_le_bytes()[..], &[2, 0, 1, 1]].concat()).is_err(), "{id:x}");
    }
    assert!(extra(&[0x55, 0x54, 2, 0, 1, 1]).is_ok());
    for cut in [&[0x55, 0x54][..], &[0x55, 0x54, 9, 0, 1]] {
        assert!(extra(cut).is_err());
    }
}

#[test]
fn refuses_what_unpacks_past_its_bound() {
    let bytes = zip_of(&[("a", "1")]);
    let large = (3_u32 << 30).to_le_bytes();
    let (local, entry) = (nth(&bytes, LOCAL, 0), nth(&bytes, CENTRAL, 0));
    let bytes = changed(&changed(&bytes, local + 22, &large), entry + 24, &large);
    assert!(why(&bytes).contains("2 GiB"));
}

#[test]
fn refuses_content_other_than_its_checksum() {
    let bytes = zip_of(&[("a", "one")]);
    let (local, entry) = (nth(&bytes, LOCAL, 0), nth(&bytes, CENTRAL, 0));
    let bytes = changed(&changed(&bytes, local + 14, &[9, 9, 9, 9]), entry + 16, &[9, 9, 9, 9]);
    assert!(Archive::read(&bytes).unwrap().text("a", 100).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(noise in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..400, byte in any::<u8>()) {
        let _ = members(&noise);
        let mut bytes = zip_of(&[("a/b", "one"), ("c", "two")]);
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(mut archive) = Archive::read(&bytes) {
            let _ = (archive.text("a/b", 100), archive.text("c", 100));
        }
        let _ = members(&[bytes, noise].concat());
    }
}
