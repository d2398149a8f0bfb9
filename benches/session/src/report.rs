//! What was measured, and does it hold?

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::Outcome;

/// How a figure is judged.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Told, not judged.
    None,
}

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// Our figure.
    pub ours: String,
    /// What it is held against, with its figure.
    pub compared: String,
    /// What is judged: a ratio, a difference, or our figure itself.
    pub value: f64,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// How it is judged.
    pub budget: Budget,
}

impl Row {
    fn within(&self) -> Option<bool> {
        match self.budget {
            Budget::AtMost(most) => Some(self.value <= most),
            Budget::AtLeast(least) => Some(self.value >= least),
            Budget::None => None,
        }
    }

    fn cells(&self) -> [String; 6] {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let number = |value: f64| {
            let digits = if value.fract() == 0.0 { 0 } else { 2 };
            format!("{value:.digits$}")
        };
        let budget = match self.budget {
            Budget::AtMost(most) => format!("≤ {most}{unit}"),
            Budget::AtLeast(least) => format!("≥ {least}{unit}"),
            Budget::None => String::new(),
        };
        let verdict = match self.within() {
            Some(true) => "ok",
            Some(false) => "over",
            None => "",
        };
        let value = format!("{}{unit}", number(self.value));
        [self.what.clone(), self.ours.clone(), self.compared.clone(), value, budget, verdict.to_owned()]
    }
}

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    facts: Map<String, Value>,
    rows: Vec<Row>,
    samples: Map<String, Value>,
    notes: Vec<String>,
}

impl Report {
    /// A report about this machine.
    pub fn new(facts: Map<String, Value>) -> Self {
        Self { facts, rows: Vec::new(), samples: Map::new(), notes: Vec::new() }
    }

    /// Adds a fact about the machine.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.into(), value.into());
    }

    /// Adds a line.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Keeps figures that a line was made of.
    pub fn samples(&mut self, name: &str, value: impl Into<Value>) {
        self.samples.insert(name.into(), value.into());
    }

    /// Adds a remark under the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Whether no budget is passed.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.within() != Some(false))
    }

    /// Writes it as JSON.
    pub fn write(&self, to: &Path) -> Outcome<()> {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let budget = match row.budget {
                    Budget::AtMost(most) => json!({"at_most": most}),
                    Budget::AtLeast(least) => json!({"at_least": least}),
                    Budget::None => Value::Null,
                };
                json!({
                    "what": row.what, "ours": row.ours, "compared": row.compared, "value": row.value,
                    "unit": row.unit, "budget": budget, "within": row.within(),
                })
            })
            .collect();
        let all = json!({
            "machine": self.facts, "rows": rows, "samples": self.samples, "notes": self.notes,
        });
        Ok(fs::write(to, serde_json::to_string_pretty(&all)? + "\n")?)
    }

    /// Prints it for a person.
    pub fn print(&self, json: &Path) {
        let titles = ["what", "ours", "compared with", "measured", "budget", ""].map(str::to_owned);
        let lines: Vec<[String; 6]> =
            std::iter::once(titles).chain(self.rows.iter().map(Row::cells)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        for (index, line) in lines.iter().enumerate() {
            let cells: Vec<String> =
                line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            println!("{}", cells.join("  ").trim_end());
            if index == 0 {
                println!("{}", widths.map(|width| "─".repeat(width)).join("  "));
            }
        }
        println!();
        for note in &self.notes {
            println!("{note}");
        }
        for (name, value) in &self.facts {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            println!("{name}: {value}");
        }
        println!("all figures: {}", json.display());
    }
}
