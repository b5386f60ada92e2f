//! What holds for whatever a stranger or another rank says. The tests of this crate and the fuzzer
//! (`fuzz/targets`) call the same.
#![allow(dead_code, reason = "each user calls its part")]

use oxmpi_net::handshake::{Answerer, Dialler, Progress, Step, Verdict};
use oxmpi_net::{Card, JobKey};

const DIALLER: u32 = 3;
const ANSWERER: u32 = 258;

fn key() -> JobKey {
    JobKey::from_bytes(std::array::from_fn(|index| index as u8))
}

fn nonce(first: u8) -> [u8; 16] {
    std::array::from_fn(|index| first + index as u8)
}

fn dialler() -> (Dialler, Vec<u8>) {
    let (dialler, hello) = Dialler::new(&key(), DIALLER, ANSWERER, nonce(0x10));
    (dialler, hello.to_vec())
}

fn answerer() -> Answerer {
    Answerer::new(&key(), ANSWERER, nonce(0x20))
}

/// What the dialler hears and what the answerer hears in a handshake that ends well.
pub fn conversation() -> [Vec<u8>; 2] {
    let (mut dialler, hello) = dialler();
    let mut answerer = answerer();
    let challenge = answerer.handle(&hello).send.to_vec();
    let response = dialler.handle(&challenge).send.to_vec();
    answerer.handle(&response);
    let decision = answerer.verdict(Verdict::Keep).to_vec();
    [[challenge, decision].concat(), [hello, response].concat()]
}

/// The first byte says who hears it and how the rest is cut. Nothing makes an end panic; a
/// handshake ends well only with the bytes that a process with the key says; the cut does not
/// matter.
pub fn handshake(input: &[u8]) {
    let Some((&choices, said)) = input.split_first() else {
        return;
    };
    let cut = usize::from(choices >> 1).max(1);
    let [to_dialler, to_answerer] = conversation();
    let (ends, honest) = match choices & 1 {
        0 => {
            let hear = || {
                let mut dialler = dialler().0;
                move |bytes: &[u8]| dialler.handle(bytes)
            };
            (
                [heard(hear(), said, cut), heard(hear(), said, said.len())],
                to_dialler,
            )
        }
        _ => {
            let hear = || {
                let mut answerer = answerer();
                move |bytes: &[u8]| answerer.handle(bytes)
            };
            (
                [heard(hear(), said, cut), heard(hear(), said, said.len())],
                to_answerer,
            )
        }
    };
    let [in_pieces, at_once] = ends;
    assert_eq!(in_pieces.is_good(), at_once.is_good(), "the cut decides");
    assert_eq!(in_pieces.is_good(), said.starts_with(&honest));
}

/// How a handshake ended, or that it has not.
struct End(Option<Progress>);

impl End {
    fn is_good(&self) -> bool {
        let good = Progress::Done(Verdict::Keep);
        let proven = Progress::Proven { peer: DIALLER };
        self.0
            .as_ref()
            .is_some_and(|end| *end == good || *end == proven)
    }
}

fn heard(mut hear: impl FnMut(&[u8]) -> Step, said: &[u8], cut: usize) -> End {
    for piece in said.chunks(cut.max(1)) {
        let step = hear(piece);
        assert!(step.consumed <= piece.len());
        match step.progress {
            Progress::More => assert_eq!(step.consumed, piece.len()),
            Progress::Refused(why) => {
                assert!(!why.to_string().is_empty());
                return End(Some(Progress::Refused(why)));
            }
            end => return End(Some(end)),
        }
    }
    End(None)
}

/// A card that is accepted is written again as a card that means the same; addresses that were
/// written shorter than we do may be lost at the end.
pub fn card(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match text.parse::<Card>() {
        Ok(card) => {
            let again: Card = card.to_string().parse().expect("what we write is a card");
            let known = again.addresses.len();
            assert_eq!(again.addresses[..], card.addresses[..known]);
            assert_eq!(
                again,
                Card {
                    addresses: again.addresses.clone(),
                    ..card
                }
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
