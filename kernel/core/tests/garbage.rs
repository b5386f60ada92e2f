//! Arbitrary bytes, in any pieces, give records or an end, never a panic, and hold no memory
//! afterwards.

mod double;

use double::{Double, Random, content, entry, envelope, packet, seeds};
use oxmpi_o2g_core::Step;
use oxmpi_wire::o2g::{ANY_SOURCE, ANY_TAG, Entry, NO_BUFFER};
use oxmpi_wire::{Code, HEADER_BYTES, Kind, VERSION};

/// A head that could be one: its kind is legal, its other fields and its payload are anything.
fn likely(random: &mut Random) -> Vec<u8> {
    let mut bytes = (random.below(3000) as u32).to_le_bytes().to_vec();
    let known = Code::ALL[random.below(Code::ALL.len() as u64) as usize] as u8;
    let kind = match random.one_in(3) {
        true => random.next() as u8,
        false => known,
    };
    bytes.extend([VERSION, kind, 0, 0]);
    for _ in 0..random.below(3000) + HEADER_BYTES as u64 {
        let byte = if random.one_in(2) { 0 } else { random.next() };
        bytes.push(byte as u8);
    }
    bytes
}

/// A legal packet with one bit turned.
fn turned(random: &mut Random) -> Vec<u8> {
    let kind = match random.below(4) {
        0 => Kind::Eager,
        1 => Kind::More { offset: 5 },
        2 => Kind::Data {
            receive: random.below(8),
            offset: random.below(2000),
        },
        _ => Kind::RequestToSend {
            send: 1,
            address: 2,
            mapped: false,
            fetchable: false,
            sync: true,
        },
    };
    let payload = content(1, 0, random.below(1500) as usize);
    let mut bytes = packet(envelope(1, 1500), 0, kind, &payload);
    let at = random.below(HEADER_BYTES as u64 + 20) as usize % bytes.len();
    bytes[at] ^= 1 << random.below(8);
    bytes
}

fn put_some(double: &mut Double, random: &mut Random) {
    for cookie in 0..8 {
        let flags = [ANY_SOURCE, ANY_TAG, NO_BUFFER].map(|flag| flag * random.below(2) as u32);
        let receive = Entry {
            flags: flags.iter().sum(),
            ..entry(cookie, random.below(2) as i32, random.below(2000))
        };
        // Refused or not, both are answers.
        let _ = double.put(receive, random.one_in(2));
    }
}

#[test]
fn arbitrary_bytes_never_panic_and_everything_is_let_go() {
    for seed in seeds(2000) {
        let random = &mut Random::new(seed);
        let mut double = Double::new(1, 8, 64 << 10);
        let socket = double.core.open_socket(0, 0).expect("room");
        for _ in 0..20 {
            put_some(&mut double, random);
            let bytes = match random.below(4) {
                0 => (0..random.below(200))
                    .map(|_| random.next() as u8)
                    .collect(),
                1 => likely(random),
                2 => turned(random),
                _ => packet(envelope(1, 9), 0, Kind::Eager, &[1; 9]),
            };
            let cut = 1 + random.below(200) as usize;
            let ran = double.run(socket, random.one_in(2), &bytes, cut);
            double.take_all();
            double.core.free_to(double.tail).expect("up to the head");
            if ran.step == Step::Broken {
                break;
            }
        }
        assert!(double.core.end(socket, 0));
        double.core.close_socket(socket);
        for cookie in 0..8 {
            let _ = double.core.cancel(cookie);
        }
        double.release();
        assert!(double.buffers.is_empty(), "all memory is let go");
    }
}
