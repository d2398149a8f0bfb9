//! How does a command start a mounted server?
//!
//! Every command by the same few steps: the pin, the credentials it lists, its sealed image, a cage. What differs
//! is who then talks to the server.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::advice;
use super::hearing::{self, LastWords};
use super::host::Host;
use super::out::Out;
use crate::cage::Cage;
use crate::cage::egress::Egress;
use crate::cage::engine::{Engine, ImageId};
use crate::cage::folder::{FolderRefused, Folders};
use crate::cage::image::Image;
use crate::cage::link::{Exit, Handle, Input, Output};
use crate::cage::server::{self, Server};
use crate::consent::command_for;
use crate::failure::{Code, Failure};
use crate::pin::{LocalFacts, Pin, PinError, Store};
use crate::plan::LocalName;
use crate::proxy::{Policy, ScreenOnly, ServerEnd, Sightings};
use crate::secret::{Given, Mask};
use crate::state::{Audit, AuditEvent};
use crate::text::Shown;

/// How long a session goes on after its client left.
const ENDING: Duration = Duration::from_secs(6);
/// How often is looked at what a server could make in its folders.
const GLANCE: Duration = Duration::from_secs(2);

/// The command that looks at a server before anybody uses it.
pub const TRIAL: &str = "trial";

/// A started server, taken apart for whoever talks to it.
pub struct Live {
    /// What it reads.
    pub input: Input,
    /// What it writes.
    pub output: Output,
    /// Its life.
    pub handle: Handle,
    /// Its last words so far.
    pub words: LastWords,
    /// What it may reach, and what it tried.
    pub egress: Arc<Egress>,
    /// The folders it was given.
    pub folders: Arc<Folders>,
    /// What is left out of what is told of it.
    pub mask: Arc<Mask>,
    /// The cage, to be ended when they are done.
    pub cage: Cage,
}

/// What a command says of a name that no server is mounted under: why it then has nothing to do, and what to do.
pub struct Unknown {
    /// Why.
    pub why: &'static str,
    /// What to do where no mounted server's name is near.
    pub hint: &'static str,
}

/// Of a command that starts the server.
pub const NOT_STARTED: Unknown = Unknown {
    why: "only what was consented to is started",
    hint: "mount it first: `pinfold mount SPEC`; `pinfold list` shows what is mounted",
};

/// Of a command that tells or forgets what there is of a server.
pub const NOTHING_THERE: Unknown =
    Unknown { why: "there is nothing under that name", hint: "`pinfold list` shows what is mounted" };

/// The pin of a name that the user typed.
pub fn pin(host: &Host, name: &str, unknown: &Unknown) -> Result<Pin, Failure> {
    let store = host.store()?;
    let Ok(parsed) = name.parse::<LocalName>() else {
        return Err(no_name(&store, name, unknown));
    };
    store.load(&parsed).map_err(|error| not_mounted(error, unknown))
}

/// A pin that cannot be had, in the words of the command that wanted it.
pub fn not_mounted(error: PinError, unknown: &Unknown) -> Failure {
    let what = error.to_string();
    match error {
        PinError::NotMounted { near, .. } => {
            let hint = near.map_or_else(
                || unknown.hint.to_owned(),
                |near| format!("did you mean {near}? `pinfold list` shows what is mounted"),
            );
            Failure::new(Code::NotMounted, what, unknown.why, hint)
        }
        other => other.into(),
    }
}

/// A word that is no local name; perhaps the package of a server that is mounted.
pub fn no_name(store: &Store, word: &str, unknown: &Unknown) -> Failure {
    let of = |source: &str| {
        let version = word.strip_prefix(source);
        version.is_some_and(|version| version.is_empty() || version.starts_with(['@', '=', '[']))
    };
    let holders = store.holders().unwrap_or_default();
    let known: Vec<String> =
        holders.iter().filter(|(_, source)| of(source)).map(|(name, _)| name.to_string()).collect();
    let hint = match known.is_empty() {
        true => unknown.hint.to_owned(),
        false => format!("it is mounted as {}: give that name", known.join(" and ")),
    };
    Failure::new(
        Code::NotMounted,
        format!("no server is mounted as {}", Shown::new(word)),
        "a mounted server goes by its name here, of a-z, 0-9 and `-`",
        hint,
    )
}

/// The sealed image of a pin, without the network.
pub async fn image(host: &Host, pin: &Pin) -> Result<Option<Image>, Failure> {
    let engine = host.engine().await?;
    let known = LocalFacts::load(host.home(), pin.name())?.image.map(ImageId::new);
    Ok(Image::find(engine.as_ref(), pin, &host.ours()?, known.as_ref()).await?)
}

/// Starts the server of a pin.
///
/// `listen` gets each line of its standard error, safe to draw. From here on `out` says nothing of its credentials.
pub async fn start(
    host: &Host,
    out: &Out,
    pin: &Pin,
    image: &Image,
    given: Given,
    command: &'static str,
    listen: impl Fn(&Shown) + Send + Sync + 'static,
) -> Result<Live, Failure> {
    let engine: Arc<dyn Engine> = host.engine().await?;
    if let Some(launch) = host.launch() {
        let event =
            AuditEvent::Launch { name: pin.name(), plan: pin.plan().digest(), launch: launch.id(), command };
        Audit::of(host.home()).record(&event)?;
    }
    let mut around = host.surroundings(pin.plan())?;
    // what a trial writes is nobody's
    if command == TRIAL {
        around.keep = None;
    } else {
        around.second_names = LocalFacts::load(host.home(), pin.name())?.second_names;
    }
    let started = server::start(engine, image, pin, given, &around, host.resolver()).await?;
    let Server { cage, running, egress, folders, mask } = started;
    out.without(Arc::clone(&mask));
    let words = LastWords::without(Arc::clone(&mask));
    tokio::spawn(hearing::hear(running.stderr, words.clone(), Arc::clone(&mask), listen));
    Ok(Live {
        input: running.stdin,
        output: running.stdout,
        handle: running.handle,
        words,
        egress,
        folders,
        mask,
        cage,
    })
}

