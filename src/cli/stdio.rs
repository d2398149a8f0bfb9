//! How are standard input and output read and written without a thread in between?
//!
//! AI clients give a server pipes (Python's, Rust's) or socket pairs (Node's); both can be waited for by the event
//! loop, which saves two thread switches a message. Anything else, a file or a terminal, goes by the slow way.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;

use rustix::fs::{FileType, fstat};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
pub fn input() -> Pin<Box<dyn AsyncRead + Send>> {
    let quick = || -> io::Result<Pin<Box<dyn AsyncRead + Send>>> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        match kind(&fd)? {
            FileType::Fifo => Ok(Box::pin(pipe::Receiver::from_owned_fd(fd)?)),
            FileType::Socket => Ok(Box::pin(socket(fd)?)),
            _ => Ok(Box::pin(tokio::io::stdin())),
        }
    };
    quick().unwrap_or_else(|_| Box::pin(tokio::io::stdin()))
}

/// Resolves when nobody can write to standard input any more, even if not all that was written has been read. Never
/// for a file or a terminal.
#[expect(
    deprecated,
    reason = "sound for an owned descriptor; what replaces it is unsafe, which this crate forbids"
)]
pub async fn input_gone() {
    let watched = || -> io::Result<AsyncFd<OwnedFd>> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        match kind(&fd)? {
            FileType::Fifo | FileType::Socket => AsyncFd::with_interest(fd, Interest::READABLE),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    };
    let Ok(watched) = watched() else { return std::future::pending().await };
    loop {
        let Ok(mut ready) = watched.readable().await else { return std::future::pending().await };
        if ready.ready().is_read_closed() {
            return;
        }
        // Woken again by what arrives next, the end included.
        ready.clear_ready();
    }
}

/// Standard output.
pub fn output() -> Pin<Box<dyn AsyncWrite + Send>> {
    let quick = || -> io::Result<Pin<Box<dyn AsyncWrite + Send>>> {
        let fd = io::stdout().as_fd().try_clone_to_owned()?;
        match kind(&fd)? {
            FileType::Fifo => Ok(Box::pin(pipe::Sender::from_owned_fd(fd)?)),
            FileType::Socket => Ok(Box::pin(socket(fd)?)),
            _ => Ok(Box::pin(tokio::io::stdout())),
        }
    };
    quick().unwrap_or_else(|_| Box::pin(tokio::io::stdout()))
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
