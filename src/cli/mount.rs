//! `pinfold mount`: from a name to a pinned server that was tried.
//!
//! In this order: draw the plan, ask, install, try, screen, pin. Nothing is installed before the yes; nothing is
//! kept of a mount that fails after it.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::asked::PlanOptions;
use super::host::Host;
use super::out::{Out, counted};
use super::prepare::{Prepared, prepare, prepare_again};
use super::{egress, first_seen, secret, start, trial, unmount};
use crate::cage::egress::{History, Tally};
use crate::cage::image::Image;
use crate::consent::{self, Card, Consent, Console, Ending, NotConsented, Terminal};
use crate::digest::Digest;
use crate::failure::{Code, Failure};
use crate::install::Progress;
use crate::install::runtime::Recipe;
use crate::pin::{Pin, PinError};
use crate::plan::{LocalName, Tree};
use crate::proxy::Survey;
use crate::screen::Kind;
use crate::secret::{Given, NotGiven};
use crate::source::PypiName;
use crate::state::{Audit, AuditEvent, FileLock};
use crate::text::Shown;

/// How long another mount of the same name is waited for.
const OTHER_MOUNT: Duration = Duration::from_secs(20 * 60);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// `npm:NAME[@VERSION]`, `pypi:NAME[==VERSION]`, `path:FILE.tgz|FILE.whl|DIR`, or a launch line in quotes
    spec: String,
    /// Consent to the plan with this digest, as `pinfold show` printed it, instead of being asked
    #[arg(long, value_name = "DIGEST")]
    consent: Option<String>,
    #[command(flatten)]
    options: PlanOptions,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let given = args.consent.as_deref().map(digest).transpose()?;
    if let Ok(name) = args.spec.parse::<LocalName>()
        && let Some(pin) = host.store()?.find(&name)?
    {
        return Err(Failure::new(
            Code::Usage,
            format!("{name} is the name of a mounted server"),
            "a server is mounted by what it is, not by its name here",
            format!("to mount it anew, run `{}`", consent::command_for(pin.plan(), "mount", &[])),
        ));
    }
    host.sweep().await?;
    consent::ShownPlans::of(host.home())?.sweep(Timestamp::now())?;
    let prepared = match &given {
        Some(digest) => match prepare_again(host, &args.spec, &args.options, digest)? {
            Some(prepared) => prepared,
            None => prepare(host, out, &args.spec, &args.options).await?,
        },
        None => prepare(host, out, &args.spec, &args.options).await?,
    };
    out.pause();

    // two mounts of one name: the second sees what the first made of it
    let _turn = turn(host, out, prepared.plan.name())?;
    // a digest is a yes to one plan, so that of another is a no, even where the plan at hand has its yes already
    let consent = given.as_ref().map(|_| ask(host, out, &prepared, given.as_ref())).transpose()?;
    if let Some(pin) = mounted(host, &prepared)? {
        return again(host, out, pin, &prepared).await;
    }
    let consent = match consent {
        Some(consent) => consent,
        None => ask(host, out, &prepared, None)?,
    };
    let Prepared { plan, lock, archive, .. } = prepared;
    let pin = Pin::consented(plan, lock, consent)?;
    let (image, fresh) = install(host, out, &pin, archive.as_deref()).await?;
    match try_and_pin(host, out, &pin, &image).await {
        Ok(surveys) => {
            report(host, out, &pin, &surveys);
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            // what this mount brought goes with it; what was there before stays
            if fresh {
                take_back(host, out, &pin).await;
            }
            Err(failure)
        }
    }
}

fn digest(text: &str) -> Result<Digest, Failure> {
    text.parse().map_err(|rule| {
        Failure::new(
            Code::Usage,
            format!("`{text}` is no plan's digest"),
            rule,
            "take the digest from the end of the card that `pinfold show` prints",
        )
    })
}

fn turn(host: &Host, out: &Out, name: &LocalName) -> Result<FileLock, Failure> {
    let path = host.home().state_subdir("mounting")?.join(name.as_str());
    if let Some(turn) = FileLock::try_acquire(&path)? {
        return Ok(turn);
    }
    out.note(format!("another mount of {name} is under way; waiting for it"));
    Ok(FileLock::acquire(&path, OTHER_MOUNT)?)
}

