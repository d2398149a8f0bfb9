//! How does a connection cross the link without losing the way it ended?
//!
//! Each direction is a run of chunks, a 2-byte big-endian length and that many bytes; a chunk of length 0 says
//! that this direction has ended. A stream that ends without it was cut off, and the connection at the other end
//! is then reset, not closed: a cut-off answer must not look like a whole one. (yamux alone shows a reader the
//! same end of stream for both, and does not reset a stream whose own side had finished, so that its other end
//! would wait for credit for ever.)

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Largest chunk that is sent, in bytes; with its length it fits a yamux frame. Any length is accepted.
const CHUNK: usize = 16 * 1024 - 2;

/// Carries bytes between a connection and a link stream until both directions have ended.
///
/// Memory: two buffers of 16 KiB. Back-pressure goes through in both directions.
///
/// # Errors
/// When either end breaks. The caller must then reset the connection; dropping the link stream resets that.
pub async fn relay<C, L>(connection: C, link: L) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    L: AsyncRead + AsyncWrite + Unpin,
{
    let (from_connection, to_connection) = tokio::io::split(connection);
    let (from_link, to_link) = tokio::io::split(link);
    tokio::try_join!(send(from_connection, to_link), receive(from_link, to_connection))?;
    Ok(())
}

async fn send<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(mut from: R, mut to: W) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK + 2];
    loop {
        let read = from.read(&mut buffer[2..]).await?;
        let length = u16::try_from(read).map_err(io::Error::other)?;
        buffer[..2].copy_from_slice(&length.to_be_bytes());
        to.write_all(&buffer[..read + 2]).await?;
        to.flush().await?;
        if read == 0 {
            return Ok(());
        }
    }
}

async fn receive<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(mut from: R, mut to: W) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut length = [0; 2];
        from.read_exact(&mut length).await?;
        let mut left = usize::from(u16::from_be_bytes(length));
        if left == 0 {
            return to.shutdown().await;
        }
        while left > 0 {
            let piece = left.min(CHUNK);
            let read = from.read(&mut buffer[..piece]).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            to.write_all(&buffer[..read]).await?;
            left -= read;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::duplex;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn carries_both_directions_and_each_end_of_them() {
        block_on(async {
            let (near, near_end) = duplex(64);
            let (link_a, link_b) = duplex(64);
            let (far, far_end) = duplex(64);
            let server = async {
                let (mut read, mut write) = tokio::io::split(far);
                let mut all = Vec::new();
                read.read_to_end(&mut all).await.unwrap();
                write.write_all(&all).await.unwrap();
                write.shutdown().await.unwrap();
                // Held until the other direction has ended too.
                all.len()
            };
            let client = async {
                let (mut read, mut write) = tokio::io::split(near);
                let sent = vec![7; 100_000];
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
                let mut back = Vec::new();
                read.read_to_end(&mut back).await.unwrap();
                assert_eq!(back, sent);
            };
            let (a, b, length, ()) =
                tokio::join!(relay(near_end, link_a), relay(far_end, link_b), server, client);
            a.unwrap();
            b.unwrap();
            assert_eq!(length, 100_000);
        });
    }

    #[test]
    fn refuses_to_take_a_cut_off_stream_for_an_ended_one() {
        block_on(async {
            for cut in [&b""[..], b"\0", b"\0\x05ab", b"\0\x02ab"] {
                let (connection, _other) = duplex(64);
                let (link, mut peer) = duplex(64);
                peer.write_all(cut).await.unwrap();
                drop(peer);
                assert!(relay(connection, link).await.is_err(), "{cut:?}");
            }
        });
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = block_on(receive(&bytes[..], tokio::io::sink()));
        }
    }
}
