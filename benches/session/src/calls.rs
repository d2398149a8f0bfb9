//! What does a small call cost more?
//!
//! `echo` of the npm package, one call after the other, in blocks that take turns. Budget for what the cage adds:
//! 0.5 ms to the median, 5 ms to the 99th percentile.

use std::time::Duration;

use serde_json::json;

use crate::Outcome;
use crate::bare::Bare;
use crate::client::Session;
use crate::mounts::Mounts;
use crate::report::{Budget, Report, Row};
use crate::samples::Samples;

/// Calls in one turn.
const BLOCK: usize = 50;

/// Measures both sides.
pub fn measure(report: &mut Report, mounts: &Mounts, bare: &Bare, calls: usize) -> Outcome<()> {
    let mut caged = open(Session::spawn(mounts.run(&mounts.everything), mounts.work())?)?;
    let mut alone = open(Session::spawn(bare.everything(mounts), mounts.work())?)?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for block in 0..calls.div_ceil(BLOCK) {
        for index in 0..BLOCK {
            ours.add(echo(&mut caged, block * BLOCK + index)?);
        }
        for index in 0..BLOCK {
            theirs.add(echo(&mut alone, block * BLOCK + index)?);
        }
    }
    caged.terminate()?;
    alone.kill()?;
    for (name, part, most) in [("p50", 0.5, 0.5), ("p99", 0.99, 5.0)] {
        report.row(Row {
            what: format!("a small call, {name}"),
            ours: format!("{:.2} ms", ours.quantile(part)),
            compared: format!("bare over pipes: {:.2} ms", theirs.quantile(part)),
            value: ours.quantile(part) - theirs.quantile(part),
            unit: "ms",
            budget: Budget::AtMost(most),
        });
    }
    report.samples("call_ms", json!({"caged": ours.all(), "bare": theirs.all()}));
    Ok(())
}

/// A session with the list read, as a client does, and both sides' compilers warm.
fn open(mut session: Session) -> Outcome<Session> {
    session.initialize()?;
    session.list()?;
    for index in 0..2 * BLOCK {
        echo(&mut session, index)?;
    }
    Ok(session)
}

fn echo(session: &mut Session, index: usize) -> Outcome<Duration> {
    let message = format!("message {index}");
    let (took, text) = session.call("echo", &json!({"message": message}))?;
    if text.contains(&message) { Ok(took) } else { Err(format!("echo gave back `{text}`").into()) }
}
