//! How long does the screen take over honest tools?
//!
//! Every benign tool of the development corpus, parsed before the clock runs. Budget: 20 ms for all of them. What
//! compiling the rules takes is told apart: once a process, when the first surface is seen.

use std::hint::black_box;
use std::time::Instant;

use pinfold::screen::{Kind, Screen};
use serde_json::{Value, json};

use crate::Outcome;
use crate::report::{Budget, Report, Row};
use crate::samples::Samples;

const CORPUS: &str = include_str!("../../../tests/corpus/dev.jsonl");
const PASSES: usize = 30;

/// Measures it in this process.
pub fn measure(report: &mut Report) -> Outcome<()> {
    let mut tools = Vec::new();
    for line in CORPUS.lines().filter(|line| !line.trim().is_empty()) {
        let mut case: Value = serde_json::from_str(line)?;
        if case["label"] == "benign" {
            tools.push(case["tool"].take());
        }
    }
    let begun = Instant::now();
    let screen = Screen::shared();
    let mut compile = Samples::default();
    compile.add(begun.elapsed());

    let mut passes = Samples::default();
    for _ in 0..PASSES {
        let begun = Instant::now();
        for tool in &tools {
            black_box(screen.item(Kind::Tool, black_box(tool)));
        }
        passes.add(begun.elapsed());
    }
    report.row(Row {
        what: format!("screening {} honest tools", tools.len()),
        ours: format!("{:.1} ms", passes.median()),
        compared: format!("least {:.1} ms, first {:.1} ms", passes.min(), passes.all()[0]),
        value: passes.median(),
        unit: "ms",
        budget: Budget::AtMost(20.0),
    });
    report.row(Row {
        what: "compiling the screen's rules, once a process".into(),
        ours: format!("{:.1} ms", compile.median()),
        compared: String::new(),
        value: compile.median(),
        unit: "ms",
        budget: Budget::None,
    });
    report.samples("screening_ms", json!(passes.all()));
    Ok(())
}
