//! `pinfold call`: one call from the shell, as an AI client would make it.
//!
//! Through the same session an AI client gets, so a tool that is refused there is refused here.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::advice;
use super::egress::conclude;
use super::first_seen;
use super::folders::report_changes;
use super::host::Host;
use super::out::Out;
use super::start::{self, Live};
use super::trial;
use crate::cage::egress::Keeper;
use crate::failure::{Code, Failure};
use crate::pin::Pin;
use crate::proxy::{self, Era, Left, Peer, PeerError, Streams};
use crate::text::Shown;

/// How long the tool may take. Longer than any client waits.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the news of a server's end may take.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Bytes between the two ends of the session, each way.
const BUFFER: usize = 256 * 1024;
/// Lines of an error that are looked at for advice.
const LINES: usize = 200;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
    /// The tool
    tool: String,
    /// Its arguments, a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let arguments = read(&args.arguments)?;
    let pin = start::pin(host, &args.name, &start::NOT_STARTED)?;
    host.sweep().await?;
    for era in Era::ALL {
        match call(host, out, &pin, era, &args.tool, &arguments).await? {
            Called::Result(result) => return Ok(report(out, &pin, &result)),
            Called::OtherEra => {}
        }
    }
    Err(trial::no_era(pin.name()))
}

fn read(text: &str) -> Result<Value, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::new(
            Code::Usage,
            "the tool's arguments are not a JSON object",
            why,
            "write them like '{\"message\":\"hello\"}', in single quotes for the shell",
        )
    };
    let value = crate::screen::strict::parse(text.as_bytes()).map_err(|error| refused(&error))?;
    if value.is_object() { Ok(value) } else { Err(refused(&"it is some other kind of JSON value")) }
}

enum Called {
    Result(Value),
    OtherEra,
}

async fn call(
    host: &Host,
    out: &Out,
    pin: &Pin,
    era: Era,
    tool: &str,
    arguments: &Value,
) -> Result<Called, Failure> {
    let verbose = out.is_verbose();
    let listen = move |line: &Shown| {
        if verbose {
            super::out::server_line(line);
        }
    };
    let live = start::start_mounted(host, out, pin, "call", listen).await?;
    let Live { input, output, handle, words, egress, folders, cage, mask } = live;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_client, to_client) = tokio::io::split(theirs);
    let (reader, writer) = tokio::io::split(ours);
    let streams = Streams { from_client, to_client, from_server: output, to_server: input };
    let policy = start::policy(pin, &mask, PATIENCE);
    let sightings = policy.sightings.clone();
    let (tell, _told) = mpsc::channel(1);
    let ended = start::end(handle, words.clone(), Arc::clone(&folders));
    let asking = async {
        let (mut peer, _) = Peer::open(reader, writer, era, era.narrowest(), PATIENCE).await?;
        peer.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    };
    let session = proxy::session(streams, policy, tell, ended, std::future::pending());
    tokio::pin!(session);
    let mut left = None;
    let asked = tokio::select! {
        asked = asking => asked,
        ending = &mut session => {
            left = Some(ending.left);
            Err(PeerError::Ended { method: "tools/call".into() })
        }
    };
    // a server that is gone is heard of at its output first, and why a moment later
    if left.is_none() && matches!(asked, Err(PeerError::Ended { .. } | PeerError::Io(_))) {
        left = tokio::time::timeout(LAST_WORDS, session).await.ok().map(|ending| ending.left);
    }
    // a part of it would stand for the whole from then on
    if let Some(seen) = sightings.and_then(|sightings| sightings.seen()).filter(|seen| seen.all) {
        first_seen::tell(out, pin, first_seen::save(host, pin, first_seen::sighted(&seen)));
    }
    let keeper = Keeper::new(host.home(), pin.plan(), Arc::clone(&egress));
    conclude(out, pin, &keeper, &egress.tally());
    report_changes(out, pin, &folders);
    let outcome = match asked.map_err(|error| error.without(&mask)) {
        Ok(result) => Ok(Called::Result(result)),
        Err(error) if error.is_other_era() => Ok(Called::OtherEra),
        Err(error @ PeerError::Refused { .. }) => Err(Failure::new(
            Code::CallFailed,
            format!("{} did not run {}", pin.name(), Shown::new(tool)),
            error,
            format!("`pinfold tools {}` lists its tools and what the screen says", pin.name()),
        )),
        Err(error) => {
            let what = format!("{} failed during the call", pin.name());
            let how = match left {
                Some(Left::Server(end)) => format!("it ended: {}", end.how),
                _ => error.to_string(),
            };
            Err(start::failed(host, pin, what, how, &words).await)
        }
    };
    cage.end().await?;
    outcome
}

/// The result as it came; its texts alone for a person.
fn report(out: &Out, pin: &Pin, result: &Value) -> ExitCode {
    if out.is_json() {
        out.document(result);
    } else {
        let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for block in blocks {
            match block.get("text").and_then(Value::as_str) {
                Some(text) => Shown::lines(text).iter().for_each(|line| out.line(line)),
                None => out.line(format!(
                    "({} content; `--json` shows it)",
                    block.get("type").and_then(Value::as_str).unwrap_or("unknown")
                )),
            }
        }
        if blocks.is_empty() {
            out.note("the tool returned no content; `--json` shows the whole result");
        }
    }
    if result.get("isError") == Some(&Value::Bool(true)) {
        // outside the text, which stays as it came
        let texts = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts = texts.filter_map(|block| block.get("text").and_then(Value::as_str));
        let said: Vec<Shown> = texts.flat_map(Shown::lines).take(LINES).collect();
        if let Some(advice) = advice::on_read_only(pin.plan(), &said) {
            out.warn(format!("{}: {advice}", pin.name()));
        }
        return ExitCode::from(Code::CallFailed.exit());
    }
    ExitCode::SUCCESS
}
