//! The job's key: 128 random bits that only the processes of one job know.
//!
//! Rank 0 draws it, the launcher's key-value space carries it as hexadecimal text, and
//! the handshake proves knowledge of it with [`JobKey::proof`]. The key itself never travels
//! between processes, never stands in an argument list, and neither `Debug` nor `Display` shows it.
//! Comparisons take the same time wherever the first difference lies.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a key: 128 bits, as many as a guess can never cover.
pub const KEY_BYTES: usize = 16;
/// Bytes of a proof: what SHA-256 gives.
pub const PROOF_BYTES: usize = 32;
/// Bytes of a nonce: random ones of this length do not repeat within the life of a job.
pub const NONCE_BYTES: usize = 16;

/// What is drawn afresh for every handshake, so that no proof can be used twice.
pub type Nonce = [u8; NONCE_BYTES];
/// Knowledge of the key, tied to the parts it was made over.
pub type Proof = [u8; PROOF_BYTES];

/// The secret that the processes of one job share.
#[derive(Clone)]
pub struct JobKey([u8; KEY_BYTES]);

/// The system gave no random bytes.
#[cfg(feature = "random")]
#[derive(Debug)]
pub struct RandomError(getrandom::Error);

#[cfg(feature = "random")]
impl fmt::Display for RandomError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = &self.0;
        write!(
            to,
            "the system gives no random bytes ({why}): getrandom(2) must be permitted, or /dev/urandom readable"
        )
    }
}

#[cfg(feature = "random")]
impl core::error::Error for RandomError {}

/// Why a text is not a key. It does not repeat the text, which may be most of a secret.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Too long or too short.
    Length {
        /// Bytes of the text.
        bytes: usize,
    },
    /// Something other than 0-9 and a-f.
    Digit {
        /// Where, from 0.
        position: usize,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Length { bytes } => {
                let digits = 2 * KEY_BYTES;
                write!(
                    to,
                    "a job's key is {digits} hexadecimal digits, not {bytes} bytes"
                )?;
            }
            KeyError::Digit { position } => write!(
                to,
                "byte {position} of the job's key is not a hexadecimal digit"
            )?,
        }
        to.write_str(": another program or another version of OxMPI wrote it")
    }
}

impl core::error::Error for KeyError {}

/// A nonce for one handshake.
#[cfg(feature = "random")]
pub fn random_nonce() -> Result<Nonce, RandomError> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(RandomError)?;
    Ok(nonce)
}

/// A salt for the keys of one endpoint's conversations.
#[cfg(feature = "random")]
pub fn random_salt() -> Result<u64, RandomError> {
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).map_err(RandomError)?;
    Ok(u64::from_le_bytes(salt))
}

impl JobKey {
    /// A new key.
    #[cfg(feature = "random")]
    pub fn random() -> Result<JobKey, RandomError> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(RandomError)?;
        Ok(JobKey(bytes))
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> JobKey {
        JobKey(bytes)
    }

    /// The text form, for the launcher's key-value space. Not `Display`, so that it enters no
    /// message by accident.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// HMAC-SHA-256 over the parts, each preceded by its length so that no two lists of parts give
    /// the same bytes.
    pub fn proof(&self, parts: &[&[u8]]) -> Proof {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Whether `claimed` is the proof over the parts; the time it takes does not tell how much of
    /// it is right.
    pub fn verifies(&self, parts: &[&[u8]], claimed: &Proof) -> bool {
        self.mac(parts).verify_slice(claimed).is_ok()
    }

    /// The job's number among all jobs, for contexts: random, and no secret.
    pub fn job_nonce(&self) -> u32 {
        let proof = self.proof(&[b"oxmpi job nonce"]);
        let first = proof.first_chunk().expect("a proof has 32 bytes");
        u32::from_le_bytes(*first)
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of every length");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl PartialEq for JobKey {
    fn eq(&self, other: &JobKey) -> bool {
        // The difference of all bytes is gathered before it is looked at.
        let difference = self
            .0
            .iter()
            .zip(&other.0)
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        core::hint::black_box(difference) == 0
    }
}

impl Eq for JobKey {}

impl fmt::Debug for JobKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JobKey(not shown)")
    }
}

impl FromStr for JobKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<JobKey, KeyError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * KEY_BYTES {
            return Err(KeyError::Length {
                bytes: digits.len(),
            });
        }
        let digit = |position: usize| {
            (digits[position] as char)
                .to_digit(16)
                .map(|digit| digit as u8)
                .ok_or(KeyError::Digit { position })
        };
        let mut bytes = [0; KEY_BYTES];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = digit(2 * index)? << 4 | digit(2 * index + 1)?;
        }
        Ok(JobKey(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::ToString;

    /// RFC 4231, test case 2, shows that the construction is HMAC-SHA-256; its key is shorter than
    /// ours.
    #[test]
    fn hmac_is_that_of_the_rfc() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let text: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            text,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let key = JobKey::from_bytes([7; KEY_BYTES]);
        let whole = key.proof(&[b"ab", b"c"]);
        for other in [
            &[b"a" as &[u8], b"bc"] as &[&[u8]],
            &[b"abc"],
            &[b"ab", b"c", b""],
            &[b"c", b"ab"],
        ] {
            assert_ne!(whole, key.proof(other), "{other:?}");
            assert!(!key.verifies(other, &whole), "{other:?}");
        }
        assert!(key.verifies(&[b"ab", b"c"], &whole));
    }

    #[cfg(feature = "random")]
    #[test]
    fn keys_are_random_and_are_not_shown() {
        let key = JobKey::random().unwrap();
        assert_ne!(key, JobKey::random().unwrap());
        assert_ne!(random_nonce().unwrap(), random_nonce().unwrap());
        assert_eq!(format!("{key:?}"), "JobKey(not shown)");
        assert_eq!(key.to_hex().parse(), Ok(key));
    }

    #[test]
    fn what_is_not_a_key_is_refused_without_repeating_it() {
        assert_eq!(
            "abc".parse::<JobKey>().unwrap_err().to_string(),
            "a job's key is 32 hexadecimal digits, not 3 bytes: another program or another version of OxMPI wrote it"
        );
        assert_eq!(
            "0123456789abcdef0123456789abcdeg"
                .parse::<JobKey>()
                .unwrap_err()
                .to_string(),
            "byte 31 of the job's key is not a hexadecimal digit: another program or another version of OxMPI wrote it"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}") {
            if let Ok(key) = text.parse::<JobKey>() {
                prop_assert_eq!(key.to_hex(), text.to_lowercase());
            }
        }

        #[test]
        fn text_form_round_trips(bytes: [u8; KEY_BYTES]) {
            let key = JobKey::from_bytes(bytes);
            prop_assert_eq!(key.to_hex().parse::<JobKey>().unwrap(), key);
        }
    }
}
