//! How large do the launcher and init become?

use std::fs;

use crate::Outcome;
use crate::client::Session;
use crate::engine::Engine;
use crate::mounts::Mounts;
use crate::report::{Budget, Report, Row};

/// Reads both while a session is open.
pub fn measure(report: &mut Report, mounts: &Mounts, engine: &Engine, session: &Session) -> Outcome<()> {
    let cages = engine.cages(mounts.state())?;
    let [cage] = &cages[..] else { return Err(format!("one cage was expected, not {}", cages.len()).into()) };
    let processes = [("launcher", session.id(), 25.0), ("init", engine.init(cage)?, 4.0)];
    for (name, id, most) in processes {
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let (now, peak) = (mib(&status, "VmRSS:")?, mib(&status, "VmHWM:")?);
        report.row(Row {
            what: format!("resident memory of the {name}, after large results").replace("the init", "init"),
            ours: format!("{now:.1} MiB"),
            compared: format!("at most so far: {peak:.1} MiB"),
            value: now,
            unit: "MiB",
            budget: Budget::AtMost(most),
        });
    }
    Ok(())
}

/// A field of /proc/PID/status in MiB. Source: proc(5), which gives them in kB of 1,024 bytes.
fn mib(status: &str, field: &str) -> Outcome<f64> {
    let line = status.lines().find(|line| line.starts_with(field)).ok_or("the process is gone")?;
    let kib: f64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kib / 1024.0)
}
