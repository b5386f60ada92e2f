//! How fast strided blocks are packed, as a ratio to a loop written by hand for the same bytes in
//! the same run. Run with `cargo test --release -p oxmpi-datatypes --test datatype -- --ignored
//! --nocapture speed`.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_datatypes::datatype::{Basic, Datatype, Layout};

/// Rounds of each measurement; the best of them counts, since others use the machine too.
const ROUNDS: usize = 15;

/// Seconds that the fastest of several rounds of each work takes; they take turns, so that both see
/// the same noise.
fn best(ours: &mut dyn FnMut(), reference: &mut dyn FnMut()) -> (f64, f64) {
    let round = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64()
    };
    (0..ROUNDS).fold((f64::INFINITY, f64::INFINITY), |best, _| {
        (best.0.min(round(ours)), best.1.min(round(reference)))
    })
}

/// The loop a programmer writes: blocks of 8 bytes, a constant stride.
#[inline(never)]
fn by_hand(memory: &[u64], stride: usize, out: &mut [u64]) {
    for (index, out) in out.iter_mut().enumerate() {
        *out = memory[index * stride];
    }
}

#[inline(never)]
fn by_hand_back(packed: &[u64], stride: usize, memory: &mut [u64]) {
    for (index, packed) in packed.iter().enumerate() {
        memory[index * stride] = *packed;
    }
}

fn report(what: &str, blocks: usize, repeat: usize, bytes: usize, ours: f64, hand: f64) -> f64 {
    let total = (bytes * repeat) as f64 / 1e9;
    println!(
        "{what:>8} {blocks:>8} blocks: ours {:6.2} GB/s, reference {:6.2} GB/s, ratio {:.2}",
        total / ours,
        total / hand,
        hand / ours
    );
    hand / ours
}

fn strided(blocks: usize, stride: usize) -> [f64; 2] {
    let repeat = (1 << 22) / blocks;
    let words: Vec<u64> = (0..(blocks * stride) as u64).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let double = Datatype::named(Basic::Double);
    let vector = Datatype::vector(blocks as i64, 1, stride as i64, &double).unwrap();
    let layout: Layout = vector.layout(1).unwrap();
    let (mut packed, mut packed_words) = (vec![0u8; blocks * 8], vec![0u64; blocks]);
    let (ours, hand) = best(
        &mut || {
            for _ in 0..repeat {
                let source = black_box(&bytes);
                layout
                    .pack(source, 0, 0..layout.bytes(), &mut packed)
                    .unwrap();
            }
        },
        &mut || (0..repeat).for_each(|_| by_hand(black_box(&words), stride, &mut packed_words)),
    );
    let pack = report("pack", blocks, repeat, blocks * 8, ours, hand);
    let (mut target, mut target_words) = (vec![0u8; bytes.len()], vec![0u64; words.len()]);
    let (ours, hand) = best(
        &mut || {
            for _ in 0..repeat {
                let source = black_box(&packed);
                layout
                    .unpack(source, 0..layout.bytes(), &mut target, 0)
                    .unwrap();
            }
        },
        &mut || {
            for _ in 0..repeat {
                by_hand_back(black_box(&packed_words), stride, &mut target_words);
            }
        },
    );
    [
        pack,
        report("unpack", blocks, repeat, blocks * 8, ours, hand),
    ]
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-datatypes --test datatype -- --ignored --nocapture --test-threads=1 speed"]
fn speed_of_strided_blocks_is_half_of_a_loop_by_hand_or_more() {
    for (blocks, stride) in [(16, 2), (512, 2), (512, 16), (65_536, 2), (65_536, 9)] {
        println!("stride {stride} words");
        for ratio in strided(blocks, stride) {
            // Sixteen words are over in the time that finding them takes.
            let least = if blocks < 100 { 0.1 } else { 0.5 };
            assert!(
                ratio >= least,
                "{blocks} blocks at stride {stride}: {ratio:.2} of a loop by hand"
            );
        }
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-datatypes --test datatype -- --ignored --nocapture --test-threads=1 speed"]
fn speed_of_large_blocks_is_that_of_a_plain_copy() {
    let (blocks, block) = (64, 1 << 16);
    let byte = Datatype::named(Basic::Byte);
    let vector = Datatype::vector(blocks, block, block + 4096, &byte).unwrap();
    let layout = vector.layout(1).unwrap();
    let memory = vec![7u8; vector.true_extent() as usize];
    let mut packed = vec![0u8; layout.bytes() as usize];
    let mut plain = vec![0u8; packed.len()];
    let (ours, hand) = best(
        &mut || {
            let source = black_box(&memory);
            layout
                .pack(source, 0, 0..layout.bytes(), &mut packed)
                .unwrap();
        },
        &mut || plain.copy_from_slice(black_box(&memory[..layout.bytes() as usize])),
    );
    let ratio = report("pack", blocks as usize, 1, packed.len(), ours, hand);
    assert!(ratio >= 0.8, "{ratio:.2} of a plain copy");
}

/// Packing and unpacking of `count` elements in packets of 32 KiB, as the engine does it, in GB/s.
fn in_packets(datatype: &Datatype, count: u64) -> [f64; 2] {
    const PACKET: u64 = 32 << 10;
    let layout = datatype.layout(count).unwrap();
    let span = datatype.extent() * count as i64;
    let mut memory = vec![3u8; span as usize];
    let mut packed = vec![0u8; layout.bytes() as usize];
    let packets = |total: u64| (0..total).step_by(PACKET as usize);
    let [mut best_pack, mut best_unpack] = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for at in packets(layout.bytes()) {
            let range = at..(at + PACKET).min(layout.bytes());
            let out = &mut packed[range.start as usize..range.end as usize];
            layout.pack(black_box(&memory), 0, range, out).unwrap();
        }
        best_pack = best_pack.min(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        for at in packets(layout.bytes()) {
            let range = at..(at + PACKET).min(layout.bytes());
            let from = &black_box(&packed)[range.start as usize..range.end as usize];
            layout.unpack(from, range, &mut memory, 0).unwrap();
        }
        best_unpack = best_unpack.min(begin.elapsed().as_secs_f64());
    }
    [best_pack, best_unpack].map(|seconds| layout.bytes() as f64 / seconds / 1e9)
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-datatypes --test datatype -- --ignored --nocapture --test-threads=1 speed"]
fn speed_of_structures_and_single_bytes() {
    let [int, double, byte] = [Basic::Int, Basic::Double, Basic::Byte].map(Datatype::named);
    let structure = Datatype::structure(&[1, 1], &[0, 8], &[int.clone(), double.clone()]).unwrap();
    let larger = Datatype::structure(&[4, 8], &[0, 24], &[int, double]).unwrap();
    for (what, datatype, count) in [
        ("struct of int and double", structure, 1 << 16),
        ("struct of 4 int and 8 double with a gap", larger, 1 << 14),
        (
            "bytes at stride 2",
            Datatype::vector(1 << 20, 1, 2, &byte).unwrap(),
            1,
        ),
        (
            "bytes at stride 3",
            Datatype::vector(1 << 20, 1, 3, &byte).unwrap(),
            1,
        ),
        (
            "bytes at stride 7",
            Datatype::vector(1 << 20, 1, 7, &byte).unwrap(),
            1,
        ),
    ] {
        let [pack, unpack] = in_packets(&datatype, count);
        println!("{what}: pack {pack:.2} GB/s, unpack {unpack:.2} GB/s");
    }
}
