//! Properties over arbitrary packets and arbitrary bytes.
//!
//! Every legal value survives the wire; no bytes at all make the parser panic, and whatever it
//! accepts it would have emitted the same way.

use oxmpi_wire::{Envelope, Kind, PREFIX_BYTES, Packet, Repr, VERSION};
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
    ]
}

prop_compose! {
    fn reprs()(
        (context, source, sequence, credit) in any::<(u32, u32, u32, u32)>(),
        tag in any::<i32>(),
        bytes in any::<u64>(),
        kind in kinds(),
    ) -> Repr {
        Repr { envelope: Envelope { context, source, tag, bytes }, sequence, credit, kind }
    }
}

/// Bytes that come far: mostly a right version, a kind near the legal ones and few flags.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let rest = prop::collection::vec(any::<u8>(), 0..80);
    (0u8..3, 0u8..12, 0u8..20, 0u8..2, rest).prop_map(|(version, kind, flags, more, rest)| {
        let mut bytes = vec![version, kind, flags, more];
        bytes.extend(rest);
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
