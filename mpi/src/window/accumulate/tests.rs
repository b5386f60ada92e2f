//! The loops over words against the combiner of the whole block, and threads against each other.

use super::*;
use oxmpi_datatypes::plain::bytes;

/// Numbers that look random, the same for the same seed.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// # Safety
/// As [`Plan::run`] of aligned words.
unsafe fn run_words(plan: &Plan, memory: &mut [u64], origin: &[u8], result: Option<&mut [u8]>) {
    let address = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the caller's promise.
    unsafe { plan.words(address, origin.len(), origin, result) }
}

#[test]
fn words_are_combined_as_whole_blocks_are() {
    let mut seed = 0x1234_5678_9abc_def1;
    let ops = [
        Predefined::Sum,
        Predefined::Product,
        Predefined::Min,
        Predefined::Max,
        Predefined::BitXor,
        Predefined::LogicalAnd,
        Predefined::Replace,
    ];
    let basics = [
        Basic::Int8,
        Basic::Uint16,
        Basic::Int32,
        Basic::Uint64,
        Basic::Float,
        Basic::Double,
    ];
    let mut combinations = 0;
    for (op, basic) in ops.iter().flat_map(|op| basics.map(|basic| (*op, basic))) {
        let Ok(plan) = Plan::new(Element::Basic(basic), op) else {
            continue;
        };
        combinations += 1;
        for words in [1, 7, 8, 9, 63, 64, 65, 200] {
            // Whole numbers of the type, so that floats are ordinary.
            let mut number = |at: usize| -> u64 {
                let value = next(&mut seed) % 100 + at as u64 % 3;
                match basic {
                    Basic::Double => (value as f64).to_bits(),
                    Basic::Float => {
                        let half = u64::from((value as f32).to_bits());
                        half << 32 | half
                    }
                    _ => next(&mut seed),
                }
            };
            let before: Vec<u64> = (0..words).map(&mut number).collect();
            let origin: Vec<u64> = (0..words).map(&mut number).collect();
            let mut expected = before.clone();
            plan.combine(bytes(&origin), bytes_mut(&mut expected));
            let (mut memory, mut fetched) = (before.clone(), vec![0; words]);
            let result = Some(bytes_mut(&mut fetched));
            // SAFETY: memory of this test, aligned for words of 8 bytes.
            unsafe { run_words(&plan, &mut memory, bytes(&origin), result) };
            assert_eq!(memory, expected, "{op:?} of {words} words of {basic:?}");
            assert_eq!(fetched, before, "{op:?} of {words} words of {basic:?}");
            memory.copy_from_slice(&before);
            // SAFETY: as above.
            unsafe { run_words(&plan, &mut memory, bytes(&origin), None) };
            assert_eq!(memory, expected, "{op:?} of {words} words of {basic:?}");
        }
    }
    assert!(combinations > 30, "{combinations}");
}

/// Runs of short elements that begin and end within words of 8 bytes.
#[test]
fn short_elements_beside_whole_words_are_combined_as_well() {
    let mut seed = 0x0fed_cba9_8765_4321;
    for basic in [Basic::Int8, Basic::Uint16, Basic::Int32] {
        for op in [Predefined::Sum, Predefined::Max, Predefined::BitOr] {
            let plan = Plan::new(Element::Basic(basic), op).unwrap();
            for (skip, left) in (0..8).flat_map(|skip| (0..8).map(move |left| (skip, left))) {
                let before: [u64; 16] = std::array::from_fn(|_| next(&mut seed));
                let origin: [u64; 16] = std::array::from_fn(|_| next(&mut seed));
                let range = skip * plan.bytes..128 - left * plan.bytes;
                let (mut memory, mut expected) = (before, before);
                let input = &bytes(&origin)[range.clone()];
                plan.combine(input, &mut bytes_mut(&mut expected)[range.clone()]);
                let mut fetched = vec![0; range.len()];
                let address = bytes_mut(&mut memory)[range.clone()].as_mut_ptr();
                // SAFETY: memory of this test; the address is a multiple of the element's size.
                unsafe { plan.words(address, range.len(), input, Some(&mut fetched)) };
                assert_eq!(memory, expected, "{op:?} of {basic:?} in {range:?}");
                assert_eq!(
                    fetched,
                    bytes(&before)[range.clone()],
                    "{basic:?} in {range:?}"
                );
            }
        }
    }
}

/// Short elements are changed one by one and as whole words at the same time.
#[test]
fn no_sum_of_short_elements_is_lost_between_threads() {
    const BYTES: usize = 100;
    const ROUNDS: usize = 80;
    let plan = Plan::new(Element::Basic(Basic::Uint8), Predefined::Sum).unwrap();
    let memory: Vec<AtomicU64> = (0..BYTES.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|threads| {
        for by_words in [true, false, true] {
            let (plan, memory) = (&plan, &memory);
            threads.spawn(move || {
                let address = memory.as_ptr().cast_mut().cast::<u8>();
                for _ in 0..ROUNDS {
                    // SAFETY: atomics, which all threads change by atomics.
                    unsafe {
                        match by_words {
                            true => plan.words(address, BYTES, &[1; BYTES], None),
                            false => plan.single(address, BYTES, &[1; BYTES], None),
                        }
                    }
                }
            });
        }
    });
    let values: Vec<u64> = memory.into_iter().map(AtomicU64::into_inner).collect();
    assert_eq!(bytes(&values)[..BYTES], [3 * ROUNDS as u8; BYTES]);
}

#[test]
fn no_sum_is_lost_between_threads() {
    const WORDS: usize = 150;
    const ROUNDS: usize = 300;
    let plan = Plan::new(Element::Basic(Basic::Double), Predefined::Sum).unwrap();
    let memory: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
    let ones = [1.0_f64; WORDS];
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    let address = memory.as_ptr().cast_mut().cast::<u8>();
                    // SAFETY: atomics, which all threads change by atomics.
                    unsafe { word8::run(&plan, address, WORDS, bytes(&ones), None) };
                }
            });
        }
    });
    let sums = memory
        .iter()
        .map(|word| f64::from_bits(word.load(Ordering::Relaxed)));
    assert!(sums.into_iter().all(|sum| sum == 3.0 * ROUNDS as f64));
}
