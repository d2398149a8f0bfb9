//! How does a credential travel without being written down?
//!
//! As a [`Secret`]: it has no Debug, Display, Clone or Serialize, is wiped when dropped, and one word, `reveal`,
//! gets at the bytes, so a review of where values go is a search for that word.

mod given;

pub use given::{Given, NotGiven};
use zeroize::Zeroizing;

/// A credential's value.
///
/// ```compile_fail
/// let secret = pinfold::secret::Secret::new(b"hunter2".to_vec());
/// println!("{secret:?}");
/// ```
/// ```compile_fail
/// let secret = pinfold::secret::Secret::new(b"hunter2".to_vec());
/// println!("{secret}");
/// ```
/// ```compile_fail
/// let secret = pinfold::secret::Secret::new(b"hunter2".to_vec());
/// let copy = secret.clone();
/// ```
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes over; they are wiped when this is dropped.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes themselves, for the one place that hands them to the cage.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }
}
