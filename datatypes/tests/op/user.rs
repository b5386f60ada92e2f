//! Users' functions: order, the memory they are given, and types whose packed form is not their
//! layout.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, UserOp};

/// Subtracts, at these displacements in each element, and checks what a C function relies on.
fn subtraction(datatype: &Datatype, places: &'static [isize], calls: &Arc<AtomicUsize>) -> Op {
    let (expected, calls) = (datatype.clone(), Arc::clone(calls));
    let user = UserOp::with_int_count(false, move |input, inout, count, datatype| {
        assert_eq!(*datatype, expected);
        calls.fetch_add(1, Ordering::Relaxed);
        for element in 0..count as isize {
            for place in places {
                let at = element * datatype.extent() as isize + place;
                let left = input.wrapping_offset(at).cast::<f64>();
                let right = inout.wrapping_offset(at).cast::<f64>();
                assert!(left.is_aligned() && right.is_aligned());
                // SAFETY: the datatype has a double at each place of each of `count` elements, so
                // the caller's memory has, and it was just found aligned.
                unsafe { *right = *left - *right };
            }
        }
    });
    Op::User(Arc::new(user))
}

fn packed(values: impl Iterator<Item = f64>) -> Vec<u8> {
    values.flat_map(f64::to_le_bytes).collect()
}

/// Combines `count` elements at two alignments and compares with left minus right; returns how
/// often the function was called when memory was aligned.
fn check(datatype: &Datatype, places: &'static [isize], count: usize) -> usize {
    let calls = Arc::new(AtomicUsize::new(0));
    let op = subtraction(datatype, places, &calls);
    let combiner = op.combine_for(datatype).unwrap();
    assert_eq!(combiner.element_bytes(), places.len() * 8);
    let numbers = 0..count * places.len();
    let left = packed(numbers.clone().map(|i| 3.0 * i as f64));
    let right = packed(numbers.clone().map(|i| i as f64 + 0.5));
    let expected = packed(numbers.map(|i| 2.0 * i as f64 - 0.5));
    let mut called = 0;
    for skews in [[1, 8], [8, 3], [5, 5], [8, 8]] {
        let mut from = vec![0u64; left.len() / 8 + 2];
        let mut to = from.clone();
        let (from, to) = (bytes_of(&mut from), bytes_of(&mut to));
        let (from, to) = (
            &mut from[skews[0]..][..left.len()],
            &mut to[skews[1]..][..left.len()],
        );
        from.copy_from_slice(&left);
        to.copy_from_slice(&right);
        calls.store(0, Ordering::Relaxed);
        combiner.combine(from, to);
        assert!(to == expected, "{count} of {datatype:?} at {skews:?}");
        assert!(from == left, "the input stays as it was");
        called = calls.load(Ordering::Relaxed);
    }
    called
}

fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the memory of a slice of integers, still borrowed; every byte is a value and may
    // become any other.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

fn double() -> Datatype {
    Datatype::named(Basic::Double)
}

#[test]
fn packed_elements_are_given_as_they_are() {
    assert_eq!(check(&double(), &[0], 1), 1);
    assert_eq!(check(&double(), &[0], 100_000), 1, "one call for all");
    let three = Datatype::contiguous(3, &double()).unwrap();
    assert_eq!(check(&three, &[0, 8, 16], 1000), 1);
}

#[test]
fn elements_with_gaps_are_laid_out() {
    let vector = Datatype::vector(2, 1, 3, &double()).unwrap();
    let resized = Datatype::resized(&double(), 0, 40).unwrap();
    for count in [1, 2, 100, 5000] {
        check(&vector, &[0, 24], count);
        check(&resized, &[0], count);
    }
    // Interleaved: each element's second number lies between the next ones' first and second.
    let woven = Datatype::resized(&vector, 0, 8).unwrap();
    check(&woven, &[0, 24], 3);
}

