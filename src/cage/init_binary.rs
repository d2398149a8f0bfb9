//! Which init goes into a sealed image?
//!
//! The one this launcher was built with: compiled statically by `build.rs` and carried inside the launcher, so
//! that one file is the product and both ends of the link are always of one build.

use crate::digest::Digest;

/// The static executable that becomes PID 1 of every cage.
pub static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pinfold-init"));

/// Names the bytes of [`INIT`]; a sealed image that carries another init is sealed again.
pub fn digest() -> Digest {
    Digest::of(INIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_init_is_a_static_executable() {
        assert_eq!(&INIT[..4], b"\x7fELF");
        // A dynamic executable names its loader, which a cage need not have.
        assert!(!INIT.windows(8).any(|bytes| bytes == b"ld-linux"));
    }
}
