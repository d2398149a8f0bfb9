//! How does a credential travel without being written down?
//!
//! As a [`Secret`]: it has no Debug, Display, Clone or Serialize, is wiped when dropped, and one word, `reveal`,
//! gets at the bytes, so a review of where values go is a search for that word.

mod given;
mod keyring;
mod mask;
mod place;
mod reading;

pub use given::{Given, NotGiven};
pub use keyring::{Entry, Keyring, NoKeyring};
pub use mask::Mask;
pub use place::{Place, Places, read_named, read_value};
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

    /// Whether it can be a variable's value: one line of UTF-8 text, without control characters.
    pub fn is_one_line(&self) -> bool {
        std::str::from_utf8(&self.0).is_ok_and(|text| !text.contains(char::is_control))
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes themselves, for the one place that hands them to the cage.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::given::tests::given;
}