#[test]
fn data_may_begin_anywhere() {
    let below = Datatype::hindexed(&[1, 1], &[-8, 8], &double()).unwrap();
    assert_eq!((below.lb(), below.extent()), (-8, 24));
    let beyond = Datatype::hindexed(&[1], &[1 << 44], &double()).unwrap();
    let order = Datatype::hindexed(&[1, 1], &[16, 0], &double()).unwrap();
    let backwards = Datatype::resized(&below, 0, -24).unwrap();
    for count in [1, 3, 4000] {
        check(&below, &[-8, 8], count);
        check(&beyond, &[1 << 44], count);
        check(&order, &[16, 0], count);
        check(&backwards, &[-8, 8], count);
    }
    let on_top = Datatype::resized(&double(), 0, 0).unwrap();
    assert_eq!(
        check(&on_top, &[0], 7),
        7,
        "elements in one place are combined one by one"
    );
}

#[test]
fn a_pair_has_the_gaps_of_its_struct() {
    #[repr(C)]
    struct DoubleInt {
        value: f64,
        index: i32,
    }
    let user = UserOp::new(true, |input, inout, count, _| {
        let count = count as usize;
        // SAFETY: MPI_DOUBLE_INT is this struct, and there are `count` of them at both addresses.
        let (left, right) = unsafe {
            let left = std::slice::from_raw_parts(input.cast::<DoubleInt>(), count);
            (
                left,
                std::slice::from_raw_parts_mut(inout.cast::<DoubleInt>(), count),
            )
        };
        for (left, right) in left.iter().zip(right) {
            right.value += left.value;
            right.index *= left.index;
        }
    });
    let combiner = Op::User(user.into())
        .combine_for(&Datatype::named(Basic::DoubleInt))
        .unwrap();
    let pairs = |value: f64, index: i32| {
        let pair = [value.to_le_bytes().as_slice(), &index.to_le_bytes()].concat();
        pair.repeat(5)
    };
    let mut inout = pairs(1.5, 3);
    combiner.combine(&pairs(2.0, -7), &mut inout);
    assert_eq!(inout, pairs(3.5, -21));
}

/// Words under concatenation: associative, not commutative, so only the right order gives the right
/// word.
#[test]
fn lower_ranks_stand_on_the_left() {
    let word = Datatype::contiguous(8, &Datatype::named(Basic::Char)).unwrap();
    let user = UserOp::new(false, |input, inout, count, _| {
        for element in 0..count as usize {
            // SAFETY: an element is 8 characters, and there are `count` of them at both addresses.
            let (left, right) = unsafe {
                let left = input.add(element * 8).cast::<[u8; 8]>();
                (&*left, &mut *inout.add(element * 8).cast::<[u8; 8]>())
            };
            let joined: Vec<u8> = left
                .iter()
                .chain(right.iter())
                .copied()
                .filter(|c| *c != 0)
                .collect();
            *right = [0; 8];
            right[..joined.len()].copy_from_slice(&joined);
        }
    });
    let op = Op::User(user.into());
    assert!(!op.is_commutative());
    let combiner = op.combine_for(&word).unwrap();
    let mut result = *b"c\0\0\0\0\0\0\0";
    combiner.combine(b"b\0\0\0\0\0\0\0", &mut result);
    combiner.combine(b"a\0\0\0\0\0\0\0", &mut result);
    assert_eq!(&result, b"abc\0\0\0\0\0");
}

#[test]
fn a_type_without_data_calls_nobody() {
    let nothing = Datatype::contiguous(0, &double()).unwrap();
    let called = Arc::new(Mutex::new(false));
    let seen = Arc::clone(&called);
    let op = Op::User(UserOp::new(true, move |_, _, _, _| *seen.lock().unwrap() = true).into());
    let combiner = op.combine_for(&nothing).unwrap();
    assert_eq!(combiner.element_bytes(), 1, "callers divide by it");
    combiner.combine(&[], &mut []);
    assert!(!*called.lock().unwrap());
}
