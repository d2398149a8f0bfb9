//! What does a wheel's file name say, and which Python can install it?
//!
//! `NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl`, where each of the last three may be several joined by dots. A
//! wheel fits if one of its tags is one that CPython of that minor has on Linux with this machine's processor.
//!
//! Sources: PEP 427, "File name convention"; PEP 425, compatibility tags; PEP 600, manylinux. The cage's own
//! installer has the last word on what fits; here it is judged which version is worth trying, and refused early what
//! cannot be installed.

use super::python::{PypiName, PypiVersion, PythonMinor};

/// The longest file name.
const NAME_BYTES: usize = 255;
/// How many tags of one kind a name may join.
const TAGS: usize = 32;
/// The minor version of the oldest glibc 2 among the runtime images' (Debian 12).
const GLIBC: u32 = 36;

/// A wheel, by its file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    name: PypiName,
    version: PypiVersion,
    pythons: Vec<String>,
    abis: Vec<String>,
    platforms: Vec<String>,
}

/// The text is no wheel's file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a wheel's file name is `NAME-VERSION-PYTHON-ABI-PLATFORM.whl` (PEP 427)")]
pub struct NotAWheelName;

impl WheelName {
    /// The package.
    pub fn name(&self) -> &PypiName {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &PypiVersion {
        &self.version
    }

    /// Whether CPython of this minor can install it, on Linux with glibc and a processor by Rust's name for it.
    pub fn fits(&self, python: PythonMinor, architecture: &str) -> bool {
        self.platforms.iter().any(|platform| is_platform(platform, architecture))
            && self.pythons.iter().any(|tag| self.abis.iter().any(|abi| is_python(tag, abi, python)))
    }

    /// The tags as the name has them, for an error.
    pub fn tags(&self) -> String {
        format!("{}-{}-{}", self.pythons.join("."), self.abis.join("."), self.platforms.join("."))
    }
}

impl std::str::FromStr for WheelName {
    type Err = NotAWheelName;

    fn from_str(text: &str) -> Result<Self, NotAWheelName> {
        let stem = text.strip_suffix(".whl").filter(|stem| stem.len() <= NAME_BYTES).ok_or(NotAWheelName)?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (name, version, tags) = match parts.as_slice() {
            [name, version, tags @ ..] if tags.len() == 3 => (name, version, tags),
            // A build number begins with a digit.
            [name, version, build, tags @ ..]
                if tags.len() == 3 && build.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                (name, version, tags)
            }
            _ => return Err(NotAWheelName),
        };
        let set = |text: &str| -> Result<Vec<String>, NotAWheelName> {
            let tags: Vec<String> = text.split('.').map(str::to_ascii_lowercase).collect();
            let plain =
                |tag: &String| !tag.is_empty() && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if tags.len() <= TAGS && tags.iter().all(plain) { Ok(tags) } else { Err(NotAWheelName) }
        };
        Ok(Self {
            name: name.parse().map_err(|_| NotAWheelName)?,
            // An underscore stands for the dash that is not allowed here.
            version: version.replace('_', "-").parse().map_err(|_| NotAWheelName)?,
            pythons: set(tags[0])?,
            abis: set(tags[1])?,
            platforms: set(tags[2])?,
        })
    }
}

/// Source: PEP 425, "Use"; PEP 384 for `abi3`, which every later CPython 3 has too.
fn is_python(tag: &str, abi: &str, python: PythonMinor) -> bool {
    let minor = python.number();
    let of = |prefix: &str| tag.strip_prefix(prefix).and_then(|rest| rest.parse::<u8>().ok());
    if tag == "py3" || of("py3").is_some_and(|wanted| wanted <= minor) {
        return abi == "none";
    }
    let Some(wanted) = of("cp3") else { return false };
    match abi {
        "abi3" => wanted <= minor,
        "none" => wanted == minor,
        _ => wanted == minor && abi == format!("cp3{minor}"),
    }
}

