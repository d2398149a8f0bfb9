//! Who does what for the launcher?
//!
//! Every stream that the launcher opens is answered here, each in a task of its own. A message that does not
//! belong ends init, and with it the cage: the two ends are of one build, so that it cannot be a misunderstanding.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold_init::message::{self, MessageError};
use pinfold_init::mux::{Mode, Mux, Opener, Stream};
use pinfold_init::protocol::{
    Greeting, Launch, MAX_FROM_LAUNCHER, MAX_PATHS, MAX_PORTS, Opening, Standard, Terms, VERSION,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex as Turn, mpsc};

use crate::addresses::Addresses;
use crate::mounts::Watch;
use crate::program::{self, Parts};
use crate::reaper::Reaper;
use crate::{dns, egress, facts, files, mounts};

/// Serves the launcher until the link ends.
///
/// # Errors
/// When the link breaks, the launcher breaks the protocol, a mount of the cage is gone, or nothing can be served at all.
pub async fn serve(link: impl AsyncRead + AsyncWrite + Unpin, reaper: Reaper) -> io::Result<()> {
    let (mux, opener) = Mux::new(link, Mode::Server);
    let (fault, mut faults) = mpsc::channel(1);
    let lost = async {
        // outside a cage, in tests, the table is this machine's, whose mounts come and go
        if std::process::id() != 1 {
            return std::future::pending().await;
        }
        match Watch::begin() {
            Ok(watch) => watch.lost().await,
            Err(error) => error,
        }
    };
    let house = Arc::new(House { opener, reaper, turn: Turn::new(()), arrived: Mutex::default() });
    let accept = |stream| {
        let (house, fault) = (house.clone(), fault.clone());
        tokio::spawn(async move {
            if let Err(error) = house.answer(stream).await {
                // Full: another fault ends init already.
                let _ = fault.try_send(error);
            }
        });
    };
    tokio::select! {
        ended = mux.run(accept) => ended.map_err(io::Error::other),
        fault = faults.recv() => fault.map_or(Ok(()), Err),
        lost = lost => Err(lost),
    }
}

struct House {
    opener: Opener,
    reaper: Reaper,
    turn: Turn<()>,
    arrived: Mutex<HashMap<u32, Arrived>>,
}

/// What has arrived of a run so far: streams overtake each other.
#[derive(Default)]
struct Arrived {
    launch: Option<(Launch<'static>, Stream)>,
    input: Option<Stream>,
    output: Option<Stream>,
    error: Option<Stream>,
}

impl House {
    async fn answer(&self, mut stream: Stream) -> io::Result<()> {
        let opening = match message::read(&mut stream, MAX_FROM_LAUNCHER).await {
            Ok(opening) => opening,
            // The launcher thought better of it.
            Err(MessageError::Ended | MessageError::Broke(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        match opening {
            Opening::Hello(terms) => self.greet(stream, &terms).await,
            Opening::Run(launch) => {
                self.arrive(launch.run, |arrived| arrived.launch = Some((launch, stream))).await;
                Ok(())
            }
            Opening::Stream { run, which } => {
                let place = |arrived: &mut Arrived| match which {
                    Standard::Input => arrived.input = Some(stream),
                    Standard::Output => arrived.output = Some(stream),
                    Standard::Error => arrived.error = Some(stream),
                };
                self.arrive(run, place).await;
                Ok(())
            }
            // A file that does not arrive is the launcher's to notice.
            Opening::Put { path, mode, length } => {
                let _ = files::put(&mut stream, &path, mode, length).await;
                Ok(())
            }
            Opening::Get { path, limit } => {
                let _ = files::get(&mut stream, &path, limit).await;
                Ok(())
            }
            // As with files.
            Opening::Mounts => {
                let _ = mounts::tell(&mut stream).await;
                Ok(())
            }
        }
    }

    /// Serves DNS and the ports, then greets: once it has been greeted, the launcher can rely on them.
    async fn greet(&self, mut stream: Stream, terms: &Terms) -> io::Result<()> {
        let greeting = match self.open_up(terms).await {
            Ok(dns_port) => {
                Greeting::Ready { version: VERSION, facts: Box::new(facts::gather(terms, dns_port)) }
            }
            Err(error) => Greeting::Unable { version: VERSION, why: error.to_string() },
        };
        message::write(&mut stream, &greeting).await
    }

    async fn open_up(&self, terms: &Terms) -> io::Result<u16> {
        let listed = |port: &u16| terms.ports.contains(port);
        let paths = terms.hidden.len() + terms.fixed.len();
        if terms.version != VERSION
            || terms.ports.len() > MAX_PORTS
            || paths > MAX_PATHS
            || !terms.localhost.iter().all(listed)
        {
            return Err(io::Error::other("other terms than this init knows"));
        }
        let addresses = Arc::new(Addresses::default());
        let dns_port = dns::serve(terms.dns_port, self.opener.clone(), addresses.clone()).await?;
        egress::serve(&terms.ports, &terms.localhost, self.opener.clone(), addresses).await?;
        Ok(dns_port)
    }

    /// Notes a part of a run, and runs it when it was the last one missing.
    async fn arrive(&self, run: u32, place: impl FnOnce(&mut Arrived)) {
        let complete = {
            let mut all = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
            // The launcher starts one after the other, with rising numbers: what is older and not complete will never be.
            all.retain(|older, _| *older >= run);
            let arrived = all.entry(run).or_default();
            place(arrived);
            match arrived {
                Arrived { launch: Some(_), input: Some(_), output: Some(_), error: Some(_) } => {
                    all.remove(&run)
                }
                _ => None,
            }
        };
        if let Some(Arrived {
            launch: Some((launch, control)),
            input: Some(input),
            output: Some(output),
            error: Some(error),
        }) = complete
        {
            // After a run that was dropped, its end may take a moment.
            let _turn = self.turn.lock().await;
            program::run(Parts { launch, control, input, output, error }, self.reaper.clone()).await;
        }
    }
}
