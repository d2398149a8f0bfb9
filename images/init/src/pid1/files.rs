//! How does a file get into the cage, or out of it?
//!
//! In the stages that prepare a server, before or after a program runs, never beside one that is not trusted with
//! the file. Blocking: it is memory or a local disk, and nothing else is going on.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use pinfold_init::message;
use pinfold_init::mux::FRAME;
use pinfold_init::protocol::{Done, Found};
use rustix::fs::OFlags;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Writes `length` bytes from the stream to `path`, and says how that went.
pub async fn put<S>(stream: &mut S, path: &str, mode: u32, length: u64) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let done = match write(stream, Path::new(path), mode, length).await {
        Ok(()) => Done::Written,
        Err(error) => Done::Failed { why: error.to_string() },
    };
    message::write(stream, &done).await
}

async fn write<S: AsyncRead + Unpin>(stream: &mut S, path: &Path, mode: u32, length: u64) -> io::Result<()> {
    let folder = path.parent().filter(|_| path.is_absolute()).ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    // Never through a link that something else left there.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    let mut left = length;
    let mut buffer = vec![0; FRAME];
    while left > 0 {
        let piece = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = stream.read(&mut buffer[..piece]).await?;
        if read == 0 {
            drop(file);
            // Half a file is worse than none.
            fs::remove_file(path)?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_all(&buffer[..read])?;
        left -= read as u64;
    }
    // Last, and set rather than asked for: the creation mask would take bits away.
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// Sends the regular file at `path`, if it has at most `limit` bytes.
pub async fn get<S: AsyncWrite + Unpin>(stream: &mut S, path: &str, limit: u64) -> io::Result<()> {
    let (mut file, length) = match open(Path::new(path), limit) {
        Ok(found) => found,
        Err(error) => {
            message::write(stream, &Found::Failed { why: error.to_string() }).await?;
            return stream.shutdown().await;
        }
    };
    message::write(stream, &Found::File { length }).await?;
    let mut left = length;
    let mut buffer = vec![0; FRAME];
    while left > 0 {
        let piece = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut buffer[..piece])?;
        if read == 0 {
            // It shrank; the launcher sees that bytes are missing.
            break;
        }
        stream.write_all(&buffer[..read]).await?;
        left -= read as u64;
    }
    stream.shutdown().await
}

fn open(path: &Path, limit: u64) -> io::Result<(File, u64)> {
    // Without waiting: it may be a pipe that nobody writes to.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if found.len() > limit {
        return Err(io::Error::other(format!("{} bytes, where at most {limit} are wanted", found.len())));
    }
    Ok((file, found.len()))
}