fn is_platform(platform: &str, architecture: &str) -> bool {
    if platform == "any" {
        return true;
    }
    let Some(system) = platform.strip_suffix(architecture).and_then(|rest| rest.strip_suffix('_')) else {
        return false;
    };
    match system {
        "linux" | "manylinux1" | "manylinux2010" | "manylinux2014" => true,
        _ => system
            .strip_prefix("manylinux_2_")
            .and_then(|glibc| glibc.parse::<u32>().ok())
            .is_some_and(|glibc| glibc <= GLIBC),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wheel(text: &str) -> WheelName {
        text.parse().unwrap()
    }

    fn fits(tags: &str, minor: u8, architecture: &str) -> bool {
        wheel(&format!("a-1-{tags}.whl")).fits(PythonMinor::of_3(minor), architecture)
    }

    #[test]
    fn reads_a_name() {
        let one = wheel("Mcp_Server.time-2026.8.18-py3-none-any.whl");
        assert_eq!(
            (one.name().as_str(), one.version().to_string().as_str()),
            ("mcp-server-time", "2026.8.18")
        );
        assert_eq!(one.tags(), "py3-none-any");
        assert_eq!(wheel("a-1.0-1build-py3-none-any.whl").version().to_string(), "1.0");
        assert_eq!(wheel("a-1.0_1-py3-none-any.whl").version().to_string(), "1.0.post1");
    }

    #[test]
    fn refuses_what_is_no_wheels_name() {
        for bad in [
            "",
            ".whl",
            "a.whl",
            "a-1.whl",
            "a-1-py3-none.whl",
            "a-1-py3-none-any.zip",
            "a-1-py3-none-any.WHL",
            "a-1-x-py3-none-any.whl",
            "a-1-2-3-py3-none-any.whl",
            "-1-py3-none-any.whl",
            "a--py3-none-any.whl",
            "a-latest-py3-none-any.whl",
            "a/b-1-py3-none-any.whl",
            "../a-1-py3-none-any.whl",
            "a-1-py3-none-.whl",
            "a-1-py3-none-a;b.whl",
            "a-1-py3-none-any\n.whl",
            "a b-1-py3-none-any.whl",
            &format!("a-1-{}-none-any.whl", "p.".repeat(40)),
            &format!("{}-1-py3-none-any.whl", "a".repeat(300)),
        ] {
            assert_eq!(bad.parse::<WheelName>(), Err(NotAWheelName), "{bad:?}");
        }
    }

    #[test]
    fn fits_what_a_python_installs_and_not_its_neighbours() {
        for (tags, minors) in [
            ("py3-none-any", &[11, 13][..]),
            ("py2.py3-none-any", &[11, 13]),
            ("py312-none-any", &[13]),
            ("py2-none-any", &[]),
            ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", &[11]),
            ("cp313-cp313-manylinux_2_28_x86_64", &[13]),
            ("cp313-cp313t-manylinux_2_28_x86_64", &[]),
            ("cp39-abi3-manylinux_2_34_x86_64", &[11, 13]),
            ("cp312-abi3-linux_x86_64", &[13]),
            ("cp311-none-any", &[11]),
            ("cp311-cp311-manylinux_2_39_x86_64", &[]),
            ("cp311-cp311-musllinux_1_2_x86_64", &[]),
            ("cp311-cp311-macosx_11_0_arm64", &[]),
            ("cp311-cp311-win_amd64", &[]),
            ("cp311-cp311-manylinux2014_aarch64", &[]),
            ("py3-none-manylinux1_x86_64", &[11, 13]),
            ("pp311-pypy311_pp73-manylinux2014_x86_64", &[]),
            ("py3-abi3-any", &[]),
        ] {
            for minor in [11, 13] {
                assert_eq!(fits(tags, minor, "x86_64"), minors.contains(&minor), "{tags} on 3.{minor}");
            }
        }
        assert!(fits("cp311-cp311-manylinux2014_aarch64", 11, "aarch64"));
        assert!(!fits("cp311-cp311-manylinux2014_x86_64", 11, "aarch64"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}|[a-z0-9_.-]{0,30}\\.whl") {
            if let Ok(wheel) = text.parse::<WheelName>() {
                let _ = wheel.fits(PythonMinor::of_3(13), "x86_64");
            }
        }
    }
}
