//! `pinfold egress`: what may a server reach, what did it reach, and what did it try in vain?
//!
//! What was denied comes with the command that would allow it: that of a new plan, to be shown and consented to like
//! any other. The same words end every command that started the server.

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::host::Host;
use super::out::{Out, counted};
use super::start;
use crate::cage::egress::{History, Keeper, Remedy, Tally, Tried};
use crate::consent;
use crate::failure::Failure;
use crate::pin::Pin;
use crate::plan::Plan;

/// Names that are told one by one; a server can make up as many as it likes.
const TOLD: usize = 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
}

pub fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = start::pin(host, &args.name, &start::NOTHING_THERE)?;
    let plan = pin.plan();
    let mut history = History::load(host.home(), plan)?;
    // what an earlier plan denied and this one allows is no news
    history.denied.retain(|one| !allows(plan, one));
    if out.is_json() {
        out.document(&document(plan, &history));
    } else {
        draw(out, plan, &history);
    }
    Ok(ExitCode::SUCCESS)
}

fn document(plan: &Plan, history: &History) -> Value {
    let tried = |all: &[Tried]| -> Vec<Value> {
        let one = |one: &Tried| {
            json!({
                "name": one.name(),
                "port": one.port,
                "why": one.why(),
                "times": one.times,
                "last": one.last,
            })
        };
        all.iter().map(one).collect()
    };
    let reached = history.reached.iter();
    let reached = reached
        .map(|one| json!({"name": one.name(), "port": one.port, "times": one.times, "last": one.last}));
    let mut denied = tried(&history.denied);
    for (one, known) in denied.iter_mut().zip(&history.denied) {
        one["allow"] = known.remedy.as_ref().map(|remedy| allowing(plan, remedy)).into();
    }
    json!({
        "name": plan.name(),
        "egress": plan.egress(),
        "egress_private": plan.egress_private(),
        "reached": reached.collect::<Vec<_>>(),
        "denied": denied,
        "failed": tried(&history.failed),
    })
}

fn draw(out: &Out, plan: &Plan, history: &History) {
    let name = plan.name();
    if plan.has_way_out() {
        out.line(format!("{name} may reach"));
        plan.egress().iter().for_each(|rule| out.line(format!("  {rule}")));
        for way in plan.egress_private() {
            let place = if way.is_this_machine() { "this machine" } else { "your own network" };
            out.line(format!("  {way} ({place})"));
        }
    } else {
        out.line(format!("{name} may reach no host at all"));
    }
    let often = |times: u64, last: Timestamp| {
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        format!("{}, last {}", counted(times, "time"), last.strftime("%Y-%m-%d %H:%M UTC"))
    };
    if !history.reached.is_empty() {
        out.line("it was connected to");
        for one in &history.reached {
            out.line(format!("  {}:{} ({})", one.name(), one.port, often(one.times, one.last)));
        }
    }
    let host = |one: &Tried| match one.port {
        Some(port) => format!("{}:{port}", one.name()),
        None => one.name().to_string(),
    };
    if !history.failed.is_empty() {
        out.line("it may reach, and could not be connected to");
        for one in &history.failed {
            out.line(format!("  {} ({}): {}", host(one), often(one.times, one.last), one.why()));
        }
    }
    if history.denied.is_empty() {
        out.line("nothing was tried and denied so far");
        return;
    }
    out.line("it tried in vain");
    let mut told = Vec::new();
    for one in &history.denied {
        out.line(format!("  {} ({}): {}", host(one), often(one.times, one.last), one.why()));
        // a name that was looked up and then tried on a port is there twice, and allowed once
        if let Some(remedy) = one.remedy.as_ref().filter(|remedy| !told.contains(remedy)) {
            out.line(format!("    to allow it: {}", allowing(plan, remedy)));
            told.push(remedy);
        }
    }
}

