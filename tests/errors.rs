//! Is `docs/errors.md` about the errors there are?
//!
//! The page is written by hand, so that it can explain; here it is held to [`Code::ALL`] both ways: every code has
//! its heading and its exit status, and no heading is left of a code that is gone.

#![allow(clippy::unwrap_used, reason = "a page that cannot be read fails the test")]

use std::collections::BTreeMap;

use pinfold::failure::Code;

const PAGE: &str = include_str!("../docs/errors.md");

/// The part of the page under a heading of the second level.
fn section(title: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("\n## {title}\n")).unwrap();
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// What is between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_code_has_its_heading_and_its_exit_status_in_the_order_of_the_code() {
    let mut written = Vec::new();
    for part in section("Codes").split("\n### `").skip(1) {
        let (name, rest) = part.split_once("`\n").unwrap();
        let status = rest.trim_start().lines().next().unwrap();
        written.push((name.to_owned(), status.to_owned()));
    }
    let known: Vec<_> = Code::ALL
        .iter()
        .map(|code| (code.name().to_owned(), format!("Exit status {}.", code.exit())))
        .collect();
    assert_eq!(written, known);
}

#[test]
fn every_code_is_explained_and_not_only_named() {
    for part in section("Codes").split("\n### `").skip(1) {
        assert!(part.split_whitespace().count() > 20, "{part}");
    }
}

#[test]
fn the_table_of_exit_statuses_lists_each_code_once_under_its_own() {
    let mut known = BTreeMap::<u8, Vec<&str>>::new();
    for code in Code::ALL {
        known.entry(code.exit()).or_default().push(code.name());
    }
    let mut written = BTreeMap::<u8, Vec<&str>>::new();
    for row in section("Exit statuses").lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, status, _, codes, _] = cells[..] else { continue };
        let Ok(status) = status.parse() else { continue };
        if status != 0 {
            written.insert(status, quoted(codes).collect());
        }
    }
    assert_eq!(written, known);
}
