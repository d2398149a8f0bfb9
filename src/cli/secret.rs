//! `pinfold secret`: where does a mounted server get its credentials from?
//!
//! Values are typed where nobody sees them or read from standard input, never given as an argument, which every process
//! of this host can read. They are kept for one server and shown to nobody.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::host::Host;
use super::out::Out;
use super::start;
use crate::failure::{Code, Failure};
use crate::pin::Pin;
use crate::plan::EnvName;
use crate::secret::{Entry, Keyring, Place, Places, Secret, read_named, read_value};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Secrets,
}

#[derive(Debug, Subcommand)]
enum Secrets {
    /// Keep a value for one server: typed, or from standard input; in the system's keyring, where there is one
    Set {
        /// The mounted server's name
        server: String,
        /// The variable, one that its plan lists
        variable: String,
        /// Read it from this file at each start instead of keeping it
        #[arg(long, value_name = "PATH", conflicts_with = "no_keyring")]
        file: Option<PathBuf>,
        /// Keep it in a file of Pinfold's own, though there is a keyring
        #[arg(long)]
        no_keyring: bool,
    },
    /// Which credentials servers get, and where from; no value is shown
    List {
        /// The mounted server's name; every server otherwise
        server: Option<String>,
    },
    /// Forget a value, or the file it is read from
    Forget {
        /// The mounted server's name
        server: String,
        /// The variable
        variable: String,
    },
}

