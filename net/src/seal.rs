//! Seals: authenticated encryption of what travels between hosts, for `--encrypt`.
//!
//! `pm` seals frames, `tcp` records of its streams; both have a pair of keys for each conversation,
//! and a number for everything they seal. The cipher is AES-128-GCM
//! of the crate `aes-gcm`, which is pure Rust and uses the processor's instructions for AES where
//! it has them; `oxmpi bench network` shows what it costs. 128 bits are also what the job's key
//! has, so a longer key would add nothing.
//!
//! **A number is used once under a key.** GCM is broken by a single repetition, so this is the
//! invariant that everything rests on:
//! - A key belongs to one direction of one conversation. What it is derived from (`pm::secret`,
//!   `handshake`) has the direction and what both ends drew at random: salts of 64 bits for each
//!   endpoint, nonces of 128 bits for each connection.
//! - The number is a counter of 64 bits that its owner only ever increases: the serial number of a
//!   frame's transmission ([`oxmpi_link::Session::stamp`]), or the number of a record. No message
//!   makes it go back.
//! - A repeated frame is a new transmission with a new number. What a device or a socket did not
//!   take is kept as it was sealed, and offered again as the same bytes.
//! - The plain text is copied before it is sealed. Memory that the user changes meanwhile is never
//!   sealed twice under one number.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, KeyInit};
use oxmpi_handshake::{Differing, SealKeys};
use oxmpi_wire::frame::SEAL_BYTES;

pub use oxmpi_handshake::message::SEAL_KEY_BYTES;

/// The key of a direction, ready for use. It is not `Clone` and not `Debug`: two copies could count
/// apart, and texts reach logs.
pub struct Sealer(Aes128Gcm);

/// What was sealed is not what is there: altered, cut, or sealed with another key, number or
/// header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the seal is broken: altered on the way, or forged")]
pub struct Broken;

impl Sealer {
    /// Seals with this key.
    pub fn new(key: &[u8; SEAL_KEY_BYTES]) -> Sealer {
        Sealer(Aes128Gcm::new(key.into()))
    }

    /// Encrypts `contents` where they lie. The seal proves them, the `header` and the number, which
    /// must not have been used before.
    #[inline]
    pub fn seal(&self, number: u64, header: &[u8], contents: &mut [u8]) -> [u8; SEAL_BYTES] {
        let nonce = nonce(number).into();
        let sealed = self
            .0
            .encrypt_inout_detached(&nonce, header, contents.into());
        sealed
            .expect("far less than the 64 GiB that one nonce is good for")
            .into()
    }

    /// Decrypts `contents` where they lie, if they are as the other side has sealed them; otherwise
    /// they stay encrypted.
    #[inline]
    pub fn open(
        &self,
        number: u64,
        header: &[u8],
        contents: &mut [u8],
        seal: &[u8; SEAL_BYTES],
    ) -> Result<(), Broken> {
        let nonce = nonce(number).into();
        self.0
            .decrypt_inout_detached(&nonce, header, contents.into(), seal.into())
            .map_err(|_| Broken)
    }
}

/// 96 bits: the number, and zeros.
fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    nonce
}

/// Why this process and another do not talk of which one encrypts: `theirs`, the other one.
pub fn differing(other: &str, theirs: bool) -> String {
    Differing { other, theirs }.to_string()
}

/// Both directions of a conversation.
pub(crate) struct Seals {
    pub out: Sealer,
    pub into: Sealer,
}

impl From<SealKeys> for Seals {
    fn from(keys: SealKeys) -> Seals {
        Seals {
            out: Sealer::new(&keys.out),
            into: Sealer::new(&keys.into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Test case 4 of the proposal of GCM to NIST has other nonces; this is its empty message,
    /// whose seal every implementation gives.
    #[test]
    fn golden_bytes() {
        let mut nothing = [];
        let seal = Sealer::new(&[0; 16]).seal(0, &[], &mut nothing);
        assert_eq!(
            u128::from_be_bytes(seal),
            0x58e2_fcce_fa7e_3061_367f_1d57_a4e7_455a
        );
        let mut zeros = [0; 16];
        let seal = Sealer::new(&[0; 16]).seal(0, &[], &mut zeros);
        assert_eq!(
            u128::from_be_bytes(zeros),
            0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78
        );
        assert_eq!(
            u128::from_be_bytes(seal),
            0xab6e_47d4_2cec_13bd_f53a_67b2_1257_bddf
        );
    }

    #[test]
    fn the_setting_has_one_name() {
        assert_eq!(oxmpi_handshake::ENCRYPT_NAME, oxmpi_settings::ENCRYPT.name);
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_once_and_only_as_it_was(
            key: [u8; 16],
            number: u64,
            header in prop::collection::vec(any::<u8>(), 0..40),
            contents in prop::collection::vec(any::<u8>(), 0..300),
            bit: usize,
        ) {
            let sealer = Sealer::new(&key);
            let mut bytes = contents.clone();
            let seal = sealer.seal(number, &header, &mut bytes);
            prop_assert!(contents.len() < 16 || bytes != contents);
            let mut opened = bytes.clone();
            prop_assert_eq!(sealer.open(number, &header, &mut opened, &seal), Ok(()));
            prop_assert_eq!(&opened, &contents);
            // Any bit of header, contents or seal.
            let mut all = [&header[..], &bytes, &seal].concat();
            let bit = bit % (8 * all.len());
            all[bit / 8] ^= 1 << (bit % 8);
            let (header_altered, rest) = all.split_at(header.len());
            let (altered, seal_altered) = rest.split_at(bytes.len());
            let mut altered = altered.to_vec();
            let seal_altered = seal_altered.first_chunk().unwrap();
            let opened = sealer.open(number, header_altered, &mut altered, seal_altered);
            prop_assert_eq!(opened, Err(Broken));
            prop_assert_eq!(sealer.open(number ^ 1, &header, &mut bytes.clone(), &seal), Err(Broken));
            let mut other = key;
            other[15] ^= 1;
            prop_assert_eq!(Sealer::new(&other).open(number, &header, &mut bytes, &seal), Err(Broken));
        }
    }
}
