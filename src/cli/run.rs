//! `pinfold run`: be the server to an AI client.
//!
//! The client wrote this command into its config and expects a server: so whatever fails is answered in the
//! protocol, and standard output carries nothing else.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::advice;
use super::egress::conclude;
use super::first_seen;
use super::folders::report_changes;
use super::host::Host;
use super::mount::word;
use super::out::{self, Out};
use super::start::{self, Live};
use super::stdio;
use super::stop::{Opened, Stop};
use crate::cage::egress::Keeper;
use crate::failure::{Code, Failure};
use crate::pin::Pin;
use crate::proxy::{self, Event, Left, Sightings, Streams, opener};
use crate::secret::Mask;
use crate::state::{Audit, AuditEvent};

/// How long a server may take to answer its client's opener.
const OPENER: Duration = Duration::from_secs(60);
/// Events that wait to be told; more are counted only.
const EVENTS: usize = 256;
/// Characters of a line that is no message which are told.
const NOISE: usize = 200;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
}

pub async fn run(args: &Args, opened: &Opened, stop: &mut Stop, out: &Out) -> Result<ExitCode, Failure> {
    let serving = async {
        let starting = prepare(&args.name, opened, out).await;
        match starting {
            Ok(ready) => Ok(ready),
            Err(failure) => {
                // this one answers on standard output whatever fails, the state directory included
                opener::refuse(stdio::input(), stdio::output(), &failure).await;
                Err(failure)
            }
        }
    };
    let (host, pin, live) = tokio::select! {
        ready = serving => ready?,
        status = stop.told() => return Ok(status),
    };

    let Live { input, output, handle, words, egress, folders, mask, cage } = live;
    let (tell, mut told_of) = mpsc::channel(EVENTS);
    let streams = Streams {
        from_client: stdio::input(),
        to_client: stdio::output(),
        from_server: output,
        to_server: input,
    };
    let policy = start::policy(&pin, &mask, OPENER);
    let sightings = policy.sightings.clone();
    // on a thread of its own: a slow disk is nothing the session should wait for
    let keep_first_seen = async || {
        let Some(seen) = sightings.as_ref().and_then(Sightings::seen) else { return };
        let (host, shown) = (Arc::clone(&host), pin.clone());
        let save = move || first_seen::save(&host, &shown, first_seen::sighted(&seen));
        if let Ok(saved) = tokio::task::spawn_blocking(save).await {
            first_seen::tell(out, &pin, saved);
        }
    };
    let ended = start::end(handle, words.clone(), Arc::clone(&folders));
    let session = proxy::session(streams, policy, tell, ended, stdio::input_gone());
    let narrate = async {
        while let Some(event) = told_of.recv().await {
            narrate(out, &host, &pin, &mask, &event);
            if event == Event::Sighted {
                keep_first_seen().await;
            }
        }
    };
    let keeper = Keeper::new(host.home(), pin.plan(), Arc::clone(&egress));
    let outcome = tokio::select! {
        // the channel closes with the session, so both end
        (ending, ()) = async { tokio::join!(session, narrate) } => Ok(ending),
        status = stop.told() => Err(status),
        never = keeper.go_on() => match never {},
    };
    keep_first_seen().await;
    conclude(out, &pin, &keeper, &egress.tally());
    report_changes(out, &pin, &folders);
    // one that ended is told with its failure
    if !matches!(&outcome, Ok(ending) if matches!(ending.left, Left::Server(_)))
        && let Some(advice) = advice::on_read_only(pin.plan(), &words.lines().await)
    {
        out.warn(format!("{}: {advice}", pin.name()));
    }
    cage.end().await?;
    match outcome {
        Err(status) => Ok(status),
        Ok(ending) => match ending.left {
            Left::Client | Left::ClientBroke => Ok(ExitCode::SUCCESS),
            Left::Server(end) => {
                let what = format!("{} ended while its client was there", pin.name());
                Err(start::failed(&host, &pin, what, end.how, &words).await)
            }
        },
    }
}

/// Everything up to a running server.
async fn prepare(name: &str, opened: &Opened, out: &Out) -> Result<(Arc<Host>, Pin, Live), Failure> {
    let host = super::open(opened)?;
    let pin = start::pin(&host, name, &start::NOT_STARTED)?;
    // what earlier launches left is nothing this start has to wait for
    let sweeper = Arc::clone(&host);
    host.engine().await?;
    tokio::spawn(async move { sweeper.sweep().await });
    let live = start::start_mounted(&host, out, &pin, "run", out::server_line).await?;
    Ok((host, pin, live))
}

fn narrate(out: &Out, host: &Host, pin: &Pin, mask: &Mask, event: &Event) {
    let name = pin.name();
    let warn = |text: String| out.warn(text);
    match event {
        Event::Refused { kind, name: item, verdict } => {
            let rules: Vec<&str> = verdict.hits().iter().map(|hit| hit.rule()).collect();
            // a server's instructions, and what it says of itself, have no name
            let item = if item.is_empty() { String::new() } else { format!(" `{item}`") };
            warn(format!(
                "{name}: refused by the screen, and withheld: {}{item} ({}); `pinfold tools {name}` shows why",
                word(*kind),
                rules.join(", ")
            ));
            let refusal = AuditEvent::Refusal { name: Some(name), code: Code::ScreenRefused };
            if let Err(error) = Audit::of(host.home()).record(&refusal) {
                warn(format!("the audit log could not be written: {error}"));
            }
        }
        Event::Held { kind, name: item } => {
            let item = if item.is_empty() { String::new() } else { format!(" `{item}`") };
            warn(format!("{name}: held back: {}{item}", word(*kind)))
        }
        Event::CallRefused { name: item, .. } => {
            warn(format!("{name}: a call of `{item}` was refused; `pinfold tools {name}` shows why"));
        }
        Event::Withheld { what, .. } => warn(format!("{name}: a text in {what} was withheld by the screen")),
        Event::Unusable { .. } => {
            warn(format!("{name}: an item without a usable name was left out of a list"))
        }
        Event::LookUpFailed { .. } => {
            warn(format!("{name}: its list could not be read to check a call by, so the call was refused"))
        }
        Event::Denied(denied) => {
            warn(format!("{name}: it asked for {}, which no caged server is given", denied.what()))
        }
        Event::OpenerTimedOut => warn(format!("{name}: no answer to the opener in {} s", OPENER.as_secs())),
        Event::Noise(line) => {
            // cut when its credentials are out: half of one would not be found
            let line = line.to_string();
            let start: String = mask.hide(&line).unwrap_or(line).chars().take(NOISE).collect();
            warn(format!("{name}: not a message, left out of its output: {start}"));
        }
        // told when it is kept
        Event::Sighted => {}
        Event::Dropped(why) => warn(format!("{name}: a message was dropped: {why}")),
    }
}
