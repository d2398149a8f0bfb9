//! Is mounting again what is pinned and sealed free of the network?
//!
//! The same command a second time, in a network namespace that holds nothing but a loopback which is down: whatever
//! it does, it does without a network. What it starts is counted at the engine's door. Budget: one start.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::Outcome;
use crate::door::{Door, What};
use crate::engine::Engine;
use crate::mounts::Mounts;
use crate::report::{Budget, Report, Row};
use crate::samples::Samples;

const TIMES: usize = 5;

/// Measures it.
pub fn measure(report: &mut Report, mounts: &Mounts, engine: &Engine) -> Outcome<()> {
    let door = Door::open(mounts.work(), engine.socket())?;
    let cut_off = Command::new("unshare").args(["-rn", "true"]).status().is_ok_and(|status| status.success());
    let (mut took, mut most) = (Samples::default(), 0);
    for _ in 0..TIMES {
        let server = &mounts.everything;
        let inner = mounts.pinfold();
        let mut command = if cut_off {
            let mut outer = Command::new("unshare");
            outer.arg("-rn").arg(inner.get_program());
            outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            outer
        } else {
            inner
        };
        command.args(["mount", "--json", server.spec(), "--consent", server.digest()]);
        command.env("DOCKER_HOST", door.address()).stdin(Stdio::null());
        let begun = Instant::now();
        let ended = command.output()?;
        took.add(begun.elapsed());
        if !ended.status.success() {
            return Err(format!("mounting again failed: {}", String::from_utf8_lossy(&ended.stderr)).into());
        }
        let start = |seen: &&crate::door::Seen| seen.what == What::Asked("POST /containers/ID/start".into());
        most = most.max(door.take().iter().filter(start).count());
    }
    report.row(Row {
        what: "mounting again, cages started".into(),
        ours: format!("{:.0} ms", took.median()),
        compared: if cut_off { "with no network there" } else { "network not cut off" }.into(),
        value: most as f64,
        unit: "",
        budget: Budget::AtMost(1.0),
    });
    if !cut_off {
        report.note(
            "this user may not make network namespaces: that mounting again needs no network was not checked",
        );
    }
    report.samples("mount_again_ms", json!(took.all()));
    Ok(())
}
