//! How much slower do large results come, and what do they leave behind?
//!
//! Results of 1 MiB of text, one request after the other, each read as a client reads it: to the newline, parsed,
//! its text decoded. Budget: at least 0.7 of the bare server's throughput. Afterwards the launcher may be 25 MiB
//! large and init 4 MiB, in resident memory.

use serde_json::json;

use crate::bare::Bare;
use crate::client::Session;
use crate::engine::Engine;
use crate::mounts::Mounts;
use crate::report::{Budget, Report, Row};
use crate::samples::Samples;
use crate::{Outcome, memory};

/// Bytes of text in a result.
const SIZE: usize = 1024 * 1024;
/// Results in one turn.
const BLOCK: usize = 10;
/// Requests of a client that does not wait.
const AT_ONCE: usize = 4;

/// Measures both sides.
pub fn measure(
    report: &mut Report,
    mounts: &Mounts,
    bare: &Bare,
    engine: &Engine,
    results: usize,
) -> Outcome<()> {
    let mut caged = Session::spawn(mounts.run(&mounts.big), mounts.work())?;
    let mut alone = Session::spawn(bare.big(mounts), mounts.work())?;
    for session in [&mut caged, &mut alone] {
        session.initialize()?;
        session.list()?;
        one_by_one(session, &mut Samples::default())?;
    }
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let (mut ours_at_once, mut theirs_at_once) = (Samples::default(), Samples::default());
    for _ in 0..results.div_ceil(BLOCK) {
        one_by_one(&mut caged, &mut ours)?;
        one_by_one(&mut alone, &mut theirs)?;
        ours_at_once.add(caged.call_at_once("bulk", &json!({"bytes": SIZE}), AT_ONCE)?);
        theirs_at_once.add(alone.call_at_once("bulk", &json!({"bytes": SIZE}), AT_ONCE)?);
    }
    memory::measure(report, mounts, engine, &caged)?;
    caged.terminate()?;
    alone.kill()?;

    let mib = (SIZE / (1024 * 1024)) as f64;
    let rate = |samples: &Samples, results: usize| mib * results as f64 * 1e3 / samples.median();
    let budget = Budget::AtLeast(0.7);
    let sides = [
        ("results of 1 MiB, one by one".to_owned(), &ours, &theirs, 1, budget),
        (
            format!("results of 1 MiB, {AT_ONCE} at once"),
            &ours_at_once,
            &theirs_at_once,
            AT_ONCE,
            Budget::None,
        ),
    ];
    for (what, ours, theirs, results, budget) in sides {
        let (ours, theirs) = (rate(ours, results), rate(theirs, results));
        report.row(Row {
            what,
            ours: format!("{ours:.0} MiB/s"),
            compared: format!("bare over pipes: {theirs:.0} MiB/s"),
            value: ours / theirs,
            unit: "",
            budget,
        });
    }
    report.samples("result_ms", json!({"caged": ours.all(), "bare": theirs.all()}));
    report.samples("results_at_once_ms", json!({"caged": ours_at_once.all(), "bare": theirs_at_once.all()}));
    Ok(())
}

fn one_by_one(session: &mut Session, samples: &mut Samples) -> Outcome<()> {
    for _ in 0..BLOCK {
        let (took, text) = session.call("bulk", &json!({"bytes": SIZE}))?;
        if text.len() != SIZE {
            return Err(format!("asked for {SIZE} bytes and got {}", text.len()).into());
        }
        samples.add(took);
    }
    Ok(())
}
