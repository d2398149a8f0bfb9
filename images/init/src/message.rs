//! How is one message read without trusting who sent it?
//!
//! A 4-byte big-endian length, checked against the reader's limit before anything is allocated, then JSON that
//! must be exactly one value of the expected type.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The stream ended before a message began: the other end is done with it.
    #[error("the stream ended")]
    Ended,
    /// The stream broke, or ended within a message.
    #[error("the stream broke")]
    Broke(#[source] io::Error),
    /// The sender announces more than the reader accepts.
    #[error("a message of {announced} bytes, where at most {limit} are allowed")]
    TooLong {
        /// What the length field says.
        announced: usize,
        /// What the reader accepts.
        limit: usize,
    },
    /// Not a message of the expected kind.
    #[error("not a message that belongs here")]
    Malformed(#[source] serde_json::Error),
}

/// Reads the bytes of one message of at most `limit` bytes.
///
/// Not cancel-safe: dropped half-way, the stream is of no more use.
pub async fn read_bytes<R: AsyncRead + Unpin>(stream: &mut R, limit: usize) -> Result<Vec<u8>, MessageError> {
    let mut length = [0; 4];
    // The first byte apart: an end before it is an end, after it a break.
    if stream.read(&mut length[..1]).await.map_err(MessageError::Broke)? == 0 {
        return Err(MessageError::Ended);
    }
    stream.read_exact(&mut length[1..]).await.map_err(MessageError::Broke)?;
    let announced = u32::from_be_bytes(length) as usize;
    if announced > limit {
        return Err(MessageError::TooLong { announced, limit });
    }
    let mut bytes = vec![0; announced];
    stream.read_exact(&mut bytes).await.map_err(MessageError::Broke)?;
    Ok(bytes)
}

/// Reads one message of at most `limit` bytes.
///
/// Not cancel-safe, as [`read_bytes`].
pub async fn read<T: DeserializeOwned, R: AsyncRead + Unpin>(
    stream: &mut R,
    limit: usize,
) -> Result<T, MessageError> {
    serde_json::from_slice(&read_bytes(stream, limit).await?).map_err(MessageError::Malformed)
}

/// A message as it travels: its length and its JSON.
///
/// # Errors
/// When the value cannot be written as JSON, or is longer than a length field can say.
pub fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, value)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Writes one message and flushes it.
pub async fn write<T: Serialize, W: AsyncWrite + Unpin>(stream: &mut W, value: &T) -> io::Result<()> {
    stream.write_all(&encode(value)?).await?;
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Answer;
    use proptest::prelude::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn accepts_a_message_of_exactly_the_limit() {
        let bytes = encode(&Answer { allowed: true }).unwrap();
        let read = block_on(read::<Answer, _>(&mut &bytes[..], bytes.len() - 4));
        assert!(read.unwrap().allowed);
    }

    #[test]
    fn refuses_a_message_one_byte_over_the_limit() {
        let bytes = encode(&Answer { allowed: true }).unwrap();
        let read = block_on(read::<Answer, _>(&mut &bytes[..], bytes.len() - 5));
        assert!(matches!(read, Err(MessageError::TooLong { .. })), "{read:?}");
    }

    #[test]
    fn refuses_an_endless_message_without_allocating_it() {
        let read = block_on(read::<Answer, _>(&mut &[0xff; 8][..], 64));
        assert!(matches!(read, Err(MessageError::TooLong { announced: 0xffff_ffff, limit: 64 })), "{read:?}");
    }

    #[test]
    fn tells_an_end_from_a_break() {
        let bytes = encode(&Answer { allowed: true }).unwrap();
        assert!(matches!(block_on(read::<Answer, _>(&mut &[][..], 64)), Err(MessageError::Ended)));
        for cut in 1..bytes.len() {
            let read = block_on(read::<Answer, _>(&mut &bytes[..cut], 64));
            assert!(matches!(read, Err(MessageError::Broke(_))), "{cut}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = block_on(read::<crate::protocol::Asking, _>(&mut &bytes[..], 64));
        }
    }
}
