//! How fast sums are, as a ratio to a loop written by hand for the same numbers in the same run.
//! Run with `cargo test --release -p oxmpi-datatypes --test op -- --ignored --nocapture speed`.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Combiner, Op, Predefined};

const ROUNDS: usize = 15;
const BYTES: usize = 16 * 1024;
const REPEAT: usize = 20_000;

fn seconds(mut work: impl FnMut()) -> f64 {
    let begin = Instant::now();
    for _ in 0..REPEAT {
        work();
    }
    begin.elapsed().as_secs_f64()
}

fn ratio<T: Copy>(basic: Basic, zero: T, add: fn(&[T], &mut [T])) -> f64 {
    let combiner: Combiner = Op::from(Predefined::Sum)
        .combine_for(&Datatype::named(basic))
        .unwrap();
    let (input, mut inout) = (
        vec![zero; BYTES / size_of::<T>()],
        vec![zero; BYTES / size_of::<T>()],
    );
    let (mut ours, mut by_hand) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        // SAFETY: the memory of two vectors of integers or floats, which outlive the slices and are
        // not used beside.
        let (from, to) = unsafe {
            let from = std::slice::from_raw_parts(input.as_ptr().cast::<u8>(), BYTES);
            (
                from,
                std::slice::from_raw_parts_mut(inout.as_mut_ptr().cast::<u8>(), BYTES),
            )
        };
        ours = ours.min(seconds(|| {
            combiner.combine(black_box(from), black_box(&mut *to))
        }));
        by_hand = by_hand.min(seconds(|| add(black_box(&input), black_box(&mut inout))));
    }
    let rate = (BYTES * REPEAT) as f64 / 1e9;
    println!(
        "{:>12}: ours {:6.1} GB/s, by hand {:6.1} GB/s, ratio {:.2}",
        basic.name(),
        rate / ours,
        rate / by_hand,
        by_hand / ours
    );
    by_hand / ours
}

macro_rules! by_hand {
    ($type:ty, $add:expr) => {{
        #[inline(never)]
        fn sum(input: &[$type], inout: &mut [$type]) {
            for (inout, input) in inout.iter_mut().zip(input) {
                *inout = $add(*input, *inout);
            }
        }
        sum
    }};
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-datatypes --test op -- --ignored --nocapture speed"]
fn sums_are_as_fast_as_loops_by_hand() {
    let ratios = [
        ratio(Basic::Double, 0.0, by_hand!(f64, |a: f64, b: f64| a + b)),
        ratio(Basic::Float, 0.0, by_hand!(f32, |a: f32, b: f32| a + b)),
        ratio(Basic::Int, 0, by_hand!(i32, i32::wrapping_add)),
        ratio(Basic::Long, 0, by_hand!(i64, i64::wrapping_add)),
    ];
    assert!(ratios.iter().all(|ratio| *ratio > 0.8), "{ratios:?}");
}
