//! `pinfold doctor`: what does this host enforce, and what is missing?
//!
//! Not from what the engine claims alone: a cage is opened, and init reports from inside.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::host::Host;
use super::out::Out;
use crate::cage::docker;
use crate::cage::egress::Egress;
use crate::cage::engine::{About, Engine, EngineError, Labels};
use crate::cage::lacking::{self, Lacking};
use crate::cage::profile::Profile;
use crate::cage::{Cage, CageError};
use crate::failure::Failure;
use crate::install::runtime::{Recipe, Runtime};
use crate::plan::{LimitsAsked, User};
use crate::source::Registry;
use crate::text::Shown;

/// What the cage does not do, for whoever reads the report.
const NOT_PROMISED: [&str; 3] = [
    "a flaw in the kernel or the engine: a runtime such as gVisor (runsc) or Kata narrows it",
    "words that no rule of the screen knows: it is a filter, the cage is the boundary",
    "a host that you opened with --egress being used badly",
];

pub async fn run(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let mut findings = Findings {
        engine: None,
        looked: docker::places(),
        lacking: Vec::new(),
        runtimes: Vec::new(),
        cage: None,
        registry: None,
        index: None,
        failures: Vec::new(),
    };
    match host.engine().await {
        Ok(engine) => match engine.about().await {
            Ok(about) => {
                findings.lacking.clone_from(&about.lacking);
                findings.engine = Some(about);
            }
            Err(error) => findings.failures.push(error.into()),
        },
        Err(failure) => findings.failures.push(failure),
    }
    if findings.engine.is_some() {
        host.sweep().await?;
        for recipe in Recipe::all() {
            match host.runtime_made(&recipe).await {
                Ok(runtime) => findings.runtimes.push((recipe.name().to_owned(), runtime)),
                Err(failure) => findings.failures.push(failure),
            }
        }
        match host.registries_known().await {
            Ok(registries) => findings.registry = registries.map(|known| told(known.main())),
            Err(failure) => findings.failures.push(failure),
        }
        match host.index_known().await {
            Ok(index) => findings.index = index.map(|known| told(known.registry())),
            Err(failure) => findings.failures.push(failure),
        }
    }
    // one is enough: the profile is the same whatever runs
    if let Some(runtime) = findings.runtimes.iter().find_map(|(_, runtime)| runtime.as_ref()) {
        match try_cage(host, runtime, host.engine().await?).await {
            Ok(()) => findings.cage = Some(true),
            Err(CageError::Engine(EngineError::Weaker { rows })) => {
                findings.cage = Some(false);
                // of what both say, the engine's own word has the reason in it
                for row in rows {
                    if findings.lacking.iter().all(|known| known.setting() != row.setting()) {
                        findings.lacking.push(row);
                    }
                }
            }
            Err(other) => {
                findings.cage = Some(false);
                findings.failures.push(other.into());
            }
        }
    }
    if let Err(weaker) = EngineError::unless_none(findings.lacking.clone()) {
        findings.failures.insert(0, weaker.into());
    }
    if out.is_json() {
        out.document(&findings.document(host))
    } else {
        findings.draw(host, out)
    }
    match findings.failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A registry and where it is set. An address with a credential in it is refused where it is read.
fn told(registry: &Registry) -> String {
    format!("{registry} (from {})", registry.found())
}

/// Opens a run cage of the runtime image: init's report is compared with the profile on the way.
async fn try_cage(host: &Host, runtime: &Runtime, engine: Arc<dyn Engine>) -> Result<(), CageError> {
    let gate = Arc::new(Egress::none(host.resolver()));
    let cage = Cage::open(engine, runtime.image().clone(), profile(), Labels::new(), gate).await?;
    Ok(cage.end().await?)
}

fn profile() -> Profile {
    Profile::run(LimitsAsked::default().or(&LimitsAsked::default()), User::NOBODY)
}

struct Findings {
    engine: Option<About>,
    /// The places an engine was looked for in, and who named each.
    looked: Vec<(String, String)>,
    /// Rows of the profile that are not enforced here.
    lacking: Vec<Lacking>,
    /// Each that there is a recipe for, by its name there, if this host has it.
    runtimes: Vec<(String, Option<Runtime>)>,
    cage: Option<bool>,
    registry: Option<String>,
    index: Option<String>,
    failures: Vec<Failure>,
}

impl Findings {
    fn document(&self, host: &Host) -> Value {
        let engine = self.engine.as_ref().map(|about| {
            json!({
                "name": about.name, "version": about.version, "api": about.api, "address": about.address,
                "architecture": about.architecture, "runtimes": about.runtimes,
                "default_runtime": about.default_runtime, "cgroups": about.cgroups, "security": about.security,
                "rootless": about.rootless,
                "notes": about.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        });
        let looked =
            self.looked.iter().map(|(address, named_by)| json!({"address": address, "named_by": named_by}));
        let lacking = self.lacking.iter().map(
            |row| json!({"setting": row.setting(), "seen": row.seen().to_string(), "remedy": row.remedy()}),
        );
        let profile = profile().rows().into_iter().map(|row| {
            let enforced = self.enforced(row.setting);
            json!({"setting": row.setting, "value": row.value, "why": row.why, "enforced": enforced})
        });
        let told = |runtime: &Runtime| json!({"name": runtime.name(), "version": runtime.version(), "recipe": runtime.recipe()});
        let runtimes = self
            .runtimes
            .iter()
            .map(|(name, runtime)| json!({"runtime": name, "image": runtime.as_ref().map(told)}));
        json!({
            "engine": engine,
            "looked": looked.collect::<Vec<_>>(),
            "lacking": lacking.collect::<Vec<_>>(),
            "runtimes": runtimes.collect::<Vec<_>>(),
            "cage": self.cage,
            "registry": self.registry,
            "index": self.index,
            "profile": profile.collect::<Vec<_>>(),
            "not_promised": NOT_PROMISED,
            "state": host.home().state_dir().display().to_string(),
            "problems": self.failures.iter().map(|f| json!({
                "code": f.code().name(), "message": f.what().to_string(), "why": f.why().to_string(), "hint": f.hint().to_string(),
            })).collect::<Vec<_>>(),
        })
    }

    /// Whether a row of the profile is enforced here; none where no cage showed it.
    fn enforced(&self, setting: &str) -> Option<bool> {
        if self.lacking.iter().any(|row| row.setting() == setting) {
            return Some(false);
        }
        (self.cage == Some(true)).then_some(true)
    }

    fn draw(&self, host: &Host, out: &Out) {
        let row = |label: &str, value: String| out.line(format!("{label:16} {}", Shown::new(&value)));
        match &self.engine {
            Some(about) => {
                row(
                    "engine",
                    format!("{} {} (API {}) at {}", about.name, about.version, about.api, about.address),
                );
                row(
                    "",
                    format!(
                        "{}, control groups v{}, {}",
                        about.architecture,
                        about.cgroups,
                        if about.rootless { "without root" } else { "as root" }
                    ),
                );
                let default = match about.default_runtime.as_str() {
                    "" => String::new(),
                    default => format!("; {default} unless a plan names another"),
                };
                row("engine runtimes", format!("{}{default}", about.runtimes.join(", ")));
                for note in &about.notes {
                    row("", note.to_string());
                }
            }
            None => row("engine", "none".into()),
        }
        let mut label = "looked at";
        for (address, named_by) in &self.looked {
            // of the usual places those behind the one that answers were left out
            row(std::mem::take(&mut label), format!("{address} ({named_by})"));
            if self.engine.as_ref().is_some_and(|about| about.address == *address) {
                break;
            }
        }
        if self.engine.is_some() {
            let mut label = "runtime images";
            for (name, runtime) in &self.runtimes {
                let told = match runtime {
                    Some(runtime) => {
                        format!("{} {} ({})", runtime.name(), runtime.version(), runtime.recipe())
                    }
                    None => format!("no {name} yet; `pinfold images build {name}` makes it"),
                };
                row(std::mem::take(&mut label), told);
            }
        }
        let unknown = |runtime: &str| format!("not known before there is a {runtime} runtime image");
        row("npm registry", self.registry.clone().unwrap_or_else(|| unknown("Node")));
        row("Python index", self.index.clone().unwrap_or_else(|| unknown("Python")));
        row("state", host.home().state_dir().display().to_string());
        row(
            "a cage",
            match self.cage {
                Some(true) => "opened, and its init saw what the profile says".into(),
                Some(false) => "did not open as the profile says: see below".into(),
                None => "not tried".into(),
            },
        );
        if !self.lacking.is_empty() {
            out.line("");
            out.line("not enforced here, so that no server is started:");
            for row in &self.lacking {
                out.line(format!("  {:38} {}", row.setting(), row.seen()));
            }
            for remedy in lacking::remedies(&self.lacking) {
                out.line(format!("  what helps: {remedy}"));
            }
        }
        out.line("");
        out.line("every server runs under (with these limits unless its plan has others):");
        for setting in profile().rows() {
            out.line(format!("  {:38} {:44} {}", setting.setting, setting.value, setting.why));
        }
        out.line("");
        out.line("not promised:");
        for text in NOT_PROMISED {
            out.line(format!("  {text}"));
        }
        out.line("");
    }
}
