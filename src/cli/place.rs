//! Where does the user of this host live, as a server should know it?
//!
//! The time zone by name and the language, for a server that says `tomorrow` or sorts names. Both are words of the
//! user's environment, so each is held to the form such words have before it is passed on.

use std::fs;

/// Longest name of a time zone; the longest in use has 32 letters.
const LONGEST_ZONE: usize = 64;

/// Longest name of a locale, without what follows its territory.
const LONGEST_LANGUAGE: usize = 32;

/// The time zone by name.
///
/// Source: the forms of TZ and of `/etc/localtime` in tzset(3) and localtime(5); `/etc/timezone` where the latter is a
/// copy instead of a link, as on Debian.
pub fn time_zone() -> Option<String> {
    if let Ok(zone) = std::env::var("TZ") {
        return as_zone(&zone);
    }
    let linked = fs::read_link("/etc/localtime").ok();
    let linked =
        linked.as_deref().and_then(|link| link.to_str()?.split_once("zoneinfo/")).map(|(_, zone)| zone);
    match linked {
        Some(zone) => as_zone(zone),
        None => as_zone(fs::read_to_string("/etc/timezone").ok()?.lines().next()?.trim()),
    }
}

fn as_zone(text: &str) -> Option<String> {
    let zone = text.trim_start_matches(':');
    let plain = !zone.is_empty()
        && zone.len() <= LONGEST_ZONE
        // a path would have the C library read a file of the cage's as a time zone
        && !zone.starts_with('/')
        && !zone.contains("..")
        && zone.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-/,.:".contains(&b));
    plain.then(|| zone.to_owned())
}

/// The user's language as a locale's name, in UTF-8.
///
/// A runtime image has no locale but C.UTF-8. For Node that does not matter: it has every language built in, and takes
/// this one for its default. Programs that ask the C library for it get C instead, without a word.
pub fn language() -> Option<String> {
    // an empty variable counts as none. Source: POSIX.1-2017, XBD 8.2
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    as_language(&set("LC_ALL").or_else(|| set("LANG"))?)
}

/// `de_DE.ISO-8859-1@euro` is the language `de_DE` to a cage, which speaks UTF-8.
fn as_language(locale: &str) -> Option<String> {
    let language = locale.split(['.', '@']).next().unwrap_or_default();
    if matches!(language, "C" | "POSIX") {
        return Some("C.UTF-8".to_owned());
    }
    let plain = language.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    (plain && !language.is_empty() && language.len() <= LONGEST_LANGUAGE).then(|| format!("{language}.UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_names_and_rules_that_a_zone_has() {
        for (text, zone) in [
            ("Europe/Berlin", "Europe/Berlin"),
            (":America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3"),
            ("Etc/GMT+5", "Etc/GMT+5"),
        ] {
            assert_eq!(as_zone(text).as_deref(), Some(zone));
        }
        for bad in ["", ":", "/etc/passwd", ":/etc/passwd", "../x", "a b", "a\nb", "x=y", &"a".repeat(65)] {
            assert_eq!(as_zone(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_language_keeps_its_territory_and_speaks_utf_8() {
        for (locale, language) in [
            ("de_DE.UTF-8", "de_DE.UTF-8"),
            ("de_DE", "de_DE.UTF-8"),
            ("de_DE@euro", "de_DE.UTF-8"),
            ("en_US.ISO-8859-1", "en_US.UTF-8"),
            ("C", "C.UTF-8"),
            ("C.UTF-8", "C.UTF-8"),
            ("POSIX", "C.UTF-8"),
        ] {
            assert_eq!(as_language(locale).as_deref(), Some(language));
        }
        for bad in ["", ".UTF-8", "../x", "de DE", "de\n", &"a".repeat(33)] {
            assert_eq!(as_language(bad), None, "{bad:?}");
        }
    }
}
