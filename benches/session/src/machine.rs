//! What was it measured on?

use std::fs;

use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::engine::Engine;

/// The machine and its engine, as far as they matter to a figure.
pub fn facts(engine: &Engine) -> Outcome<Map<String, Value>> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let (engine, storage) = engine.describe()?;
    let Value::Object(facts) = json!({
        "pinfold": env!("CARGO_PKG_VERSION"),
        "cores": std::thread::available_parallelism()?.get(),
        "processor": field(&read("/proc/cpuinfo"), "model name"),
        "memory": field(&read("/proc/meminfo"), "MemTotal"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "engine": engine,
        "storage": storage,
        "load_at_start": load()?,
    }) else {
        return Err("facts are an object".into());
    };
    Ok(facts)
}

/// The load average over the last minute: next to the number of cores, how far the figures were disturbed.
pub fn load() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
}
