//! Properties over arbitrary packets and arbitrary bytes.
//!
//! Every legal value survives the wire; no bytes at all make the parser panic, and whatever it
//! accepts it would have emitted the same way.

use oxmpi_wire::{
    Code, Content, Envelope, Kind, MESSAGE_BYTES_MAX, PREFIX_BYTES, Packet, Repr, VERSION,
};
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    let word = any::<u64>;
    prop_oneof![
        Just(Kind::Eager),
        word().prop_map(|offset| Kind::More { offset }),
        (word(), word(), any::<[bool; 3]>()).prop_map(
            |(send, address, [mapped, fetchable, sync])| {
                Kind::RequestToSend {
                    send,
                    address,
                    mapped,
                    fetchable,
                    sync,
                }
            }
        ),
        (word(), word()).prop_map(|(send, receive)| Kind::ClearToSend { send, receive }),
        (word(), word()).prop_map(|(receive, offset)| Kind::Data { receive, offset }),
        word().prop_map(|send| Kind::Done { send }),
        Just(Kind::Credit),
        word().prop_map(|send| Kind::Cancel { send }),
        (word(), any::<bool>()).prop_map(|(send, cancelled)| Kind::CancelReply { send, cancelled }),
        later_kinds(),
    ]
}

/// Kinds that the engine does not speak yet.
fn later_kinds() -> impl Strategy<Value = Kind> {
    let words = any::<(u64, u64)>;
    let halves = any::<(u16, u16)>;
    let region = (words(), any::<bool>(), any::<bool>()).prop_map(
        |((token, offset), typed, get)| match get {
            true => Kind::Get {
                token,
                offset,
                typed,
            },
            false => Kind::Put {
                token,
                offset,
                typed,
            },
        },
    );
    let accumulate = (words(), halves(), any::<(bool, bool)>()).prop_map(
        |((token, offset), (operation, element), (typed, fetching))| Kind::Accumulate {
            token,
            offset,
            operation,
            element,
            typed,
            fetching,
        },
    );
    prop_oneof![
        region,
        accumulate,
        (words(), any::<u16>()).prop_map(|((token, offset), element)| Kind::CompareSwap {
            token,
            offset,
            element
        }),
        words().prop_map(|(token, offset)| Kind::Fetched { token, offset }),
        words().prop_map(|(receive, send)| Kind::Cleared { receive, send }),
        (any::<u64>(), any::<(u8, u8)>()).prop_map(|(token, (kind, reason))| Kind::Refused {
            token,
            kind,
            reason
        }),
        (any::<u64>(), any::<bool>())
            .prop_map(|(token, exclusive)| Kind::Lock { token, exclusive }),
        (any::<u64>(), 0..4).prop_map(|(token, which)| match which {
            0 => Kind::Served { token },
            1 => Kind::Locked { token },
            2 => Kind::Unlock { token },
            _ => Kind::Flush { token },
        }),
        words().prop_map(|(instance, value)| Kind::Agree { instance, value }),
        words().prop_map(|(instance, value)| Kind::Agreed { instance, value }),
        any::<(u64, u32)>().prop_map(|(token, name)| Kind::Introduce { token, name }),
        any::<(u64, u32)>().prop_map(|(token, name)| Kind::Introduced { token, name }),
        Just(Kind::Revoke),
    ]
}

prop_compose! {
    fn reprs()(
        (context, source, sequence, credit) in any::<(u64, u32, u32, u16)>(),
        tag in any::<i32>(),
        bytes in 0..=MESSAGE_BYTES_MAX,
        signature: u8,
        kind in kinds(),
    ) -> Repr {
        Repr { envelope: Envelope { context, source, tag, content: Content::new(bytes, signature) }, sequence, credit, kind }
    }
}

/// Bytes that come far: mostly a right version, a kind that exists or nearly, and few flags.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let rest = prop::collection::vec(any::<u8>(), 30..110);
    let known = prop::sample::select(&Code::ALL[..]).prop_map(|code| code as u8);
    let kind = prop_oneof![3 => known, 1 => any::<u8>()];
    let flags = prop_oneof![0u8..20, Just(0x80), Just(0x81)];
    (1u8..4, kind, flags, any::<bool>(), rest).prop_map(|(version, kind, flags, tidy, rest)| {
        let mut bytes = vec![version, kind];
        bytes.extend(rest);
        bytes[31] = flags;
        if tidy && bytes.len() >= PREFIX_BYTES {
            // Many bodies leave the ends of their words at 0.
            bytes[42..48].fill(0);
            bytes[50..56].fill(0);
        }
        bytes
    })
}

/// Whatever is accepted has the current version and is emitted again as the same bytes.
fn accepted_or_refused(bytes: &[u8]) {
    let Ok(packet) = Packet::new_checked(bytes) else {
        return;
    };
    let repr = Repr::parse(&packet);
    let mut again = vec![0; repr.bytes_on_wire()];
    repr.emit(&mut again);
    assert_eq!(again[0], VERSION);
    assert_eq!(again, bytes[..again.len()]);
    assert_eq!(packet.payload(), &bytes[again.len()..]);
    assert!(!repr.to_string().is_empty());
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(repr in reprs(), before in any::<u8>()) {
        let mut cell = [before; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut cell);
        prop_assert_eq!(used, repr.bytes_on_wire());
        prop_assert_eq!(Repr::parse_prefix(&cell), Ok(repr));
        prop_assert_eq!(Repr::parse(&Packet::new_checked(&cell[..used]).unwrap()), repr);
        prop_assert!(Packet::new_checked(&cell[..used - 1]).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        accepted_or_refused(&bytes);
    }

    #[test]
    fn plausible_bytes_never_panic(bytes in plausible()) {
        accepted_or_refused(&bytes);
        let mut cell = [0; PREFIX_BYTES];
        let taken = bytes.len().min(PREFIX_BYTES);
        cell[..taken].copy_from_slice(&bytes[..taken]);
        if let Ok(repr) = Repr::parse_prefix(&cell) {
            prop_assert!(repr.bytes_on_wire() <= PREFIX_BYTES);
        }
    }
}
