//! Which version, and which Python?
//!
//! The newest version that the spec admits and that can be installed: no prerelease unless one is asked for or there
//! is nothing else, not taken back, with a wheel for this machine, for a Python that there is. Of the Pythons that
//! will do it is the newest. Versions that are newer and were passed over are told, each with its reason, and where
//! nothing is left that is the error.
//!
//! Source: the uv documentation, "Resolution" (pre-releases), and PEP 592, where an installer is to ignore a file that
//! was taken back. uv still installs one that is named exactly; here it is refused with the reason that was given.

use std::env::consts::ARCH;

use super::page::{File, Page, Requires};
use super::{Ask, CarriedPython};
use crate::source::SourceError;
use crate::source::python::{PypiVersion, PythonMinor};
use crate::source::wheel_name::WheelName;
use crate::text::Shown;

/// How many versions an error or a card tells of.
const TOLD: usize = 5;

pub(super) struct Choice {
    pub(super) version: PypiVersion,
    pub(super) python: PythonMinor,
    /// Whether it has to be built.
    pub(super) build: bool,
    /// Newer versions, and why they were not chosen.
    pub(super) passed_over: Vec<Shown>,
}

/// Why a version is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedOver {
    /// It is a prerelease, and none was asked for.
    Prerelease,
    /// It was taken back, for this reason.
    Yanked(Shown),
    /// It has a source distribution and no wheel.
    NoWheel,
    /// It has neither.
    NoFile,
    /// Its wheels are for other systems.
    OtherSystems(Shown),
    /// It needs another Python.
    OtherPython(Shown),
    /// The Python that was asked for will not do; others would.
    NotThatPython(PythonMinor),
}

impl std::fmt::Display for PassedOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prerelease => f.write_str("it is a prerelease"),
            Self::Yanked(reason) => write!(f, "it was taken back by its publisher: {reason}"),
            Self::NoWheel => f.write_str("it has no wheel, only a source distribution"),
            Self::NoFile => f.write_str("it has no file that can be installed"),
            Self::OtherSystems(tags) => write!(f, "its wheels are for other systems ({tags})"),
            Self::OtherPython(needs) => write!(f, "it needs Python {needs}"),
            Self::NotThatPython(python) => write!(f, "it cannot be installed for Python {python}"),
        }
    }
}

/// Refuses a Python that there is none of.
pub(in crate::source) fn carries(
    carried: &[CarriedPython],
    asked: Option<PythonMinor>,
) -> Result<(), SourceError> {
    match asked {
        Some(asked) if !carried.iter().any(|python| python.minor() == asked) => {
            Err(SourceError::PythonMissing { asked, carried: minors(carried) })
        }
        _ => Ok(()),
    }
}

/// The minor versions there are, each once, in order.
pub(in crate::source) fn minors(carried: &[CarriedPython]) -> Vec<PythonMinor> {
    let mut minors: Vec<PythonMinor> = carried.iter().map(CarriedPython::minor).collect();
    minors.sort_unstable();
    minors.dedup();
    minors
}

pub(super) fn choose(page: &Page<'_>, ask: &Ask<'_>) -> Result<Choice, SourceError> {
    let is_prerelease = |version: &PypiVersion| version.as_version().any_prerelease();
    let prereleases =
        ask.spec.names_a_prerelease() || page.versions().all(|(version, _)| is_prerelease(version));
    let mut passed: Vec<(&PypiVersion, PassedOver)> = Vec::new();
    for (version, files) in page.versions().filter(|(version, _)| ask.spec.admits(version)) {
        let verdict = match is_prerelease(version) && !prereleases {
            true => Err(PassedOver::Prerelease),
            false => python_for(files, ask),
        };
        match verdict {
            Ok((python, build)) => {
                let worth_telling = |(_, why): &&(&PypiVersion, PassedOver)| *why != PassedOver::Prerelease;
                let told = passed.iter().filter(worth_telling).take(TOLD);
                let passed_over =
                    told.map(|(version, why)| Shown::new(&format!("{version}: {why}"))).collect();
                return Ok(Choice { version: version.clone(), python, build, passed_over });
            }
            Err(why) => passed.push((version, why)),
        }
    }
    let package = Shown::new(&ask.spec.to_string());
    let Some((version, why)) = passed.first() else {
        let newest =
            page.versions().take(TOLD).map(|(version, _)| Shown::new(&version.to_string())).collect();
        return Err(SourceError::UnknownVersion { package, newest });
    };
    Err(SourceError::NotInstallable {
        package,
        version: (*version).clone(),
        why: why.clone(),
        others: passed.len() - 1,
        carried: minors(ask.carried),
    })
}

