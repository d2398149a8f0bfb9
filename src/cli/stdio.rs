//! How are standard input and output read and written without a thread in between?
//!
//! AI clients give a server pipes (Python's, Rust's) or socket pairs (Node's); both can be waited for by the event
//! loop, which saves two thread switches a message. Anything else, a file or a terminal, goes by the slow way.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
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
