//! What do many measurements say?

use std::time::Duration;

/// Durations of one kind, in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one.
    pub fn add(&mut self, took: Duration) {
        self.0.push(took.as_secs_f64() * 1e3);
    }

    /// The value that this part of them does not exceed (nearest rank); not a number if there are none.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (part * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    /// The middle one.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The least: what the machine does when nothing disturbs it.
    pub fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    /// All of them, in the order taken.
    pub fn all(&self) -> &[f64] {
        &self.0
    }
}
