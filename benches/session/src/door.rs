//! What does the launcher ask of the engine, and when?
//!
//! A unix socket before the engine's, given to the launcher as DOCKER_HOST. Bytes pass unchanged; what is noted is
//! when a request and its answer came by, on the clock of the bench, which also started the launcher. So what the
//! launcher took before it asked is measured from outside, exec and all, and needs no cooperation of its own.
//! Nothing that is compared with a bare server runs through here: a door costs time.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::Outcome;

/// Something that came by.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// What came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A request, as `POST /containers/ID/start`: names left out, so that two starts look alike.
    Asked(String),
    /// The first bytes of its answer.
    Answered(String),
    /// The first bytes of the link from the launcher.
    LinkOut,
    /// The first bytes of the link from init.
    LinkIn,
}

/// The door; closed when dropped.
pub struct Door {
    path: PathBuf,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Door {
    /// Opens a door before the engine's socket.
    pub fn open(at: &Path, engine: &Path) -> Outcome<Self> {
        let path = at.join("engine.sock");
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let door = Self { path, seen: Arc::default() };
        let (seen, engine) = (Arc::clone(&door.seen), engine.to_owned());
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, UnixStream::connect(&engine)) else { return };
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
                let connection = Arc::new(Mutex::new(Connection::default()));
                let (notes, same) = (Arc::clone(&seen), Arc::clone(&connection));
                std::thread::spawn(move || carry(near, far, &notes, &|bytes| lock(&connection).out(bytes)));
                let notes = Arc::clone(&seen);
                std::thread::spawn(move || carry(far_too, near_too, &notes, &|_| lock(&same).back()));
            }
        });
        Ok(door)
    }

    /// The value for DOCKER_HOST.
    pub fn address(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    /// What came by since the last time this was asked, in order.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *lock(&self.seen))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // the thread that listens ends with the process; nobody finds the way to it any more
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What is known of one connection.
#[derive(Default)]
struct Connection {
    /// The request that waits for its answer.
    open: Option<String>,
    /// It became the link, and what of it was seen.
    link: Option<(bool, bool)>,
}

impl Connection {
    fn out(&mut self, bytes: &[u8]) -> Option<What> {
        if let Some((out, _)) = &mut self.link {
            return (!std::mem::replace(out, true)).then_some(What::LinkOut);
        }
        // a request's head comes in one piece, and its body matters to nobody here
        let request = request(bytes)?;
        self.open = Some(request.clone());
        Some(What::Asked(request))
    }

    fn back(&mut self) -> Option<What> {
        if let Some((_, back)) = &mut self.link {
            return (!std::mem::replace(back, true)).then_some(What::LinkIn);
        }
        let request = self.open.take()?;
        if request.ends_with("/attach") {
            self.link = Some((false, false));
        }
        Some(What::Answered(request))
    }
}

/// The method and path of a request's first line.
fn request(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, http) = (words.next()?, words.next()?, words.next()?);
    if !http.starts_with("HTTP/1") || !target.starts_with('/') {
        return None;
    }
    let path = target.split('?').next()?;
    // the API's version comes first
    let dull = |part: &str| part.is_empty() || part.starts_with('v') && part.contains('.');
    let parts = path.split('/').filter(|part| !dull(part)).map(|part| match part.len() {
        64.. => "ID",
        _ => part,
    });
    Some(format!("{method} /{}", parts.collect::<Vec<_>>().join("/")))
}

/// Carries one direction to its end.
fn carry(
    mut from: UnixStream,
    mut to: UnixStream,
    notes: &Mutex<Vec<Seen>>,
    note: &dyn Fn(&[u8]) -> Option<What>,
) {
    let mut buffer = vec![0; 256 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let at = Instant::now();
        if let Some(what) = note(&buffer[..read]) {
            lock(notes).push(Seen { at, what });
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // the other direction may still have something to carry
    let _ = to.shutdown(Shutdown::Write);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
