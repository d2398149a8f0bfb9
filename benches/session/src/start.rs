//! How long from a client's config to a server that answers?
//!
//! Budget: at most 0.75 of `npx -y` of the same version with a warm cache, from the start of the process to the
//! answer to `initialize`; and the launcher's own part, from its start to the first byte it sends to the engine, at
//! most 30 ms.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::bare::{Bare, Node};
use crate::client::Session;
use crate::door::{Door, Seen, What};
use crate::engine::Engine;
use crate::mounts::Mounts;
use crate::report::{Budget, Report, Row};
use crate::samples::Samples;

/// Caged starts against npx, one of each in turn.
pub fn measure(report: &mut Report, mounts: &Mounts, bare: &Bare, rounds: usize) -> Outcome<()> {
    bare.warm(mounts)?;
    let (mut caged, mut host, mut image, mut alone) =
        (Samples::default(), Samples::default(), Samples::default(), Samples::default());
    for _ in 0..rounds {
        let mut session = Session::spawn(mounts.run(&mounts.everything), mounts.work())?;
        caged.add(session.initialize()?);
        session.terminate()?;
        for (samples, node) in [(&mut host, Node::Host), (&mut image, Node::Image)] {
            let Some(command) = bare.npx(node) else { continue };
            let mut session = Session::spawn(command, mounts.work())?;
            samples.add(session.initialize()?);
            session.kill()?;
        }
        let mut session = Session::spawn(bare.everything(mounts), mounts.work())?;
        alone.add(session.initialize()?);
        session.kill()?;
    }
    let ours = format!("{:.0} ms", caged.median());
    let budget = Budget::AtMost(0.75);
    for (samples, npx) in [(&host, "npx -y, warm"), (&image, "npx -y, warm, the cage's Node")] {
        if samples.all().is_empty() {
            report.note(format!("there is no npx on this machine: nothing to compare with as {npx}"));
            continue;
        }
        report.row(Row {
            what: "start to first answer".into(),
            ours: ours.clone(),
            compared: format!("{npx}: {:.0} ms", samples.median()),
            value: caged.median() / samples.median(),
            unit: "",
            budget,
        });
    }
    report.row(Row {
        what: "added to the server's own start".into(),
        ours,
        compared: format!("node alone: {:.0} ms", alone.median()),
        value: caged.median() - alone.median(),
        unit: "ms",
        budget: Budget::None,
    });
    report.samples(
        "start_ms",
        json!({"caged": caged.all(), "npx": host.all(), "npx_same_node": image.all(), "node": alone.all()}),
    );
    Ok(())
}

/// Caged starts of the Python server against uvx, one of each in turn.
pub fn python(report: &mut Report, mounts: &Mounts, bare: &Bare, rounds: usize) -> Outcome<()> {
    let (mut caged, mut uvx) = (Samples::default(), Samples::default());
    // the first fills uvx's cache, the second the bytecode beside what it unpacked
    for _ in 0..2 {
        let Some(command) = bare.uvx(mounts) else { break };
        let mut session = Session::spawn(command, mounts.work())?;
        session.initialize()?;
        session.kill()?;
    }
    for _ in 0..rounds {
        let mut session = Session::spawn(mounts.run(&mounts.python), mounts.work())?;
        caged.add(session.initialize()?);
        session.terminate()?;
        let Some(command) = bare.uvx(mounts) else { continue };
        let mut session = Session::spawn(command, mounts.work())?;
        uvx.add(session.initialize()?);
        session.kill()?;
    }
    report.samples("python_start_ms", json!({"caged": caged.all(), "uvx": uvx.all()}));
    if uvx.all().is_empty() {
        report.note("there is no uvx on this machine: nothing to compare the Python server's start with");
        return Ok(());
    }
    report.row(Row {
        what: "start to first answer, Python".into(),
        ours: format!("{:.0} ms", caged.median()),
        compared: format!("uvx, warm: {:.0} ms", uvx.median()),
        value: caged.median() / uvx.median(),
        unit: "",
        budget: Budget::AtMost(0.75),
    });
    Ok(())
}

/// Caged starts through a door before the engine: the launcher's own time, and where the rest goes.
pub fn timeline(report: &mut Report, mounts: &Mounts, engine: &Engine, rounds: usize) -> Outcome<()> {
    let door = Door::open(mounts.work(), engine.socket())?;
    let mut own = Samples::default();
    let mut steps: Vec<(String, Samples)> = Vec::new();
    for _ in 0..rounds {
        let mut command = mounts.run(&mounts.everything);
        command.env("DOCKER_HOST", door.address());
        let mut session = Session::spawn(command, mounts.work())?;
        let begun = session.spawned();
        let took = session.initialize()?;
        let seen = door.take();
        session.terminate()?;
        door.take();
        let first = seen.first().ok_or("the launcher did not come by the door")?;
        own.add(first.at - begun);
        for (step, at) in named(&seen, begun).into_iter().chain([("the server's answer".to_owned(), took)]) {
            let known = steps.iter().position(|(known, _)| *known == step).unwrap_or_else(|| {
                steps.push((step, Samples::default()));
                steps.len() - 1
            });
            steps[known].1.add(at);
        }
    }
    report.row(Row {
        what: "launcher's own time before the engine is asked".into(),
        ours: format!("{:.1} ms", own.median()),
        compared: format!("least {:.1} ms", own.min()),
        value: own.median(),
        unit: "ms",
        budget: Budget::AtMost(30.0),
    });
    steps.sort_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()));
    let told: Vec<String> =
        steps.iter().map(|(step, samples)| format!("{:7.1} ms  {step}", samples.median())).collect();
    report.note(format!(
        "where a start goes (medians since its spawn, seen at the engine's door):\n  {}\n",
        told.join("\n  ")
    ));
    let told: Map<String, Value> =
        steps.into_iter().map(|(step, samples)| (step, samples.all().into())).collect();
    report.samples("start_steps_ms", told);
    report.samples("own_ms", own.all());
    Ok(())
}

/// What came by, with a name for each and when it was.
fn named(seen: &[Seen], begun: Instant) -> Vec<(String, Duration)> {
    let name = |what: &What| match what {
        What::Asked(request) => format!("{request}: asked"),
        What::Answered(request) => format!("{request}: answered"),
        What::LinkOut => "the launcher's first word on the link".into(),
        What::LinkIn => "init's first word on the link".into(),
    };
    let mut named: Vec<(String, Duration)> = Vec::new();
    for seen in seen {
        let name = name(&seen.what);
        // asked twice, the first time is the one that a start waits for
        if named.iter().all(|(known, _)| *known != name) {
            named.push((name, seen.at - begun));
        }
    }
    named
}