/// Everything from a pin to a running server, for commands that need it mounted and sealed.
pub async fn start_mounted(
    host: &Host,
    out: &Out,
    pin: &Pin,
    command: &'static str,
    listen: impl Fn(&Shown) + Send + Sync + 'static,
) -> Result<Live, Failure> {
    // before the engine is asked: a missing credential is the user's to fix, whatever the engine's state
    let given = Given::gather(host.home(), pin.plan()).await?;
    let image = sealed(host, pin).await?;
    let live = start(host, out, pin, &image, given, command, listen).await?;
    remember(host, pin, &image, Some(&live.folders))?;
    Ok(live)
}

/// Notes which image is this pin's, so that the next start need not search; and what the folders are like that it is
/// started with, none where it is agreed to anew.
pub fn remember(host: &Host, pin: &Pin, image: &Image, folders: Option<&Folders>) -> Result<(), Failure> {
    let facts = LocalFacts {
        image: Some(image.id().as_str().to_owned()),
        tree: Some(image.tree()),
        last_run: Some(Timestamp::now()),
        second_names: folders.map(|folders| folders.second_names().cloned().collect()),
    };
    Ok(facts.save(host.home(), pin.name())?)
}

/// That no held file of a pin's folders came by a second name since its last start: for a look at a mounted server,
/// which starts it as a trial does.
pub fn no_new_second_name(host: &Host, pin: &Pin) -> Result<(), Failure> {
    let Some(before) = LocalFacts::load(host.home(), pin.name())?.second_names else { return Ok(()) };
    let plan = pin.plan();
    let folders = Folders::judge_again(plan.mounts(), plan.user(), &host.grounds());
    folders.and_then(|folders| folders.no_new_second_name(&before)).map_err(FolderRefused::at_a_start)
}

/// The sealed image of a pin, which must be there.
pub async fn sealed(host: &Host, pin: &Pin) -> Result<Image, Failure> {
    image(host, pin).await?.ok_or_else(|| no_image(pin))
}

fn no_image(pin: &Pin) -> Failure {
    Failure::new(
        Code::NotMounted,
        format!("{} is not installed on this host", pin.name()),
        "its sealed image is not in the container engine; it was removed there, or the engine is another",
        format!("mount it again as it was mounted: `{}`", command_for(pin.plan(), "mount", &[])),
    )
}

/// What a session with the server of a pin allows, whichever command asks.
///
/// A pin that does not say yet what its server shows has it noted down: see [`Policy::sightings`].
pub fn policy(pin: &Pin, mask: &Arc<Mask>, opener_timeout: Duration) -> Policy {
    Policy {
        server: pin.name().to_string(),
        sampling: false,
        elicitation: false,
        opener_timeout,
        ending: ENDING,
        gatekeeper: Arc::new(ScreenOnly),
        sightings: pin.surface().is_none().then(|| Sightings::without(Arc::clone(mask))),
    }
}

/// How the server ended, once it has, with its last words.
pub async fn end(mut handle: Handle, words: LastWords, folders: Arc<Folders>) -> ServerEnd {
    let exit = tokio::select! {
        exit = handle.exit() => exit,
        never = glances(&folders) => match never {},
    };
    // init ends a cage whose mounts are no longer those it began with
    let how = match (&exit, folders.changes().replaced.first()) {
        (Err(_), Some(path)) => format!(
            "its cage was ended: {path} was replaced on this machine, and would no longer have been read-only to it"
        ),
        _ => in_words(exit),
    };
    ServerEnd { how, last_words: words.lines().await }
}

/// Looks at a server's folders again and again.
async fn glances(folders: &Arc<Folders>) -> std::convert::Infallible {
    let mut time = tokio::time::interval(GLANCE);
    time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        time.tick().await;
        let folders = Arc::clone(folders);
        // on a thread of its own: a folder may be on a disk that does not answer
        let _ = tokio::task::spawn_blocking(move || folders.glance()).await;
    }
}

/// A server that failed, in words: how it ended and what it said.
pub async fn failed(
    host: &Host,
    pin: &Pin,
    what: impl std::fmt::Display,
    why: impl std::fmt::Display,
    words: &LastWords,
) -> Failure {
    let said = words.lines().await;
    let hint = advice::on_failure(host, pin, &said);
    Failure::new(Code::ServerFailed, what, why, hint).with_last_words(said)
}

/// How a server ended, in words that follow "it ended: ".
pub fn in_words(exit: Result<Exit, crate::cage::link::LinkError>) -> String {
    match exit {
        Ok(Exit::Code(code)) => format!("exit status {code}"),
        Ok(Exit::Signal(9)) => "killed (signal 9); a server over its memory limit ends like this".to_owned(),
        Ok(Exit::Signal(signal)) => format!("signal {signal}"),
        Err(error) => error.to_string(),
    }
}
