//! What does a server show, before anybody's client sees it?
//!
//! It is started in throw-away cages and asked for its whole surface: in each era, as the client with the widest
//! and with the narrowest capabilities. A server locks to the first opener it sees, so every look has a cage of its
//! own.

use std::time::Duration;

use super::host::Host;
use super::out::Out;
use super::start::{self, Live};
use crate::cage::egress::Tally;
use crate::cage::image::Image;
use crate::failure::{Code, Failure};
use crate::pin::Pin;
use crate::plan::LocalName;
use crate::proxy::{Era, Peer, PeerError, Survey};
use crate::secret::Given;

/// How long a server may take for one answer at a trial.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every look at a server that succeeded.
///
/// What the server reached and tried is added to `tried`, whatever comes of it.
pub async fn trial(
    host: &Host,
    out: &Out,
    pin: &Pin,
    image: &Image,
    tried: &mut Tally,
) -> Result<Vec<Survey>, Failure> {
    let mut surveys = Vec::new();
    let mut first_failure = None;
    for era in Era::ALL {
        match look(host, out, pin, image, era, era.widest(), tried).await? {
            Look::Seen(survey) => {
                surveys.push(*survey);
                // one that shows itself to the widest client and not to the narrowest is still a server
                if let Look::Seen(survey) = look(host, out, pin, image, era, era.narrowest(), tried).await? {
                    surveys.push(*survey);
                }
            }
            Look::OtherEra => {}
            Look::Failed(failure) => {
                first_failure.get_or_insert(failure);
            }
        }
    }
    match (surveys.is_empty(), first_failure) {
        (false, _) => Ok(surveys),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(no_era(pin.name())),
    }
}

/// A server that refuses both openers.
pub fn no_era(name: &LocalName) -> Failure {
    Failure::new(
        Code::ServerFailed,
        format!("{name} speaks no protocol version that Pinfold does"),
        "it refused both lifecycles of MCP, 2025-11-25 and 2026-07-28",
        "look for a newer version of it, or of Pinfold",
    )
}

/// What came of one look.
pub enum Look {
    /// Its surface.
    Seen(Box<Survey>),
    /// It does not speak this era.
    OtherEra,
    /// It ended, or gave no usable answer.
    Failed(Failure),
}

/// Starts the server once, asks it for everything as a client with these capabilities, and ends it.
pub async fn look(
    host: &Host,
    out: &Out,
    pin: &Pin,
    image: &Image,
    era: Era,
    capabilities: serde_json::Value,
    tried: &mut Tally,
) -> Result<Look, Failure> {
    let given = Given::gather(host.home(), pin.plan()).await?;
    let live = start::start(host, out, pin, image, given, start::TRIAL, |_| {}).await?;
    let Live { input, output, mut handle, words, egress, cage, mask, .. } = live;
    let asked = async {
        let (mut peer, opened) = Peer::open(output, input, era, capabilities, PATIENCE).await?;
        Survey::take(&mut peer, &opened).await
    }
    .await;
    let seen = match asked {
        Ok(survey) => Look::Seen(Box::new(survey.without(&mask))),
        Err(error) if error.is_other_era() => Look::OtherEra,
        Err(error) => {
            let error = error.without(&mask);
            let how = match &error {
                PeerError::Ended { .. } | PeerError::Io(_) => {
                    let exit = tokio::time::timeout(Duration::from_secs(5), handle.exit()).await;
                    exit.map_or_else(|_| error.to_string(), start::in_words)
                }
                other => other.to_string(),
            };
            let what = format!("{} failed to start", pin.name());
            Look::Failed(start::failed(host, pin, what, how, &words).await)
        }
    };
    tried.add(&egress.tally());
    cage.end().await?;
    Ok(seen)
}
