//! How well does the screen tell attacks from documentation?
//!
//! Measured on two files in `corpus/` (see its README): tools of real servers with known attacks, and a set of our
//! own in several languages. The marks are what must hold, not what was reached; the counts are in the message.

#![allow(clippy::unwrap_used, reason = "a line of the corpus that cannot be read fails the test")]

use pinfold::screen::{Kind, Outcome, Screen};
use serde_json::Value;

struct Score {
    attacks: usize,
    refused: usize,
    benign: usize,
    false_alarms: Vec<String>,
    missed: Vec<String>,
}

fn score(corpus: &str, counts: impl Fn(&Value) -> bool) -> Score {
    let mut score = Score { attacks: 0, refused: 0, benign: 0, false_alarms: Vec::new(), missed: Vec::new() };
    for line in corpus.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        if !counts(&case) {
            continue;
        }
        let verdict = Screen::shared().item(Kind::Tool, &case["tool"]);
        let told = || format!("{}: {:?}", case["id"], verdict.hits());
        let refused = verdict.outcome() == Outcome::Refuse;
        match case["label"].as_str().unwrap() {
            "malicious" => {
                score.attacks += 1;
                score.refused += usize::from(refused);
                if !refused {
                    score.missed.push(told());
                }
            }
            "benign" => {
                score.benign += 1;
                if refused {
                    score.false_alarms.push(told());
                }
            }
            label => panic!("{label} is no label"),
        }
    }
    score
}

impl Score {
    /// At least so many attacks in a hundred refused, at most so many benign in a thousand.
    fn holds(&self, recall_percent: usize, alarms_per_mille: usize) -> bool {
        self.refused * 100 >= self.attacks * recall_percent
            && self.false_alarms.len() * 1000 <= self.benign * alarms_per_mille
    }

    fn report(&self) -> String {
        format!(
            "{} of {} attacks refused, {} of {} benign refused\nmissed: {:#?}\nfalse alarms: {:#?}",
            self.refused,
            self.attacks,
            self.false_alarms.len(),
            self.benign,
            self.missed,
            self.false_alarms
        )
    }
}

const DEV: &str = include_str!("corpus/dev.jsonl");
const OWN: &str = include_str!("corpus/own.jsonl");

#[test]
fn refuses_known_attacks_and_accepts_the_tools_of_real_servers() {
    let score = score(DEV, |_| true);
    assert!(score.attacks >= 20 && score.benign >= 270);
    assert!(score.holds(90, 5), "{}", score.report());
}

#[test]
fn refuses_our_attacks_and_accepts_our_hard_benign_texts() {
    let score = score(OWN, |_| true);
    assert!(score.attacks >= 60 && score.benign >= 60);
    assert!(score.holds(90, 30), "{}", score.report());
}

#[test]
fn spanish_is_covered_like_english() {
    let score = score(OWN, |case| case["lang"] == "es");
    assert!(score.attacks >= 15 && score.benign >= 15);
    assert!(score.holds(90, 30), "{}", score.report());
}

#[test]
fn every_attack_is_refused_in_fullwidth_and_with_soft_hyphens_too() {
    let disguised = |text: &str, how: fn(char) -> String| text.chars().map(how).collect::<String>();
    let fullwidth: fn(char) -> String = |c| {
        if c.is_ascii_lowercase() {
            char::from_u32(c as u32 + 0xFEE0).unwrap_or(c).to_string()
        } else {
            c.to_string()
        }
    };
    let hyphens: fn(char) -> String =
        |c| if matches!(c, 'e' | 'o') { format!("{c}\u{AD}") } else { c.to_string() };
    for (name, how) in [("fullwidth", fullwidth), ("soft hyphens", hyphens)] {
        let (mut plain, mut kept) = (0, 0);
        for line in DEV.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if case["label"] != "malicious" {
                continue;
            }
            let text = case["tool"]["description"].as_str().unwrap();
            if Screen::shared().text(Kind::Tool, text).refuses() {
                plain += 1;
                kept += usize::from(Screen::shared().text(Kind::Tool, &disguised(text, how)).refuses());
            }
        }
        // A path or an address in fullwidth letters is none any more, for the screen as for the shell.
        assert!(kept * 100 >= plain * 90, "{name}: {kept} of {plain}");
    }
}
