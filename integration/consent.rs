//! Does anything run without a person's yes to this very plan?
//!
//! A yes is `yes`, typed at a terminal under the card, or the digest of the plan that was shown. Every other ending is a
//! no: exit 10, nothing installed, nothing pinned.

use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::json;

use crate::package::Package;
use crate::pinfold::{Home, Ran, run};
use crate::terminal::AtTerminal;
use crate::{engine, tests};

tests![
    without_a_terminal_and_without_a_digest_the_answer_is_no,
    the_digest_of_another_plan_is_a_no,
    a_digest_that_is_none_is_a_usage_error,
    a_digest_counts_for_the_options_it_was_shown_with_alone,
    where_the_config_says_terminal_no_digest_is_a_yes,
    typing_yes_at_a_terminal_is_a_yes,
    typing_anything_else_at_a_terminal_is_a_no,
    a_single_letter_at_a_terminal_is_asked_about_once_and_no_yes,
    the_end_of_input_at_a_terminal_is_a_no,
    what_was_typed_before_the_question_is_no_answer,
    a_pipe_that_says_yes_is_nobody,
    a_question_that_nobody_sees_is_not_asked,
];

/// One package for all: it never gets installed but where a test says so.
static PACKAGE: LazyLock<(Package, String)> = LazyLock::new(|| {
    let package = Package::least("asked-about");
    let spec = package.tarball();
    (package, spec)
});

fn spec() -> &'static str {
    &PACKAGE.1
}

/// Nothing was installed and nothing is pinned; and the ending is in the audit log.
#[track_caller]
fn refused(home: &Home, ending: &str) {
    assert_eq!(home.installed(), Vec::<String>::new(), "installed before the yes");
    assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
    let endings: Vec<_> = home.audit("consent").iter().map(|event| event["ending"].clone()).collect();
    assert_eq!(endings.last(), Some(&json!(ending)), "{endings:?}");
    let left = engine::containers(&home.state().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

fn digest(home: &Home, options: &[&str]) -> String {
    let shown = home.run([&["--json", "show", spec()], options].concat()).ended(0).json();
    shown["digest"].as_str().unwrap().to_owned()
}

fn without_a_terminal_and_without_a_digest_the_answer_is_no() {
    let home = Home::new();
    let ran = home.run(["--json", "mount", spec()]).failed(10, "consent-needed");
    refused(&home, "no-terminal");
    // the way on is in the hint
    let hint = ran.error()["hint"].as_str().unwrap().to_owned();
    let digest = digest(&home, &[]);
    assert!(hint.contains(&format!("--consent {digest}")), "{hint}");
}

fn the_digest_of_another_plan_is_a_no() {
    let home = Home::new();
    let other = digest(&home, &["--memory", "300m"]);
    let never = format!("sha256:{}", "0".repeat(64));
    for given in [other, never] {
        home.run(["--json", "mount", spec(), "--consent", &given]).failed(10, "consent-mismatch");
        refused(&home, "other-digest");
    }
}

fn a_digest_that_is_none_is_a_usage_error() {
    let home = Home::new();
    for given in ["yes", "", "sha256:", "sha256:xyz", "md5:d41d8cd98f00b204e9800998ecf8427e", "*"] {
        home.run(["--json", "mount", spec(), "--consent", given]).failed(2, "usage");
    }
    assert_eq!(home.installed(), Vec::<String>::new());
}

fn a_digest_counts_for_the_options_it_was_shown_with_alone() {
    let home = Home::new();
    let plain = digest(&home, &[]);
    for more in [["--egress", "registry.example"], ["--env", "TOKEN"], ["--memory", "1g"], ["--env", "A=1"]] {
        let words = ["--json", "mount", spec(), "--consent", &plain];
        home.run([&words[..], &more[..]].concat()).failed(10, "consent-mismatch");
        refused(&home, "other-digest");
    }
    let words = ["--json", "mount", spec(), "--consent", &plain, "--", "--an-argument"];
    home.run(words).failed(10, "consent-mismatch");
}

fn where_the_config_says_terminal_no_digest_is_a_yes() {
    let home = Home::new();
    let digest = digest(&home, &[]);
    std::fs::write(home.file("config/config.toml"), "consent = \"terminal\"\n").unwrap();
    let ran = home.run(["--json", "mount", spec(), "--consent", &digest]).failed(10, "consent-needed");
    assert!(ran.error()["why"].as_str().unwrap().contains("terminal"), "{ran}");
    refused(&home, "digests-off");
}

const QUESTION: &str = "Type yes to consent";

fn asked(home: &Home) -> AtTerminal {
    let terminal = AtTerminal::start(home.command(["mount", spec()]));
    terminal.shows(QUESTION);
    terminal
}

fn typing_yes_at_a_terminal_is_a_yes() {
    let home = Home::new();
    let mut terminal = asked(&home);
    let card = terminal.screen();
    for told in ["asked-about", "sha256:", "sha512-", "egress"] {
        assert!(card.to_lowercase().contains(told), "the card does not tell {told}:\n{card}");
    }
    terminal.types("yes\n");
    assert_eq!(terminal.ended(), Some(0), "{}", terminal.screen());
    let pin = home.run(["--json", "pins", "show", "asked-about"]).ended(0).json();
    assert_eq!(pin["consent"]["how"], "terminal");
    home.run(["unmount", "asked-about"]).ended(0);
}

fn typing_anything_else_at_a_terminal_is_a_no() {
    for keys in ["no\n", "n\n", "\n", "yes please\n", "YES!\n"] {
        let home = Home::new();
        let mut terminal = asked(&home);
        terminal.types(keys);
        assert_eq!(terminal.ended(), Some(10), "{keys:?}: {}", terminal.screen());
        refused(&home, "refused");
    }
}

fn a_single_letter_at_a_terminal_is_asked_about_once_and_no_yes() {
    let home = Home::new();
    let mut terminal = asked(&home);
    terminal.types("y\n");
    terminal.shows("Only the whole word is taken");
    terminal.types("y\n");
    assert_eq!(terminal.ended(), Some(10), "{}", terminal.screen());
    refused(&home, "refused");
}

fn the_end_of_input_at_a_terminal_is_a_no() {
    let home = Home::new();
    let mut terminal = asked(&home);
    // what control-D is to a terminal's line discipline
    terminal.types("\u{4}");
    assert_eq!(terminal.ended(), Some(10), "{}", terminal.screen());
    refused(&home, "eof");
}

fn what_was_typed_before_the_question_is_no_answer() {
    let home = Home::new();
    let mut terminal = AtTerminal::start(home.command(["mount", spec()]));
    terminal.types("yes\nyes\n");
    terminal.shows(QUESTION);
    terminal.types("no\n");
    assert_eq!(terminal.ended(), Some(10), "{}", terminal.screen());
    refused(&home, "refused");
}

fn a_pipe_that_says_yes_is_nobody() {
    let home = Home::new();
    let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = yes.stdout.take().unwrap();
    let mut terminal = AtTerminal::start_with_input(home.command(["mount", spec()]), pipe);
    let code = terminal.ended();
    let _ = yes.kill();
    let _ = yes.wait();
    assert_eq!(code, Some(10), "{}", terminal.screen());
    refused(&home, "no-terminal");
}

fn a_question_that_nobody_sees_is_not_asked() {
    let home = Home::new();
    // standard error is read by this test: no person sees it
    let ran: Ran = run(home.command(["--json", "mount", spec()]));
    ran.failed(10, "consent-needed");
    refused(&home, "no-terminal");
}
