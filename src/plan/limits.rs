//! How much of this machine may one server use?
//!
//! Each limit has a default that suits a small server, and bounds: below them nothing starts, above them the
//! limit no longer protects anything. Kept as whole numbers, so a plan's digest never hangs on a rounding.

use std::fmt;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

/// One limit: its name on the command line, its default and its bounds, in its own unit.
struct Bound {
    name: &'static str,
    default: u64,
    least: u64,
    most: u64,
}

// Least: what Node needs to start at all, measured in a cage; most: where a typing error is likelier than a need.
const MEMORY: Bound = Bound { name: "memory", default: 512 * MIB, least: 64 * MIB, most: 64 * 1024 * MIB };
const PIDS: Bound = Bound { name: "pids", default: 256, least: 16, most: 32_768 };
const MILLI_CPUS: Bound = Bound { name: "cpus", default: 2_000, least: 100, most: 256_000 };
const NOFILE: Bound = Bound { name: "nofile", default: 1_024, least: 64, most: 1_048_576 };

/// A limit that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {why}")]
pub struct LimitRefused {
    name: &'static str,
    why: String,
}

/// The limits of a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LimitsFile", deny_unknown_fields)]
pub struct Limits {
    memory: u64,
    pids: u32,
    milli_cpus: u32,
    nofile: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    memory: u64,
    pids: u64,
    milli_cpus: u64,
    nofile: u64,
}

impl Limits {
    /// Bytes of memory; swap included, so nothing is swapped out instead.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Processes and threads.
    pub fn pids(&self) -> u32 {
        self.pids
    }

    /// Thousandths of one CPU.
    pub fn milli_cpus(&self) -> u32 {
        self.milli_cpus
    }

    /// Open files per process.
    pub fn nofile(&self) -> u32 {
        self.nofile
    }
}

impl Default for Limits {
    fn default() -> Self {
        LimitsAsked::default().or(&LimitsAsked::default())
    }
}

impl TryFrom<LimitsFile> for Limits {
    type Error = LimitRefused;

    fn try_from(file: LimitsFile) -> Result<Self, LimitRefused> {
        Ok(Self {
            memory: MEMORY.check(file.memory)?,
            pids: PIDS.check32(file.pids)?,
            milli_cpus: MILLI_CPUS.check32(file.milli_cpus)?,
            nofile: NOFILE.check32(file.nofile)?,
        })
    }
}

/// Limits somebody set, each possibly not: on a command line, or in `config.toml`. Checked already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "AskedFile")]
pub struct LimitsAsked {
    memory: Option<u64>,
    pids: Option<u32>,
    milli_cpus: Option<u32>,
    nofile: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedFile {
    memory: Option<String>,
    pids: Option<u64>,
    cpus: Option<f64>,
    nofile: Option<u64>,
}

impl TryFrom<AskedFile> for LimitsAsked {
    type Error = LimitRefused;

    fn try_from(file: AskedFile) -> Result<Self, LimitRefused> {
        let mut asked = Self::default();
        if let Some(memory) = file.memory {
            asked = asked.memory(&memory)?;
        }
        if let Some(pids) = file.pids {
            asked = asked.pids(pids)?;
        }
        if let Some(cpus) = file.cpus {
            asked = asked.cpus(&cpus.to_string())?;
        }
        if let Some(nofile) = file.nofile {
            asked = asked.nofile(nofile)?;
        }
        Ok(asked)
    }
}

impl LimitsAsked {
    /// Sets memory from text: whole bytes, or a whole number and `k`, `m` or `g` (powers of 1,024).
    ///
    /// # Errors
    /// [`LimitRefused`] for another spelling, or outside 64 MiB to 64 GiB.
    pub fn memory(mut self, text: &str) -> Result<Self, LimitRefused> {
        let lower = text.to_ascii_lowercase();
        let (number, unit) = match lower.as_bytes().last() {
            Some(b'k') => (&lower[..lower.len() - 1], 1024),
            Some(b'm') => (&lower[..lower.len() - 1], MIB),
            Some(b'g') => (&lower[..lower.len() - 1], 1024 * MIB),
            _ => (&lower[..], 1),
        };
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let bytes = number.parse::<u64>().ok().filter(|_| digits).and_then(|n| n.checked_mul(unit));
        let bytes = bytes.ok_or_else(|| MEMORY.refuse("is written like 512m or 1g"))?;
        self.memory = Some(MEMORY.check(bytes)?);
        Ok(self)
    }

    /// Sets the number of processes and threads.
    ///
    /// # Errors
    /// [`LimitRefused`] outside 16 to 32,768.
    pub fn pids(mut self, pids: u64) -> Result<Self, LimitRefused> {
        self.pids = Some(PIDS.check32(pids)?);
        Ok(self)
    }