/// Whether a plan allows now what was denied then.
fn allows(plan: &Plan, tried: &Tried) -> bool {
    let name = tried.name().to_string();
    let on = |port: u16| tried.port.is_none_or(|tried| tried == port);
    let by_rule = |rule: String| {
        if rule == "public" {
            // which never opens what only the other option does
            return (on(80) || on(443)) && matches!(tried.remedy, Some(Remedy::Public(_)));
        }
        let Some((host, port)) = rule.rsplit_once(':') else { return false };
        let holds = match host.strip_prefix('*') {
            Some(below) => name.ends_with(below) && name.len() > below.len(),
            None => name == host,
        };
        holds && port.parse().is_ok_and(on)
    };
    let ways = plan.egress().iter().map(ToString::to_string);
    ways.chain(plan.egress_private().iter().map(ToString::to_string)).any(by_rule)
}

/// The command that draws the same plan with one more way out.
fn allowing(plan: &Plan, remedy: &Remedy) -> String {
    let [option, value] = remedy.words();
    consent::command_for(plan, "mount", &[&option, &value])
}

/// Says what a server tried in vain, and writes it down with what it reached, at the end of a command that had it
/// running.
pub fn conclude(out: &Out, pin: &Pin, keeper: &Keeper, tally: &Tally) {
    report(out, pin, tally);
    if let Err(error) = keeper.save() {
        out.warn(format!("{}: what it reached could not be written down: {error}", pin.name()));
    }
}

/// Says what a server tried in vain while a command had it running, and what would allow it.
pub fn report(out: &Out, pin: &Pin, tally: &Tally) {
    let name = pin.name();
    for failed in tally.failed().take(TOLD) {
        out.warn(format!(
            "{name}: {}:{} is open to it and could not be connected to ({})",
            failed.name, failed.port, failed.why
        ));
    }
    for denied in tally.denied().take(TOLD) {
        let remedy = match &denied.remedy {
            Some(remedy) => format!("; to allow it, mount the server again with `{remedy}`"),
            None => String::new(),
        };
        let port = denied.port.map(|port| format!(":{port}")).unwrap_or_default();
        out.warn(format!("{name}: {}{port} was out of reach ({}){remedy}", denied.name, denied.why));
    }
    let more = tally.denied().count().saturating_sub(TOLD) + tally.failed().count().saturating_sub(TOLD);
    let more = u64::try_from(more).unwrap_or(u64::MAX).saturating_add(tally.forgotten());
    if more > 0 {
        out.warn(format!("{name}: {more} more names were out of reach"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{draft, lock};
    use crate::plan::{Draft, PrivateWay};

    fn tried(name: &str, port: Option<u16>, remedy: [&str; 2]) -> Tried {
        serde_json::from_value(json!({
            "name": name, "port": port, "why": "not listed", "remedy": remedy, "times": 1,
            "last": "2026-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn what_the_plan_allows_by_now_is_not_suggested_any_more() {
        let lock = lock();
        let plan = |egress: &[&str], private: &[&str]| {
            Plan::draw(Draft {
                egress: egress.iter().map(|rule| rule.parse().unwrap()).collect(),
                egress_private: private.iter().map(|way| PrivateWay::typed(way).unwrap()).collect(),
                ..draft(&lock)
            })
            .unwrap()
        };
        let public = |name, port| tried(name, port, ["--egress", "a.example:443"]);
        let private = |port| tried("localhost", port, ["--egress-private", "localhost:5432"]);
        for (plan, tried, allowed) in [
            (plan(&["a.example"], &[]), public("a.example", None), true),
            (plan(&["a.example"], &[]), public("a.example", Some(443)), true),
            (plan(&["a.example"], &[]), public("a.example", Some(80)), false),
            (plan(&["a.example"], &[]), public("b.a.example", None), false),
            (plan(&["*.example.com"], &[]), public("a.example.com", None), true),
            (plan(&["*.example.com"], &[]), public("example.com", None), false),
            (plan(&["public"], &[]), public("a.example", Some(443)), true),
            (plan(&["public"], &[]), public("a.example", Some(8443)), false),
            (plan(&["public"], &[]), private(None), false),
            (plan(&[], &["localhost:5432"]), private(Some(5432)), true),
            (plan(&[], &["localhost:5432"]), private(Some(5433)), false),
            (plan(&[], &[]), public("a.example", None), false),
        ] {
            assert_eq!(allows(&plan, &tried), allowed, "{:?} {tried:?}", plan.egress());
        }
    }
}
