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

    /// The type field of each entry of the program header table; elf(5).
    fn segments(elf: &[u8]) -> Vec<u32> {
        let number = |at: usize, bytes: usize| {
            elf[at..at + bytes].iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte))
        };
        let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
        (0..count).map(|n| u32::try_from(number(table + n * size, 4)).unwrap()).collect()
    }

    #[test]
    fn the_embedded_init_needs_no_loader() {
        const PT_LOAD: u32 = 1;
        const PT_INTERP: u32 = 3;
        assert_eq!(&INIT[..6], b"\x7fELF\x02\x01", "an ELF file, 64 bits, little-endian");
        let segments = segments(INIT);
        assert!(segments.contains(&PT_LOAD) && !segments.contains(&PT_INTERP), "{segments:?}");
    }
}