    /// Sets the CPUs from text: a decimal number with at most three places.
    ///
    /// # Errors
    /// [`LimitRefused`] for another spelling, or outside 0.1 to 256.
    pub fn cpus(mut self, text: &str) -> Result<Self, LimitRefused> {
        let refuse = || MILLI_CPUS.refuse("is written like 2 or 0.5");
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(places) || places.len() > 3 || whole.len() > 6 {
            return Err(refuse());
        }
        let milli = format!("{whole}{places:0<3}").parse::<u64>().map_err(|_| refuse())?;
        self.milli_cpus = Some(MILLI_CPUS.check32(milli)?);
        Ok(self)
    }

    /// Sets the number of open files per process.
    ///
    /// # Errors
    /// [`LimitRefused`] outside 64 to 1,048,576.
    pub fn nofile(mut self, nofile: u64) -> Result<Self, LimitRefused> {
        self.nofile = Some(NOFILE.check32(nofile)?);
        Ok(self)
    }

    /// The limits: what is set here, else in `behind`, else the default.
    #[must_use]
    pub fn or(&self, behind: &Self) -> Limits {
        let of = |bound: &Bound| u32::try_from(bound.default).unwrap_or(u32::MAX);
        Limits {
            memory: self.memory.or(behind.memory).unwrap_or(MEMORY.default),
            pids: self.pids.or(behind.pids).unwrap_or(of(&PIDS)),
            milli_cpus: self.milli_cpus.or(behind.milli_cpus).unwrap_or(of(&MILLI_CPUS)),
            nofile: self.nofile.or(behind.nofile).unwrap_or(of(&NOFILE)),
        }
    }
}

impl Bound {
    fn refuse(&self, why: &str) -> LimitRefused {
        LimitRefused { name: self.name, why: why.to_owned() }
    }

    fn check(&self, value: u64) -> Result<u64, LimitRefused> {
        if value < self.least || value > self.most {
            let (least, most) = (self.in_words(self.least), self.in_words(self.most));
            return Err(self.refuse(&format!("is {}, not between {least} and {most}", self.in_words(value))));
        }
        Ok(value)
    }

    fn check32(&self, value: u64) -> Result<u32, LimitRefused> {
        let value = self.check(value)?;
        u32::try_from(value).map_err(|_| self.refuse("is too large"))
    }

    fn in_words(&self, value: u64) -> String {
        match self.name {
            "memory" => mebibytes(value),
            "cpus" => cpus(value),
            _ => value.to_string(),
        }
    }
}

fn mebibytes(bytes: u64) -> String {
    if bytes.is_multiple_of(MIB) { format!("{} MiB", bytes / MIB) } else { format!("{bytes} bytes") }
}

fn cpus(milli: u64) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} memory and no swap, {} processes, {} CPUs, {} open files",
            mebibytes(self.memory),
            self.pids,
            cpus(self.milli_cpus.into()),
            self.nofile
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_documented() {
        let text = Limits::default().to_string();
        assert_eq!(text, "512 MiB memory and no swap, 256 processes, 2 CPUs, 1024 open files");
    }

    #[test]
    fn accepts_the_bounds_and_refuses_just_outside_them() {
        let none = LimitsAsked::default();
        for good in ["64m", "64g", "67108864", "1G", "65536k"] {
            assert!(none.memory(good).is_ok(), "{good}");
        }
        for bad in
            ["67108863", "65g", "1t", "1.5g", "", "g", "+64m", "-1", " 64m", "99999999999999999999g", "64mb"]
        {
            assert!(none.memory(bad).is_err(), "{bad}");
        }
        for (good, milli) in [("0.1", 100), ("2", 2000), ("1.25", 1250), ("256", 256_000)] {
            assert_eq!(none.cpus(good).unwrap().milli_cpus, Some(milli));
        }
        for bad in ["0.09", "256.001", "1e3", "", ".", "1.", ".5", "-1", "NaN", "1.2345"] {
            assert!(none.cpus(bad).is_err(), "{bad}");
        }
        assert!(none.pids(16).is_ok() && none.pids(15).is_err());
        assert!(none.pids(32_768).is_ok() && none.pids(32_769).is_err());
        assert!(none.nofile(64).is_ok() && none.nofile(63).is_err());
        assert!(none.nofile(1_048_576).is_ok() && none.nofile(u64::MAX).is_err());
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_over_the_default() {
        let (line, file) =
            (LimitsAsked::default().pids(20).unwrap(), LimitsAsked::default().pids(30).unwrap());
        let file = file.nofile(99).unwrap();
        let limits = line.or(&file);
        assert_eq!((limits.pids(), limits.nofile(), limits.memory()), (20, 99, 512 * MIB));
    }

    #[test]
    fn limits_read_back_the_same_and_are_checked_again() {
        let text = serde_json::to_string(&Limits::default()).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), Limits::default());
        assert!(serde_json::from_str::<Limits>(&text.replace("256", "0")).is_err());
    }
}
