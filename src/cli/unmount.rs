//! `pinfold unmount`: forget a server, whole.

use std::process::ExitCode;

use serde_json::json;

use super::host::Host;
use super::out::Out;
use super::{secret, start};
use crate::cage::CageError;
use crate::cage::egress::History;
use crate::cage::engine::{EngineError, Labels, label};
use crate::cage::image::Image;
use crate::cage::keep::{self, Kept};
use crate::consent::{Answer, Console, PATIENCE, Terminal};
use crate::failure::{Code, Failure};
use crate::pin::{LocalFacts, Pin};
use crate::plan::LocalName;
use crate::secret::Place;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
    /// Leave what the server kept in its home (`--persist`) where it is, for the next mount of the same server
    #[arg(long)]
    keep_data: bool,
    /// Remove what the server kept in its home without being asked about it at a terminal
    #[arg(long, conflicts_with = "keep_data")]
    remove_data: bool,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = match start::pin(host, &args.name, &start::NOTHING_THERE) {
        Ok(pin) => pin,
        // what was kept when it was unmounted, or its pin was reset, is still there to be forgotten
        Err(failure) if failure.code() == Code::NotMounted && !args.keep_data => {
            return forget_kept(host, out, args, failure).await;
        }
        Err(failure) => return Err(failure),
    };
    host.sweep().await?;
    if !shares_its_image(host, &pin)? && is_running(host, &pin).await? {
        // the engine keeps an image that a cage runs on, and without its pin nothing would ever name it again
        return Err(busy(pin.name(), "its image is in use"));
    }
    // before anything is touched: who says no keeps all of it
    if !args.keep_data && !args.remove_data && kept(host, &pin)?.exists(host.engine().await?.as_ref()).await?
    {
        agree_to_lose(out, pin.name())?;
    }
    // before the pin: what a server wrote is asked for by its name, and goes with it or not at all
    let data = forget_home(host, &pin, args.keep_data).await?;
    let secrets = secret::forget_all(host, out, &pin).await?;
    // the pin first: an image without one is found and removed by the next mount that fails, a pin without its
    // image would be in force
    host.store()?.remove(pin.name())?;
    LocalFacts::forget(host.home(), pin.name())?;
    History::forget(host.home(), pin.name())?;
    let removed = forget_image(host, &pin).await?;
    if out.is_json() {
        let secrets: Vec<_> = secrets.iter().map(|(variable, _)| variable).collect();
        let told = json!({"name": pin.name(), "images": removed, "data": data.word(), "secrets": secrets});
        out.document(&told);
        return Ok(ExitCode::SUCCESS);
    }
    let mut gone = vec!["its pin"];
    // none: it serves another mount, or was gone already
    gone.extend((removed > 0).then_some("its image"));
    gone.extend((data == Data::Removed).then_some("what it kept"));
    let are = if gone.len() == 1 { "is" } else { "are" };
    out.line(format!("unmounted {}: {} {are} gone", pin.name(), and(&gone)));
    for (variable, place) in &secrets {
        out.line(match place {
            Place::Keyring => format!("{variable} is gone from the system's keyring"),
            Place::Here => format!("{variable}, which was kept for it, is gone"),
            Place::File(path) => format!("{} stays, which {variable} was read from", path.display()),
        });
    }
    if data == Data::Kept {
        out.line(format!(
            "what it kept stays, for the next mount of {}; `pinfold unmount {}` removes it",
            pin.plan().source(),
            pin.name()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks whether what a server kept may go. Where nobody can be asked it has to be said: it cannot be had again.
fn agree_to_lose(out: &Out, name: &LocalName) -> Result<(), Failure> {
    out.pause();
    let mut console = Console::open(out.palette_for_questions());
    let why = match console.as_mut().map(|console| asked_to_lose(name, console).unwrap_or(false)) {
        Some(true) => return Ok(()),
        Some(false) => "the answer was not `yes`",
        None => {
            "it has kept data in its home (`--persist`), and there is no terminal to ask on whether that may go"
        }
    };
    Err(Failure::new(
        Code::ConsentNeeded,
        format!("nothing of {name} was removed"),
        why,
        format!(
            "`pinfold unmount {name} --keep-data` leaves what it kept, `pinfold unmount {name} --remove-data` removes it too"
        ),
    ))
}

fn asked_to_lose(name: &LocalName, terminal: &mut dyn Terminal) -> std::io::Result<bool> {
    terminal.forget_typed()?;
    terminal.draw(&format!(
        "{name} has kept data in its home (`--persist`), which is lost with it. Type yes to remove it, the whole word; \
         anything else leaves all as it is: "
    ))?;
    let answer = terminal.read_line(PATIENCE)?;
    terminal.forget_typed()?;
    Ok(matches!(answer, Answer::Line(line) if line.trim_ascii().eq_ignore_ascii_case("yes")))
}

/// What a server of this plan keeps; whatever the plan says now, an earlier one may have kept something.
fn kept(host: &Host, pin: &Pin) -> Result<Kept, Failure> {
    let plan = pin.plan();
    Ok(Kept::of(&host.home().id()?, pin.name(), plan.source(), plan.user()))
}

/// What became of a server's kept home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    None,
    Kept,
    Removed,
}

impl Data {
    fn word(self) -> &'static str {
        match self {
            Data::None => "none",
            Data::Kept => "kept",
            Data::Removed => "removed",
        }
    }
}

/// Words of a list.
fn and(words: &[&str]) -> String {
    match words {
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
        [] => String::new(),
    }
}

fn busy(name: &LocalName, why: &str) -> Failure {
    Failure::new(
        Code::Other,
        format!("{name} cannot be unmounted now"),
        format!("a client has a session with it, and {why}"),
        "close that session in the client, or the client, then unmount it",
    )
}

/// Removes what the server kept in its home, unless it is to stay.
async fn forget_home(host: &Host, pin: &Pin, stays: bool) -> Result<Data, Failure> {
    let engine = host.engine().await?;
    let kept = kept(host, pin)?;
    if !kept.exists(engine.as_ref()).await? {
        return Ok(Data::None);
    }
    if stays {
        return Ok(Data::Kept);
    }
    match kept.forget(engine.as_ref()).await {
        Ok(_) => Ok(Data::Removed),
        Err(CageError::Engine(EngineError::Refused { .. })) => {
            Err(busy(pin.name(), "what it keeps is in use"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes what servers of this name kept that are not mounted any more.
async fn forget_kept(host: &Host, out: &Out, args: &Args, not_mounted: Failure) -> Result<ExitCode, Failure> {
    let Ok(name) = args.name.parse::<LocalName>() else { return Err(not_mounted) };
    let engine = host.engine().await?;
    let volumes = keep::of_name(engine.as_ref(), &host.home().id()?, &name).await?;
    if volumes.is_empty() {
        return Err(not_mounted);
    }
    if !args.remove_data {
        agree_to_lose(out, &name)?;
    }
    for volume in &volumes {
        engine.remove_volume(volume).await?;
    }
    if out.is_json() {
        out.document(&json!({"name": name, "images": 0, "data": Data::Removed.word()}));
    } else {
        out.line(format!("{name} was not mounted; what it had kept is gone"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the sealed image of a pin, unless another pin has the same tree. Gives how many there were.
pub async fn forget_image(host: &Host, pin: &Pin) -> Result<usize, Failure> {
    if shares_its_image(host, pin)? {
        return Ok(0);
    }
    let (engine, ours) = (host.engine().await?, host.ours()?);
    Ok(Image::forget(engine.as_ref(), &ours, pin.plan().tree_digest()).await?)
}

/// Whether another pin has the same tree.
fn shares_its_image(host: &Host, pin: &Pin) -> Result<bool, Failure> {
    let (name, tree) = (pin.name(), pin.plan().tree_digest());
    Ok(host.store()?.all()?.iter().any(|other| other.name() != name && other.plan().tree_digest() == tree))
}

/// Whether a launch of this state directory has a cage of the pin's tree.
async fn is_running(host: &Host, pin: &Pin) -> Result<bool, Failure> {
    let cages = Labels::from([
        (label::MARK.into(), "cage".into()),
        (label::STATE.into(), host.home().id()?.as_str().to_owned()),
        (label::TREE.into(), pin.plan().tree_digest().to_string()),
    ]);
    Ok(!host.engine().await?.cages(&cages).await?.is_empty())
}
