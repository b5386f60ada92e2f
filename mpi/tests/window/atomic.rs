//! Accumulations are atomic per element, whichever way they come.

use oxmpi_core::process::Threads;
use oxmpi_core::window::{Elements, Flavor, Target};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

use super::ground::{NONE, Rank, SETTINGS, Words, buffer, long};
use oxmpi_core::buffer::Buffer;

const FLAVORS: [Flavor; 3] = [Flavor::Create, Flavor::Allocate, Flavor::Dynamic];

oxmpi_harness::ranks! {
    /// Everybody draws numbers from one counter: none is drawn twice.
    fn a_counter_gives_each_number_once([1, 2, 4], SETTINGS) {
        const DRAWS: u64 = 100;
        let rank = Rank::join(Threads::One);
        let all = DRAWS * u64::from(rank.size());
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 1 + all as usize);
            words.window.lock_all(NONE).unwrap();
            for _ in 0..DRAWS {
                let mut drawn = 0;
                words.fetch(&1, &mut drawn, Predefined::Sum, 0, 0).unwrap();
                words.window.flush(Some(0)).unwrap();
                words.sum(&[1], 0, 1 + drawn as usize).unwrap();
            }
            words.window.unlock_all().unwrap();
            rank.barrier();
            if rank.rank() == 0 {
                let own = words.own();
                assert_eq!(own[0], all, "{flavor:?}");
                assert!(own[1..].iter().all(|count| *count == 1), "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }

    /// A lock made of compare-and-swap guards a sum that is not atomic by itself.
    fn compare_and_swap_makes_a_lock([2, 3], SETTINGS) {
        const ROUNDS: u64 = 25;
        let rank = Rank::join(Threads::One);
        let element = long();
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            let me = u64::from(rank.rank()) + 1;
            let swap = |new: u64, compare: u64| {
                let mut old = 0_u64;
                let target = words.target(0, 0, 1, &element);
                let (new, compare, into) = (&raw const new, &raw const compare, &raw mut old);
                // SAFETY: the operation is completed before they go.
                unsafe {
                    words.window.compare_and_swap(new.cast(), compare.cast(), into.cast(), &target).unwrap();
                    words.window.flush(Some(0)).unwrap();
                    into.read_volatile()
                }
            };
            words.window.lock_all(NONE).unwrap();
            for _ in 0..ROUNDS {
                while swap(me, 0) != 0 {
                    std::thread::yield_now();
                }
                let mut value = [0];
                words.get(&mut value, 0, 1).unwrap();
                words.window.flush(Some(0)).unwrap();
                words.put(&[value[0] + 1], 0, 1).unwrap();
                words.window.flush(Some(0)).unwrap();
                assert_eq!(swap(0, me), me, "{flavor:?}");
            }
            words.window.unlock_all().unwrap();
            rank.barrier();
            if rank.rank() == 0 {
                assert_eq!(words.own(), [0, ROUNDS * u64::from(rank.size())], "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }

    /// Elements of every size, aligned and not, from everybody at once, the target included.
    fn sums_of_every_size_lose_nothing([2, 4], SETTINGS) {
        const ROUNDS: u64 = 100;
        let rank = Rank::join(Threads::One);
        let window = oxmpi_core::window::Window::allocate(&rank.comm, 4096, 1, None).unwrap();
        let basics = [
            Basic::Int8, Basic::Uint16, Basic::Int32, Basic::Int64, Basic::Float, Basic::Double,
            Basic::CDoubleComplex, Basic::CFloatComplex,
        ];
        window.lock_all(NONE).unwrap();
        for round in 0..ROUNDS {
            for (at, basic) in basics.into_iter().enumerate() {
                for skew in [0, 1] {
                    let datatype = Datatype::named(basic);
                    let one = one(basic);
                    // SAFETY: completed before it goes.
                    let origin = unsafe { Buffer::new(one.as_ptr().cast_mut(), 1, &datatype) }.unwrap();
                    let displacement = (at * 256 + skew * 128 + skew) as i64;
                    let target = Target { rank: Some(0), displacement, count: 1, datatype: &datatype };
                    let origin = Elements { buffer: &origin, datatype: &datatype };
                    window.accumulate(origin, &target, &Op::Predefined(Predefined::Sum)).unwrap();
                    window.flush_local(Some(0)).unwrap();
                }
            }
            if round % 10 == 0 {
                window.flush_all().unwrap();
            }
        }
        window.unlock_all().unwrap();
        rank.barrier();
        if rank.rank() == 0 {
            for (at, basic) in basics.into_iter().enumerate() {
                for skew in [0, 1] {
                    let place = window.base().wrapping_add(at * 256 + skew * 128 + skew);
                    // SAFETY: inside the window, which nobody changes now.
                    let found = unsafe { std::slice::from_raw_parts(place, basic.size() as usize) };
                    let total = ROUNDS * u64::from(rank.size());
                    assert_eq!(found, number(basic, total), "{basic:?} {skew}");
                }
            }
        }
        rank.barrier();
        window.free().unwrap();
        rank.end();
    }

    /// The largest value and where it was: a pair changes as a whole.
    fn pairs_stay_together([3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let datatype = Datatype::named(Basic::DoubleInt);
        let window = oxmpi_core::window::Window::allocate(&rank.comm, 64, 1, None).unwrap();
        let pair = |value: f64, index: i32| {
            let mut bytes = [0_u8; 16];
            bytes[..8].copy_from_slice(&value.to_ne_bytes());
            bytes[8..12].copy_from_slice(&index.to_ne_bytes());
            bytes
        };
        window.lock_all(NONE).unwrap();
        for round in 0..200 {
            let value = round * 3 + rank.rank() as i32;
            let mut mine = pair(f64::from(value), -value);
            // SAFETY: completed before it goes.
            let origin = unsafe { Buffer::new(mine.as_mut_ptr(), 1, &datatype) }.unwrap();
            let target = Target { rank: Some(1), displacement: 0, count: 1, datatype: &datatype };
            let origin = Elements { buffer: &origin, datatype: &datatype };
            window.accumulate(origin, &target, &Op::Predefined(Predefined::MaxLoc)).unwrap();
            window.flush(Some(1)).unwrap();
        }
        window.unlock_all().unwrap();
        rank.barrier();
        if rank.rank() == 1 {
            // SAFETY: inside the window, which nobody changes now.
            let found = unsafe { std::slice::from_raw_parts(window.base(), 12) };
            assert_eq!(found, &pair(599.0, -599)[..12]);
        }
        rank.barrier();
        window.free().unwrap();
        rank.end();
    }

    /// Several threads of every rank, on windows of both ways.
    fn threads_lose_nothing([2, 3], SETTINGS) {
        const ROUNDS: u64 = 100;
        const THREADS: u64 = 3;
        let rank = Rank::join(Threads::Many);
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            words.window.lock_all(NONE).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    let words = &words;
                    let size = rank.size();
                    scope.spawn(move || {
                        for round in 0..ROUNDS {
                            let target = round as u32 % size;
                            words.sum(&[1], target, 0).unwrap();
                            let mut old = u64::MAX;
                            words.fetch(&2, &mut old, Predefined::Sum, target, 1).unwrap();
                            words.window.flush(Some(target)).unwrap();
                            // SAFETY: a local that the operation has written.
                            let old = unsafe { (&raw const old).read_volatile() };
                            assert!(old.is_multiple_of(2) && old < 2 * THREADS * ROUNDS * u64::from(size));
                        }
                    });
                }
            });
            words.window.unlock_all().unwrap();
            rank.barrier();
            let mut total = words.own()[0];
            let mut all = vec![0];
            for from in 0..rank.size() {
                let mut one = [words.own()[0]];
                rank.bcast(&mut one, from);
                all.push(one[0]);
            }
            total += all.iter().sum::<u64>() - total;
            assert_eq!(total, ROUNDS * THREADS * u64::from(rank.size()), "{flavor:?}");
            rank.barrier();
            words.free();
        }
        rank.end();
    }

    /// Accumulations of one origin to one place happen in the order of the calls (§12.7.2).
    fn accumulations_keep_their_order([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        for flavor in FLAVORS {
            let count = 1000;
            let words = Words::new(&rank, flavor, count);
            words.window.lock_all(NONE).unwrap();
            if rank.rank() == 1 {
                let element = long();
                for round in 1..=40_u64 {
                    // Long ones and short ones in turn.
                    let length = if round % 3 == 0 { count } else { 2 };
                    let values = vec![round; length];
                    let origin = Elements { buffer: &buffer(&values), datatype: &element };
                    let target = words.target(0, 0, length, &element);
                    words.window.accumulate(origin, &target, &Op::Predefined(Predefined::Replace)).unwrap();
                    words.window.flush_local(Some(0)).unwrap();
                }
            }
            words.window.unlock_all().unwrap();
            rank.barrier();
            if rank.rank() == 0 {
                let own = words.own();
                assert_eq!(own[..3], [40, 40, 39], "{flavor:?}");
                assert!(own[2..].iter().all(|value| *value == 39), "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }
}

/// A small number as a value of a type.
fn number(basic: Basic, value: u64) -> Vec<u8> {
    match basic {
        Basic::Float => (value as f32).to_ne_bytes().to_vec(),
        Basic::Double => (value as f64).to_ne_bytes().to_vec(),
        Basic::CFloatComplex => [(value as f32).to_ne_bytes(), [0; 4]].concat(),
        Basic::CDoubleComplex => [(value as f64).to_ne_bytes(), [0; 8]].concat(),
        _ => value.to_ne_bytes()[..basic.size() as usize].to_vec(),
    }
}

fn one(basic: Basic) -> Vec<u8> {
    number(basic, 1)
}
