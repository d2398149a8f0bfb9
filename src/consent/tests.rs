use std::collections::VecDeque;

use super::*;
use crate::plan::tests::{built_draft, built_lock, draft, lock, plan, release};
use crate::plan::{Access, AllowRoot, Draft, EnvAsked, Facts, FolderFacts, Lock, Mount, User};
use crate::text::Shown;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A terminal with a script: what was typed before, and what is typed after each question.
struct Scripted {
    typed_ahead: Option<Answer>,
    answers: VecDeque<Answer>,
    drawn: String,
    width: usize,
}

impl Scripted {
    fn answering(answer: Answer) -> Self {
        Self { typed_ahead: None, answers: VecDeque::from([answer]), drawn: String::new(), width: 80 }
    }
}

impl Terminal for Scripted {
    fn width(&self) -> usize {
        self.width
    }

    fn palette(&self) -> Palette {
        Palette::Plain
    }

    fn draw(&mut self, text: &str) -> io::Result<()> {
        self.drawn.push_str(text);
        Ok(())
    }

    fn forget_typed(&mut self) -> io::Result<()> {
        self.typed_ahead = None;
        Ok(())
    }

    fn read_line(&mut self, _: Duration) -> io::Result<Answer> {
        match self.typed_ahead.take().or_else(|| self.answers.pop_front()) {
            Some(answer) => Ok(answer),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn line(text: &str) -> Answer {
    Answer::Line(text.to_owned())
}

fn asked(terminal: Option<&mut dyn Terminal>) -> Result<Consent, Ending> {
    let (plan, lock, facts) = (plan(), lock(), Facts::default());
    ask(&Card::new(&plan, &lock, &facts, NOW), terminal, NOW).map_err(|no| no.ending())
}

#[test]
fn accepts_the_word_yes_under_the_card() {
    for text in ["yes", "yes\n", " YES \r"] {
        let mut terminal = Scripted::answering(line(text));
        let consent = asked(Some(&mut terminal)).unwrap();
        assert_eq!((consent.plan(), consent.how(), consent.at()), (plan().digest(), How::Terminal, NOW));
        assert!(terminal.drawn.contains("Command"));
    }
}

#[test]
fn refuses_every_other_answer_and_tells_them_apart() {
    for text in ["", "n", "ye", "no", "yes please", "yess", "y e s", "ye\u{200b}s", "ｙｅｓ", "да"] {
        assert_eq!(asked(Some(&mut Scripted::answering(line(text)))), Err(Ending::Refused), "{text}");
    }
    assert_eq!(asked(Some(&mut Scripted::answering(Answer::End))), Err(Ending::Eof));
    assert_eq!(asked(Some(&mut Scripted::answering(Answer::Silence))), Err(Ending::Timeout));
    assert_eq!(asked(None), Err(Ending::NoTerminal));
    let mut broken = Scripted::answering(Answer::End);
    broken.answers.clear();
    assert_eq!(asked(Some(&mut broken)), Err(Ending::TerminalFailed));
}

#[test]
fn a_single_letter_is_no_consent_and_is_asked_about_once() {
    let twice = |second: &str| {
        let mut terminal = Scripted::answering(line(" Y\n"));
        terminal.answers.push_back(line(second));
        (asked(Some(&mut terminal)).map(|consent| consent.how()), terminal.drawn)
    };
    let (asked, drawn) = twice("yes");
    assert_eq!(asked, Ok(How::Terminal));
    assert!(
        drawn.ends_with("Only the whole word is taken. Type yes to consent; anything else refuses: "),
        "{drawn}"
    );
    for no in ["y", "", "no", "n"] {
        assert_eq!(twice(no).0, Err(Ending::Refused), "{no}");
    }
}

#[test]
fn what_was_typed_before_the_card_is_no_answer_to_it() {
    let mut terminal = Scripted { typed_ahead: Some(line("yes")), ..Scripted::answering(line("no")) };
    assert_eq!(asked(Some(&mut terminal)), Err(Ending::Refused));
}

#[test]
fn accepts_the_digest_of_this_plan_and_refuses_that_of_another() {
    let consent = by_digest(&plan().digest(), &plan(), ConsentBy::Any, NOW).unwrap();
    assert_eq!((consent.plan(), consent.how()), (plan().digest(), How::Digest));
    let no = by_digest(&Digest::of(b"other"), &plan(), ConsentBy::Any, NOW).unwrap_err();
    assert_eq!(no.ending(), Ending::OtherDigest);
    assert_eq!(Failure::from(no).code(), Code::ConsentMismatch);
}

#[test]
fn refuses_a_digest_where_only_a_terminal_counts() {
    let no = by_digest(&plan().digest(), &plan(), ConsentBy::Terminal, NOW).unwrap_err();
    assert_eq!(no.ending(), Ending::DigestsOff);
    let failure = Failure::from(no);
    assert_eq!(failure.code(), Code::ConsentNeeded);
    assert!(!failure.hint().to_string().contains("--consent"));
}

#[test]
fn every_no_says_what_would_be_a_yes() {
    let (plan, lock, facts) = (plan(), lock(), Facts::default());
    let no = ask(&Card::new(&plan, &lock, &facts, NOW), None, NOW).unwrap_err();
    let failure = Failure::from(no);
    assert_eq!(failure.code().exit(), 10);
    assert!(failure.hint().to_string().contains(&format!("--consent {}", plan.digest())));
}

// The cards, as people and programs see them.

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn usual() -> (Plan, Lock, Facts) {
    let facts = Facts {
        remarks: vec![Shown::new("`-y` is left out: it answers a question of npx's")],
        description: Some(Shown::new("Play music and manage playlists")),
        published: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        publisher: Some(Shown::new("acme-bot")),
        provenance: Some(true),
        ..Facts::default()
    };
    let lock = lock();
    let env = ["SPOTIFY_TOKEN".parse().unwrap(), "MARKET=DE".parse().unwrap()].to_vec();
    let egress = vec!["api.spotify.example".parse().unwrap()];
    let plan =
        Plan::draw(Draft { env, egress, arguments: vec!["--read-only".into()], ..draft(&lock) }).unwrap();
    (plan, lock, facts)
}

/// What a stranger can put into a card.
fn hostile() -> (Plan, Lock, Facts) {
    let facts = Facts {
        description: Some(Shown::new(
            "Nice.\nSecrets      none\r\u{1b}[2KEgress       none\u{2028}Digest       sha256:0\n\nRun this, as shown? \
             Type yes to consent \u{202e}txet desrever\u{202c} 漢字かな漢字かな漢字かな漢字かな漢字かな ﷽\u{fe0f}",
        )),
        published: Some("2026-02-28T00:00:00Z".parse().unwrap()),
        publisher: Some(Shown::new("acme\n\nProvenance   verified")),
        provenance: Some(false),
        deprecated: Some(Shown::new("\u{1b}]0;title\u{7}gone")),
        dropped_env: vec![(Shown::new("PYTHONUNBUFFERED"), Shown::new("of no use"))],
        remarks: vec![Shown::new("`x\nSecrets      none` is read as `npx`")],
        ..Facts::default()
    };
    let lock = lock();
    let env: Vec<EnvAsked> = (1..=20).map(|n| format!("SECRET_NUMBER_{n}").parse().unwrap()).collect();
    let arguments = vec![
        "x".repeat(400),
        "; rm -rf / #".into(),
        "a\u{202e}b\u{200b}c".into(),
        "two  spaces".into(),
        "漢字".repeat(30),
        String::new(),
        "db://{secret:DB_PASSWORD}@db.example".into(),
    ];
    let egress = vec!["public".parse().unwrap(), "*.evil.example:8443".parse().unwrap()];
    let plan = Plan::draw(Draft { env, egress, arguments, ..draft(&lock) }).unwrap();
    (plan, lock, facts)
}

#[test]
fn the_usual_card() {
    let (plan, lock, facts) = usual();
    let card = Card::new(&plan, &lock, &facts, now());
    insta::assert_snapshot!("usual_80", card.text(80, Palette::Plain));
    insta::assert_snapshot!("usual_40", card.text(40, Palette::Plain));
    insta::assert_json_snapshot!("usual_json", card.json());
}

#[test]
fn the_card_of_a_server_with_folders() {
    let lock = lock();
    let seen = |path: &str, typed: Option<&str>, held: &[&str], loose: &[&str], roots| FolderFacts {
        path: Shown::new(path),
        typed: typed.map(Shown::new),
        held: held.iter().map(|name| Shown::new(name)).collect(),
        loose: loose.iter().map(|name| Shown::new(name)).collect(),
        twice: loose.iter().map(|_| Shown::new(".git/config")).collect(),
        roots,
    };
    let facts = Facts {
        folders: vec![
            seen("/home/u/notes", None, &[], &[], false),
            seen(
                "/home/u/src/my work",
                Some("~/w"),
                &[".git/config", ".git/hooks", ".vscode"],
                &["CLAUDE.md"],
                false,
            ),
            seen("/srv/manuals", None, &[], &[], true),
        ],
        ..Facts::default()
    };
    let mount = |path: &str, access| Mount::new(path.parse().unwrap(), access);
    let mounts = vec![
        mount("/home/u/notes", Access::Read),
        mount("/home/u/src/my work", Access::Write),
        mount("/srv/manuals", Access::Read),
    ];
    let user = "1000:1000".parse().unwrap();
    let plan = Plan::draw(Draft { mounts, persist: true, user, ..draft(&lock) }).unwrap();
    let card = Card::new(&plan, &lock, &facts, now());
    insta::assert_snapshot!("folders_80", card.text(80, Palette::Plain));
    insta::assert_json_snapshot!("folders_json", card.json());
}

#[test]
fn root_is_said_in_red() {
    let lock = lock();
    let mounts = vec![Mount::new("/srv/data".parse().unwrap(), Access::Write)];
    let user = User::root(&AllowRoot::typed(true).unwrap());
    let plan = Plan::draw(Draft { mounts, user, ..draft(&lock) }).unwrap();
    let text = Card::new(&plan, &lock, &Facts::default(), now()).text(80, Palette::Colour);
    assert!(text.contains("\u{1b}[1;31mroot, though without root's powers"), "{text}");
    assert!(!text.contains("not root"), "{text}");
}

#[test]
fn the_card_of_a_server_that_is_built() {
    let built = built_lock();
    let plan = Plan::draw(built_draft(&built)).unwrap();
    let facts = Facts::default();
    let card = Card::new(&plan, &built, &facts, now());
    insta::assert_snapshot!("built_80", card.text(80, Palette::Plain));
}

#[test]
fn the_plainest_card() {
    let (plan, lock, facts) = (plan(), lock(), Facts::default());
    insta::assert_snapshot!("plainest_80", Card::new(&plan, &lock, &facts, now()).text(80, Palette::Plain));
}

#[test]
fn a_card_in_colour() {
    let (plan, lock, facts) = usual();
    let text = Card::new(&plan, &lock, &facts, now()).text(80, Palette::Colour);
    insta::assert_snapshot!("usual_colour", text.escape_debug().to_string().replace("\\n", "\n"));
}

#[test]
fn the_card_of_a_hostile_package() {
    let (plan, lock, facts) = hostile();
    let card = Card::new(&plan, &lock, &facts, now());
    insta::assert_snapshot!("hostile_80", card.text(80, Palette::Plain));
    insta::assert_snapshot!("hostile_40", card.text(40, Palette::Plain));
    insta::assert_json_snapshot!("hostile_json", card.json());
}

#[test]
fn no_stranger_can_write_a_line_of_ours() {
    let (plan, lock, facts) = hostile();
    for width in [0, 30, 40, 59, 60, 80, 200] {
        let text = Card::new(&plan, &lock, &facts, now()).text(width, Palette::Plain);
        for label in ["Secrets", "Digest", "Provenance", "Run this"] {
            let lines = text.lines().filter(|line| line.starts_with(label)).count();
            assert_eq!(lines, usize::from(matches!(label, "Digest" | "Provenance")), "{label}\n{text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(text.lines().filter(|line| line.starts_with("Secret")).count(), 21);
    }
}

#[test]
fn nothing_on_a_card_is_clipped() {
    let (plan, lock, facts) = hostile();
    for width in [24, 40, 80] {
        let text = Card::new(&plan, &lock, &facts, now()).text(width, Palette::Plain);
        let joined: String = text.lines().map(|line| line.trim_start()).collect();
        assert!(joined.contains(&"x".repeat(400)));
        assert!(joined.contains(&release().package().held_to().to_string()));
        assert!(joined.contains(&plan.digest().to_string()));
        assert!(joined.contains("two  spaces"));
    }
}

#[test]
fn the_digest_of_the_json_card_can_be_computed_from_its_plan() {
    let (plan, lock, facts) = hostile();
    let json = Card::new(&plan, &lock, &facts, now()).json().to_string();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(Digest::of_canonical(&read["plan"]).unwrap().to_string(), read["digest"]);
}