/// Of a name that no server is mounted under.
const NOT_GIVEN: start::Unknown = start::Unknown {
    why: "credentials are kept for mounted servers, and given to nobody else",
    hint: "mount it first, with each credential's name: `pinfold mount SPEC --env NAME`; `pinfold list` shows what is mounted",
};

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        Secrets::Set { server, variable, file, no_keyring } => {
            let pin = start::pin(host, server, &NOT_GIVEN)?;
            let variable = listed(&pin, variable)?;
            let place = match file {
                Some(file) => from_file(host, &pin, &variable, file)?,
                None => keep(host, &pin, &variable, *no_keyring).await?,
            };
            told(out, &pin, &variable, &place);
        }
        Secrets::List { server } => list(host, out, server.as_deref())?,
        Secrets::Forget { server, variable } => {
            let pin = start::pin(host, server, &NOT_GIVEN)?;
            let variable = listed(&pin, variable)?;
            forget(host, &pin, &variable).await?;
            if out.is_json() {
                out.document(&json!({"server": pin.name(), "variable": variable, "forgotten": true}));
            } else {
                out.line(format!("{variable} of {} is forgotten", pin.name()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The variable, if the server's plan lists it: what a plan does not name, no server gets.
fn listed(pin: &Pin, text: &str) -> Result<EnvName, Failure> {
    let variable: EnvName = text.parse()?;
    if pin.plan().credentials().contains(&variable) {
        return Ok(variable);
    }
    let all: Vec<_> = pin.plan().credentials().iter().map(ToString::to_string).collect();
    let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    Err(Failure::new(
        Code::Usage,
        format!("{} gets no {variable}", pin.name()),
        format!("the credentials that its plan lists: {all}"),
        "to give it one more, mount it again with `--env NAME` and consent to that plan",
    ))
}

fn from_file(host: &Host, pin: &Pin, variable: &EnvName, file: &std::path::Path) -> Result<Place, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::new(
            Code::Usage,
            format!("{} cannot be used", file.display()),
            why,
            "name a file that holds the value alone, on one line",
        )
    };
    let path = std::path::absolute(file).map_err(|error| unusable(&error))?;
    // looked at now, so that a slip is told to the one who made it and not to an AI client later
    let value = read_named(&path).map_err(|error| unusable(&error))?;
    check(variable, &value)?;
    let place = Place::File(path);
    Places::load(host.home(), pin.plan())?.note(variable, place.clone())?;
    Ok(place)
}

async fn keep(host: &Host, pin: &Pin, variable: &EnvName, no_keyring: bool) -> Result<Place, Failure> {
    let value = typed(pin, variable)?;
    check(variable, &value)?;
    let mut places = Places::load(host.home(), pin.plan())?;
    if !no_keyring && Keyring::is_likely() {
        match Keyring::open().await {
            Ok(keyring) => {
                let id = host.home().id()?;
                keyring.set(&Entry::new(&id, pin.plan(), variable), &value).await.map_err(|why| {
                    Failure::new(
                        Code::Other,
                        format!("{variable} was not kept"),
                        why,
                        "unlock the keyring, or keep it in a file of Pinfold's own with `--no-keyring`",
                    )
                })?;
                places.note(variable, Place::Keyring)?;
                return Ok(Place::Keyring);
            }
            // a session without one is usual on servers; that it became a file is said
            Err(crate::secret::NoKeyring::Absent) => {}
            Err(why) => {
                return Err(Failure::new(
                    Code::Other,
                    format!("{variable} was not kept"),
                    why,
                    "see that the keyring works, or keep it in a file of Pinfold's own with `--no-keyring`",
                ));
            }
        }
    }
    if places.of(variable) == Some(&Place::Keyring) {
        // what was there before would lie around for ever
        forget(host, pin, variable).await?;
        places = Places::load(host.home(), pin.plan())?;
    }
    places.keep(variable, &value)?;
    Ok(Place::Here)
}

/// The value, from the person at the terminal, who does not see it, or from standard input.
fn typed(pin: &Pin, variable: &EnvName) -> Result<Secret, Failure> {
    let unread = |error: io::Error| {
        Failure::new(
            Code::Usage,
            format!("no value for {variable} could be read"),
            error,
            "type it, or give it on standard input: one line of at most 64 KiB",
        )
    };
    if io::stdin().is_terminal() {
        let question = format!("{variable} for {} (what you type is not shown): ", pin.name());
        return rpassword::prompt_password(question)
            .map(|text| Secret::new(text.into_bytes()))
            .map_err(unread);
    }
    read_value(io::stdin().lock()).map_err(unread)
}

fn check(variable: &EnvName, value: &Secret) -> Result<(), Failure> {
    if value.is_empty() {
        return Err(Failure::new(
            Code::Usage,
            format!("the value for {variable} is empty"),
            "an empty credential counts as none, and nothing was changed",
            format!("give a value, or take it away with `pinfold secret forget SERVER {variable}`"),
        ));
    }
    if value.is_one_line() {
        return Ok(());
    }
    Err(Failure::new(
        Code::EnvRefused,
        format!("the value for {variable} holds a control character, or is no UTF-8 text"),
        "a credential travels as one variable of one line, which nothing can take for two",
        "give the credential alone, on one line",
    ))
}

/// Forgets one value, wherever it is; a file of the user's stays as it is.
async fn forget(host: &Host, pin: &Pin, variable: &EnvName) -> Result<(), Failure> {
    let mut places = Places::load(host.home(), pin.plan())?;
    if places.of(variable) == Some(&Place::Keyring) {
        let id = host.home().id()?;
        let keyring = Keyring::open().await;
        let forgotten = match &keyring {
            Ok(keyring) => keyring.forget(&Entry::new(&id, pin.plan(), variable)).await,
            Err(why) => Err(why.clone()),
        };
        forgotten.map_err(|why| {
            Failure::new(
                Code::Other,
                format!("{variable} of {} is still in the system's keyring", pin.name()),
                why,
                "unlock the keyring and try again, or remove the entry there (its label ends in `(pinfold)`)",
            )
        })?;
    }
    places.forget(variable)?;
    Ok(())
}

/// Forgets every value of a server. Gives which there were; what a keyring does not let go of is told, and keeps
/// nothing else from it.
pub async fn forget_all(host: &Host, out: &Out, pin: &Pin) -> Result<Vec<(EnvName, Place)>, Failure> {
    let places = Places::load(host.home(), pin.plan())?;
    let all: Vec<(EnvName, Place)> =
        places.all().map(|(name, place)| (name.clone(), place.clone())).collect();
    let mut forgotten = Vec::new();
    for (variable, place) in all {
        if let Err(failure) = forget(host, pin, &variable).await {
            out.warn(format!("{}: {}", failure.what(), failure.why()));
            Places::load(host.home(), pin.plan())?.forget(&variable)?;
        } else {
            forgotten.push((variable, place));
        }
    }
    Ok(forgotten)
}

/// Where each credential of a plan comes from, for whoever has just mounted the server; `from` is `unset` where it is
/// nowhere yet.
pub fn document(host: &Host, pin: &Pin) -> Result<Vec<Value>, Failure> {
    let places = Places::load(host.home(), pin.plan())?;
    let of = |variable| {
        let mut told = row(pin, variable, places.of(variable));
        if places.of(variable).is_none() && !is_set(variable) {
            told["from"] = "unset".into();
        }
        told
    };
    Ok(pin.plan().credentials().iter().map(of).collect())
}

/// The same for a person, each with the command that keeps it where it is not kept.
pub fn lines(host: &Host, pin: &Pin) -> Result<Vec<String>, Failure> {
    let places = Places::load(host.home(), pin.plan())?;
    let name = pin.name();
    let of = |variable: &EnvName| match places.of(variable) {
        Some(Place::File(path)) => format!("{variable} is read from {} at each start", path.display()),
        Some(Place::Keyring) => format!("{variable} is kept for it in the system's keyring"),
        Some(Place::Here) => format!("{variable} is kept for it in a file of Pinfold's own"),
        None => {
            let now = match is_set(variable) {
                true => "is set in this shell, which a client does not see",
                false => "is not set yet",
            };
            format!(
                "{variable} {now}: keep it with `pinfold secret set {name} {variable}`, or set it in the client's config, in an `env` beside `args`"
            )
        }
    };
    Ok(pin.plan().credentials().iter().map(of).collect())
}

fn is_set(variable: &EnvName) -> bool {
    std::env::var_os(variable.as_str()).is_some_and(|value| !value.is_empty())
}

fn told(out: &Out, pin: &Pin, variable: &EnvName, place: &Place) {
    if out.is_json() {
        return out.document(&row(pin, variable, Some(place)));
    }
    let name = pin.name();
    out.line(match place {
        Place::File(path) => format!("{variable} of {name} is read from {} at each start", path.display()),
        Place::Keyring => format!("{variable} of {name} is in the system's keyring"),
        Place::Here => format!(
            "{variable} of {name} is in a file of Pinfold's own: not encrypted, and readable by this user and root alone"
        ),
    });
}

fn list(host: &Host, out: &Out, server: Option<&str>) -> Result<(), Failure> {
    let pins = match server {
        Some(name) => vec![start::pin(host, name, &NOT_GIVEN)?],
        None => host.store()?.all()?,
    };
    let mut rows = Vec::new();
    for pin in &pins {
        let places = Places::load(host.home(), pin.plan())?;
        for variable in pin.plan().credentials() {
            rows.push((pin, variable, places.of(variable).cloned()));
        }
    }
    if out.is_json() {
        let rows: Vec<Value> =
            rows.iter().map(|(pin, variable, place)| row(pin, variable, place.as_ref())).collect();
        out.document(&json!({"secrets": rows}));
        return Ok(());
    }
    if rows.is_empty() {
        out.line("no mounted server is given a credential");
    }
    for (pin, variable, place) in &rows {
        let from = match place {
            Some(Place::File(path)) => format!("the file {}", path.display()),
            Some(Place::Keyring) => "the environment, else the system's keyring".to_owned(),
            Some(Place::Here) => "the environment, else a file of Pinfold's own".to_owned(),
            None => "the environment alone".to_owned(),
        };
        out.line(format!("{} {variable}: {from}", pin.name()));
    }
    Ok(())
}

fn row(pin: &Pin, variable: &EnvName, place: Option<&Place>) -> Value {
    let (from, path) = match place {
        Some(Place::File(path)) => ("file", Some(path.display().to_string())),
        Some(Place::Keyring) => ("keyring", None),
        Some(Place::Here) => ("pinfold", None),
        None => ("environment", None),
    };
    json!({"server": pin.name(), "variable": variable, "from": from, "path": path})
}
