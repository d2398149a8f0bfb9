//! Where does init find its end of the link?
//!
//! On the standard input and output that the engine started it with: pipes or a socket, as the engine likes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use tokio::io::{AsyncRead, AsyncWrite, Join};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The two directions of the link.
pub type Link = Join<Box<dyn AsyncRead + Unpin>, Box<dyn AsyncWrite + Unpin>>;

/// Takes the link. `/dev/null` takes its place, so that nothing else reads or writes it by mistake.
pub fn take_link() -> io::Result<Link> {
    let input = rustix::stdio::stdin().try_clone_to_owned()?;
    let output = rustix::stdio::stdout().try_clone_to_owned()?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let input: Box<dyn AsyncRead + Unpin> = match kind(&input)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(input)?),
        _ => Box::new(socket(input)?),
    };
    let output: Box<dyn AsyncWrite + Unpin> = match kind(&output)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(output)?),
        _ => Box::new(socket(output)?),
    };
    Ok(tokio::io::join(input, output))
}

fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
    match FileType::from_raw_mode(fstat(descriptor)?.st_mode) {
        kind @ (FileType::Fifo | FileType::Socket) => Ok(kind),
        _ => Err(io::Error::other("the link is neither a pipe nor a socket")),
    }
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