/// The pin that already holds exactly this plan.
fn mounted(host: &Host, prepared: &Prepared) -> Result<Option<Pin>, Failure> {
    match host.store()?.load(prepared.plan.name()) {
        Ok(pin) if pin.plan().digest() == prepared.plan.digest() => Ok(Some(pin)),
        Ok(_) | Err(PinError::NotMounted { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A plan that was consented to is not asked about again; at most its image is made anew, and it is tried if it could
/// not be before.
async fn again(host: &Host, out: &Out, pin: Pin, prepared: &Prepared) -> Result<ExitCode, Failure> {
    let (image, fresh) = install(host, out, &pin, prepared.archive.as_deref()).await?;
    start::remember(host, &pin, &image, None)?;
    if pin.surface().is_none() {
        try_and_pin(host, out, &pin, &image).await?;
    }
    out.pause();
    if out.is_json() {
        out.document(&json!({"name": pin.name(), "digest": pin.plan().digest(), "mounted": "before"}));
    } else {
        let and = if fresh { "; its image was gone and is made anew" } else { "" };
        out.line(format!("{} is mounted already, with this very plan{and}", pin.name()));
        credentials(host, out, &pin);
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(host: &Host, out: &Out, prepared: &Prepared, given: Option<&Digest>) -> Result<Consent, Failure> {
    let now = Timestamp::now();
    let asked: Result<Consent, NotConsented> = match given {
        Some(given) => consent::by_digest(given, &prepared.plan, host.config().consent(), now),
        None => {
            let card = Card::new(&prepared.plan, &prepared.lock, &prepared.facts, now);
            let mut console = Console::open(out.palette_for_questions());
            if console.is_none() {
                // shown all the same, so that its digest can be used
                consent::ShownPlans::of(host.home())?.keep(
                    &prepared.plan,
                    &prepared.lock,
                    &prepared.facts,
                    prepared.archive.as_deref(),
                    now,
                )?;
                out.card_aside(&card);
            }
            consent::ask(&card, console.as_mut().map(|console| console as &mut dyn Terminal), now)
        }
    };
    let ending = match &asked {
        Ok(consent) => Ending::from(consent.how()),
        Err(no) => no.ending(),
    };
    let (name, plan) = (prepared.plan.name(), prepared.plan.digest());
    Audit::of(host.home()).record(&AuditEvent::Consent { name, plan, ending: ending.name() })?;
    Ok(asked?)
}

/// The sealed image, made if it is not there; and whether it was made now.
async fn install(
    host: &Host,
    out: &Out,
    pin: &Pin,
    archive: Option<&[u8]>,
) -> Result<(Image, bool), Failure> {
    if let Some(image) = start::image(host, pin).await? {
        return Ok((image, false));
    }
    let image = match pin.lock().tree() {
        Tree::Npm(tree) => {
            let npm = host.npm(host.runtime(out).await?).await?;
            npm.install(pin, tree, archive, out).await?
        }
        Tree::Pypi(tree) => {
            let runtime = host.runtime_of(&Recipe::of(pin.plan().runtime())?, out).await?;
            // the name of a package of this disk is nobody's business, the index's included
            let known = |name: &&PypiName| !(pin.plan().release().is_local() && *name == tree.own());
            let names = tree.versions().map(|(name, _)| name).filter(known);
            let pypi = host.pypi(runtime, host.places(out, names).await?).await?;
            pypi.install(pin, tree, archive, &host.archives(out), out).await?
        }
    };
    // what is sealed is anybody's; whom this server runs as gets a name and a home on top of it
    let image = image.for_user_of(host.engine().await?.as_ref(), pin, &host.stamp()?).await?;
    let (name, plan, tree) = (pin.name(), pin.plan().digest(), image.tree());
    if let Err(error) = Audit::of(host.home()).record(&AuditEvent::Install { name, plan, tree }) {
        take_back(host, out, pin).await;
        return Err(error.into());
    }
    Ok((image, true))
}

/// Removes the image of a mount that came to nothing. The failure that is told is the mount's: the engine may be gone,
/// and then that is why it failed.
async fn take_back(host: &Host, out: &Out, pin: &Pin) {
    if let Err(error) = unmount::forget_image(host, pin).await {
        out.warn(format!("its image is still in the engine, and goes with the next mount: {error}"));
    }
}

/// Tries the server and keeps its pin. Gives what it showed, which is nothing where it could not be tried.
async fn try_and_pin(host: &Host, out: &Out, pin: &Pin, image: &Image) -> Result<Vec<Survey>, Failure> {
    let mut surveys = Vec::new();
    let mut denied = Tally::default();
    let mut pin = pin.clone();
    match Given::gather(host.home(), pin.plan()).await {
        // without its credentials most servers end at once: the pin then says nothing of what it shows
        Err(missing @ NotGiven::Missing { .. }) => {
            out.note(format!("not tried: {missing}, which `pinfold run {}` will need", pin.name()));
        }
        Err(unusable) => return Err(unusable.into()),
        Ok(_) => {
            out.step("trying it out in a cage");
            let mut tried = Tally::default();
            let seen = trial::trial(host, out, &pin, image, &mut tried).await;
            out.pause();
            egress::report(out, &pin, &tried);
            surveys = seen?;
            denied = tried;
            if let Some(failure) = useless(&pin, &surveys) {
                return Err(failure);
            }
            pin = pin.with_surface(first_seen::surface(&surveys));
        }
    }
    host.store()?.save(&pin)?;
    // From here on the server is mounted: a failure would take its image and leave its pin in force. What follows is
    // harmless to lose, so that is said and no more.
    let kept = History::keep(host.home(), pin.plan(), &denied, Timestamp::now()).map_err(Failure::from);
    if let Err(error) = kept.and_then(|()| start::remember(host, &pin, image, None)) {
        out.warn(format!("{} is mounted, but a note about it could not be kept: {error}", pin.name()));
    }
    Ok(surveys)
}

/// Why a server that answers is still of no use: nothing offered, or nothing that may be shown.
fn useless(pin: &Pin, surveys: &[Survey]) -> Option<Failure> {
    let merged = Survey::merge(surveys);
    let offered = merged.entries().iter().filter(|entry| entry.item().kind() != Kind::Instructions);
    let (refused, fine): (Vec<_>, Vec<_>) = offered.partition(|entry| entry.refused());
    if !fine.is_empty() {
        return None;
    }
    let name = pin.name();
    if refused.is_empty() {
        return Some(Failure::new(
            Code::NothingOffered,
            format!("{name} offers nothing"),
            "it answered, and lists no tool, prompt or resource",
            format!(
                "some servers offer tools only with further arguments or settings: read its documentation, then add them to `{}`",
                consent::command_for(pin.plan(), "mount", &[])
            ),
        ));
    }
    let hits = refused.iter().map(|entry| {
        let rules: Vec<&str> = entry.item().verdict().hits().iter().map(|hit| hit.rule()).collect();
        Shown::new(&format!("{}: {}", entry.item().name(), rules.join(", ")))
    });
    let failure = Failure::new(
        Code::ScreenRefused,
        format!("everything that {name} offers was refused by the screen"),
        "its descriptions read like instructions to a model; which rules they met is below",
        "do not use this server; if you think it is honest, report the false alarm",
    );
    Some(failure.with_last_words(hits.collect()))
}

/// A kind as keys of a surface and verdicts have it.
pub fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "tool",
        Kind::Prompt => "prompt",
        Kind::Resource => "resource",
        Kind::ResourceTemplate => "template",
        Kind::Instructions => "instructions",
        Kind::Text => "text",
        Kind::ServerInfo => "server",
    }
}

fn report(host: &Host, out: &Out, pin: &Pin, surveys: &[Survey]) {
    out.pause();
    let merged = Survey::merge(surveys);
    let of = |kind| merged.entries().iter().filter(move |entry| entry.item().kind() == kind);
    let refused: Vec<String> = merged
        .entries()
        .iter()
        .filter(|entry| entry.refused())
        .map(|entry| entry.item().name().to_owned())
        .collect();
    let program =
        std::env::current_exe().map_or_else(|_| "pinfold".into(), |path| path.display().to_string());
    let entry = json!({"command": program, "args": ["run", pin.name()]});
    if out.is_json() {
        return out.document(&json!({
            "name": pin.name(),
            "digest": pin.plan().digest(),
            "mounted": "now",
            "tools": (!surveys.is_empty()).then(|| of(Kind::Tool).count()),
            "refused": refused,
            "credentials": secret::document(host, pin).unwrap_or_default(),
            "client": {"mcpServers": {pin.name().as_str(): entry}},
        }));
    }
    out.line(format!("mounted {} as {}", pin.plan().release().id(), pin.name()));
    if !surveys.is_empty() {
        let counts = [Kind::Tool, Kind::Prompt, Kind::Resource];
        let counts: Vec<String> = counts.iter().map(|kind| counted(of(*kind).count(), word(*kind))).collect();
        out.line(format!("it offers {}; `pinfold tools {}` lists them", counts.join(", "), pin.name()));
    }
    for name in refused {
        out.warn(format!("refused by the screen, and absent for clients: {name}"));
    }
    out.line("");
    out.line("for an AI client's config:");
    let snippet = json!({"mcpServers": {pin.name().as_str(): entry}});
    for line in serde_json::to_string_pretty(&snippet).unwrap_or_default().lines() {
        out.line(format!("  {line}"));
    }
    credentials(host, out, pin);
}

/// Where its credentials come from, and the command that keeps one which is nowhere.
fn credentials(host: &Host, out: &Out, pin: &Pin) {
    match secret::lines(host, pin) {
        Ok(lines) => lines.iter().for_each(|line| out.line(line)),
        // it is mounted all the same, and each start looks again
        Err(failure) => out.warn(format!("{}: {}", failure.what(), failure.why())),
    }
}