/// The newest Python that one of a version's files can be installed for, and whether it has to be built. A wheel that
/// fits goes before a source distribution, since nothing of it runs before the server does.
fn python_for(files: &[File<'_>], ask: &Ask<'_>) -> Result<(PythonMinor, bool), PassedOver> {
    let current: Vec<&File<'_>> = files.iter().filter(|file| file.yanked.is_none()).collect();
    if current.is_empty() {
        let reason = files.iter().find_map(|file| file.yanked.clone());
        return Err(reason.map_or(PassedOver::NoFile, PassedOver::Yanked));
    }
    let offered = |source: bool| -> Vec<Offered<'_>> {
        let kind = current.iter().filter(|file| file.wheel.is_none() == source);
        kind.map(|file| Offered { wheel: file.wheel.as_ref(), requires: &file.requires }).collect()
    };
    let (wheels, sources) = (offered(false), offered(true));
    let by_wheel = match wheels.is_empty() {
        true => Err(PassedOver::NoWheel),
        false => newest(&wheels, ask.carried, ask.python),
    };
    match by_wheel {
        Ok(python) => Ok((python, false)),
        Err(_) if ask.build && !sources.is_empty() => {
            newest(&sources, ask.carried, ask.python).map(|python| (python, true))
        }
        Err(why) => Err(why),
    }
}

/// A file, as far as it says which Python can install it.
pub(in crate::source) struct Offered<'a> {
    /// The wheel it is; none for a source distribution, which is built for whatever is there.
    pub(in crate::source) wheel: Option<&'a WheelName>,
    pub(in crate::source) requires: &'a Requires,
}

/// The newest of the Pythons, or the one that was asked for, that one of these files can be installed for.
pub(in crate::source) fn newest(
    files: &[Offered<'_>],
    carried: &[CarriedPython],
    asked: Option<PythonMinor>,
) -> Result<PythonMinor, PassedOver> {
    let fits = |file: &Offered<'_>, python: &CarriedPython| {
        file.wheel.is_none_or(|wheel| wheel.fits(python.minor(), ARCH))
    };
    let good = |python: &&CarriedPython| {
        files.iter().any(|file| fits(file, python) && file.requires.admits(python.version()))
    };
    let found: Option<PythonMinor> = carried
        .iter()
        .filter(good)
        .map(CarriedPython::minor)
        .filter(|minor| asked.is_none_or(|a| a == *minor))
        .max();
    if let Some(python) = found {
        return Ok(python);
    }
    if let Some(asked) = asked.filter(|_| carried.iter().any(|python| good(&python))) {
        return Err(PassedOver::NotThatPython(asked));
    }
    let of_this_system: Vec<_> =
        files.iter().filter(|file| carried.iter().any(|python| fits(file, python))).collect();
    // Where the tags of some file fit, it is its word on Python that speaks against it.
    match of_this_system.iter().find_map(|file| file.requires.shown()) {
        Some(needs) => Err(PassedOver::OtherPython(needs)),
        None => {
            let mut tags: Vec<String> =
                files.iter().filter_map(|file| file.wheel).map(WheelName::tags).collect();
            let more = tags.len().saturating_sub(3);
            tags.truncate(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(PassedOver::OtherSystems(Shown::new(&format!("{}{more}", tags.join(", ")))))
        }
    }
}
