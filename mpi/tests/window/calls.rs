//! Each operation and each synchronisation by itself.

use oxmpi_core::buffer::Buffer;
use oxmpi_core::process::Threads;
use oxmpi_core::window::{Assertion, Elements, Flavor, LockKind, Target, Window};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

use super::ground::{NONE, Rank, SETTINGS, Words, buffer, long};

const FLAVORS: [Flavor; 3] = [Flavor::Create, Flavor::Allocate, Flavor::Dynamic];

oxmpi_harness::ranks! {
    fn puts_and_gets_between_fences([1, 2, 4], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let (me, size) = (rank.rank(), rank.size());
        let right = (me + 1) % size;
        let left = (me + size - 1) % size;
        for flavor in FLAVORS {
            // Short, longer than a batch, longer than an eager message.
            for count in [1_usize, 700, 40_000] {
                let words = Words::new(&rank, flavor, count + 1);
                let values: Vec<u64> = (0..count as u64).map(|at| at << 8 | u64::from(me)).collect();
                words.window.fence(NONE).unwrap();
                words.put(&values, right, 1).unwrap();
                words.window.fence(NONE).unwrap();
                let expected: Vec<u64> = (0..count as u64).map(|at| at << 8 | u64::from(left)).collect();
                assert_eq!(words.own()[1..], expected, "{flavor:?}");
                let mut got = vec![0; count];
                words.get(&mut got, right, 1).unwrap();
                words.window.fence(NONE).unwrap();
                assert_eq!(got, values, "{flavor:?}");
                words.sum(&values, right, 1).unwrap();
                words.sum(&values, right, 1).unwrap();
                let end = Assertion { no_succeed: true, ..NONE };
                words.window.fence(end).unwrap();
                let tripled: Vec<u64> = expected.iter().map(|value| 3 * value).collect();
                assert_eq!(words.own()[1..], tripled, "{flavor:?}");
                words.free();
            }
        }
        rank.end();
    }

    fn scattered_memory_on_both_sides([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let other = 1 - rank.rank();
        let element = long();
        let every_second = Datatype::vector(50, 1, 2, &element).unwrap();
        let listed = Datatype::indexed_block(5, &[90, 0, 20, 7, 40, 60, 50, 80, 30, 70], &element).unwrap();
        let many = Datatype::vector(3000, 3, 5, &element).unwrap();
        let (all_second, all_listed) = ([50, 2], [50, 0]);
        for datatype in [&every_second, &listed, &many] {
            datatype.commit();
        }
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 20_000);
            for (datatype, [count, _]) in [(&every_second, all_second), (&listed, all_listed), (&many, [9000, 0])] {
                let mine: Vec<u64> = (0..20_000).map(|at| at + 100_000 * u64::from(rank.rank() + 1)).collect();
                // SAFETY: the values outlive the operations.
                let out = unsafe { Buffer::new(mine.as_ptr().cast_mut().cast(), 1, datatype) }.unwrap();
                let expected = out.pack().unwrap();
                let target = Target { rank: Some(other), displacement: words.at(other, 10), count: 1, datatype };
                words.window.fence(NONE).unwrap();
                words.window.put(&out, &target).unwrap();
                words.window.fence(NONE).unwrap();
                let mut back = vec![0_u64; count];
                words.window.get(&buffer(&back), &target).unwrap();
                words.window.fence(NONE).unwrap();
                let bytes: Vec<u8> = back.iter().flat_map(|value| value.to_ne_bytes()).collect();
                assert!(bytes == expected, "{flavor:?}");
                // Twice as much, and what was there before into scattered memory.
                let mut old = vec![0_u64; 20_000];
                // SAFETY: as above.
                let into = unsafe { Buffer::new(old.as_mut_ptr().cast(), 1, datatype) }.unwrap();
                let sum = Op::Predefined(Predefined::Sum);
                let (origin, result) = (Elements { buffer: &out, datatype }, Elements { buffer: &into, datatype });
                words.window.get_accumulate(origin, result, &target, &sum).unwrap();
                words.window.fence(NONE).unwrap();
                assert!(into.pack().unwrap() == expected, "{flavor:?}");
                words.window.get(&buffer(&back), &target).unwrap();
                words.window.fence(NONE).unwrap();
                back.iter_mut().for_each(|value| *value /= 2);
                let bytes: Vec<u8> = back.iter().flat_map(|value| value.to_ne_bytes()).collect();
                assert!(bytes == expected, "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }

    fn every_operation_combines_as_a_reduction_does([2], SETTINGS[..2]) {
        let rank = Rank::join(Threads::One);
        let other = 1 - rank.rank();
        for flavor in [Flavor::Create, Flavor::Allocate] {
            // A slot of 64 bytes for two elements of each type.
            let words = Words::new(&rank, flavor, 8 * Basic::ALL.len());
            for &op in Predefined::ALL {
                let operation = Op::Predefined(op);
                let mut samples: Vec<Sample> = Basic::ALL.iter().enumerate()
                    .filter_map(|(slot, basic)| Sample::new(*basic, &operation, 8 * slot)).collect();
                words.window.fence(NONE).unwrap();
                for sample in &mut samples {
                    let datatype = sample.datatype.clone();
                    words.window.put(&sample.start(), &words.target(other, sample.word, 2, &datatype)).unwrap();
                }
                words.window.fence(NONE).unwrap();
                for sample in &mut samples {
                    let datatype = sample.datatype.clone();
                    let (with, into) = (sample.with(), sample.before());
                    let elements = |buffer| Elements { buffer, datatype: &datatype };
                    let target = words.target(other, sample.word, 2, &datatype);
                    words.window.get_accumulate(elements(&with), elements(&into), &target, &operation).unwrap();
                }
                words.window.fence(NONE).unwrap();
                for sample in &mut samples {
                    let datatype = sample.datatype.clone();
                    words.window.get(&sample.after(), &words.target(other, sample.word, 2, &datatype)).unwrap();
                }
                words.window.fence(NONE).unwrap();
                for sample in &mut samples {
                    sample.check(&operation, flavor);
                }
            }
            words.free();
        }
        rank.end();
    }

    fn posts_and_starts([2, 4], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let (me, size) = (rank.rank(), rank.size());
        let group = rank.comm.group().clone();
        let others = group.exclude(&[me as i32]).unwrap();
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, size as usize);
            for round in 1..10 {
                words.window.post(&others, NONE).unwrap();
                words.window.start(&others, NONE).unwrap();
                for other in (0..size).filter(|other| *other != me) {
                    words.put(&[round], other, me as usize).unwrap();
                }
                words.window.complete().unwrap();
                if round % 2 == 0 {
                    words.window.wait().unwrap();
                } else {
                    while !words.window.test().unwrap() {
                        std::thread::yield_now();
                    }
                }
                let own = words.own();
                for other in (0..size).filter(|other| *other != me) {
                    assert_eq!(own[other as usize], round, "{flavor:?}");
                }
            }
            words.free();
        }
        rank.end();
    }

    fn requests_complete_by_themselves([2, 3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let (me, size) = (rank.rank(), rank.size());
        let right = (me + 1) % size;
        let element = long();
        for flavor in FLAVORS {
            for count in [3_usize, 30_000] {
                let words = Words::new(&rank, flavor, count);
                let values: Vec<u64> = (0..count as u64).map(|at| at + u64::from(me)).collect();
                let out = buffer(&values);
                let elements = |buffer| Elements { buffer, datatype: &element };
                let target = words.target(right, 0, count, &element);
                words.window.lock_all(NONE).unwrap();
                words.window.rput(&out, &target).unwrap().wait().unwrap();
                words.window.flush(Some(right)).unwrap();
                let got = vec![0_u64; count];
                words.window.rget(&buffer(&got), &target).unwrap().wait().unwrap();
                assert_eq!(got, values, "{flavor:?}");
                let sum = Op::Predefined(Predefined::Sum);
                words.window.raccumulate(elements(&out), &target, &sum).unwrap().wait().unwrap();
                let old = vec![0_u64; count];
                let no_op = Op::Predefined(Predefined::NoOp);
                let (nothing, into) = (Buffer::empty(), buffer(&old));
                let mut request = words.window.rget_accumulate(elements(&nothing), elements(&into), &target, &no_op).unwrap();
                request.wait().unwrap();
                let doubled: Vec<u64> = values.iter().map(|value| 2 * value).collect();
                assert_eq!(old, doubled, "{flavor:?}");
                words.window.unlock_all().unwrap();
                rank.barrier();
                words.free();
            }
        }
        rank.end();
    }

    fn nobody_is_a_target_too([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let words = Words::new(&rank, Flavor::Allocate, 4);
        let nobody = Target { rank: None, displacement: 9, count: 1, datatype: &long() };
        let value = [1_u64];
        let window = &words.window;
        window.lock(LockKind::Exclusive, None, NONE).unwrap();
        window.put(&buffer(&value), &nobody).unwrap();
        window.get(&buffer(&value), &nobody).unwrap();
        assert!(window.rput(&buffer(&value), &nobody).unwrap().is_ready());
        window.flush(None).unwrap();
        window.unlock(None).unwrap();
        words.free();
        rank.end();
    }

    fn ranks_of_a_host_see_each_others_memory([1, 3], [oxmpi_harness::ONE_HOST]) {
        let rank = Rank::join(Threads::One);
        let (me, size) = (rank.rank(), rank.size());
        for apart in [false, true] {
            let info = oxmpi_core::info::Info::new();
            info.set("alloc_shared_noncontig", apart.to_string()).unwrap();
            // The first rank has nothing.
            let bytes = 24 * i64::from(me);
            let window = Window::allocate_shared(&rank.comm, bytes, 8, Some(&info)).unwrap();
            assert_eq!((window.bytes(), window.unit()), (bytes as u64, 8));
            window.fence(NONE).unwrap();
            if me > 0 {
                // SAFETY: this rank's memory.
                unsafe { window.base().cast::<u64>().write(u64::from(me)) };
            }
            window.fence(NONE).unwrap();
            let mut last: Option<*mut u8> = None;
            for other in 0..size {
                let part = window.shared_query(Some(other)).unwrap();
                assert_eq!((part.bytes, part.unit), (24 * u64::from(other), 8));
                if other > 0 {
                    // SAFETY: the other rank's memory, which is not written now.
                    assert_eq!(unsafe { part.base.cast::<u64>().read() }, u64::from(other));
                    if !apart && let Some(end) = last {
                        assert_eq!(part.base, end);
                    }
                    last = Some(part.base.wrapping_add(part.bytes as usize));
                }
            }
            let first = window.shared_query(None).unwrap();
            let expected = if size > 1 { 24 } else { 0 };
            assert_eq!(first.bytes, expected);
            window.fence(NONE).unwrap();
            window.free().unwrap();
        }
        rank.end();
    }

    /// Memory of MPI_Alloc_mem is mapped by the others: a window over it is reached directly.
    fn a_window_over_allocated_memory_is_shared([1, 2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let other = rank.size() - 1 - rank.rank();
        let memory = rank.process.allocate_memory(100_000, 64).unwrap();
        let inside = memory.wrapping_add(4000);
        // SAFETY: the memory is freed after the window.
        let window = unsafe { Window::create(&rank.comm, inside, 80_000, 8, None) }.unwrap();
        let is_shared = rank.process.transport().to_string().starts_with("ports");
        let part = window.shared_query(Some(other)).unwrap();
        assert!(!part.base.is_null() || !is_shared, "{}", rank.process.transport());
        let value = [u64::from(rank.rank()) + 5];
        let target = Target { rank: Some(other), displacement: 9999, count: 1, datatype: &long() };
        window.fence(NONE).unwrap();
        window.put(&buffer(&value), &target).unwrap();
        window.fence(NONE).unwrap();
        // SAFETY: inside, and nobody writes it now.
        let found = unsafe { inside.cast::<u64>().add(9999).read_volatile() };
        assert_eq!(found, u64::from(other) + 5);
        window.free().unwrap();
        drop(window);
        assert!(rank.process.free_memory(memory));
        assert!(!rank.process.free_memory(memory));
        rank.end();
    }

    fn memory_comes_and_goes_in_a_dynamic_window([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let other = 1 - rank.rank();
        let window = Window::create_dynamic(&rank.comm, None).unwrap();
        for round in 0..3_u64 {
            let mut memory = vec![0_u64; 8];
            let base = memory.as_mut_ptr();
            // SAFETY: the memory is detached before it goes.
            unsafe { window.attach(base.cast(), 64).unwrap() };
            let mut addresses = [[base as u64], [base as u64]];
            rank.bcast(&mut addresses[0], 0);
            rank.bcast(&mut addresses[1], 1);
            let displacement = addresses[other as usize][0] as i64 + 8;
            let target = Target { rank: Some(other), displacement, count: 1, datatype: &long() };
            let value = [round + 1];
            window.lock(LockKind::Shared, Some(other), NONE).unwrap();
            window.put(&buffer(&value), &target).unwrap();
            window.unlock(Some(other)).unwrap();
            rank.barrier();
            // SAFETY: inside; written by the other rank meanwhile.
            assert_eq!(unsafe { base.add(1).read_volatile() }, round + 1);
            window.detach(base.cast()).unwrap();
            rank.barrier();
            // What is not attached any more is an error, and the window goes on.
            window.lock(LockKind::Shared, Some(other), NONE).unwrap();
            window.put(&buffer(&value), &target).unwrap();
            let error = window.unlock(Some(other)).unwrap_err().to_string();
            assert!(error.contains("has attached no memory") && error.contains(&format!("{displacement:#x}")), "{error}");
            window.lock(LockKind::Shared, Some(other), NONE).unwrap();
            window.get(&buffer(&value), &target).unwrap();
            window.unlock(Some(other)).unwrap_err();
            rank.barrier();
        }
        window.free().unwrap();
        rank.end();
    }
}

/// Two elements of a type: what was there, what is combined with it, what was and is read.
struct Sample {
    datatype: Datatype,
    word: usize,
    memory: [Vec<u8>; 4],
}

impl Sample {
    /// None if the operation does not take the type.
    fn new(basic: Basic, op: &Op, word: usize) -> Option<Sample> {
        let datatype = Datatype::named(basic);
        op.accumulate_for(&datatype).ok()?;
        let bytes = 2 * datatype.extent() as usize;
        assert!((1..=64).contains(&bytes), "{basic:?}");
        // Small numbers, as memory has them.
        let numbers = |seed: u8| {
            let byte = |at: usize| {
                if at.is_multiple_of(4) {
                    seed + at as u8 / 4
                } else {
                    0
                }
            };
            (0..bytes).map(byte).collect()
        };
        let memory = [numbers(3), numbers(5), vec![0; bytes], vec![0; bytes]];
        Some(Sample {
            datatype,
            word,
            memory,
        })
    }

    fn buffer(&mut self, which: usize) -> Buffer {
        let address = self.memory[which].as_mut_ptr();
        // SAFETY: the memory outlives the operations.
        unsafe { Buffer::new(address, 2, &self.datatype) }.unwrap()
    }

    fn start(&mut self) -> Buffer {
        self.buffer(0)
    }

    fn with(&mut self) -> Buffer {
        self.buffer(1)
    }

    fn before(&mut self) -> Buffer {
        self.buffer(2)
    }

    fn after(&mut self) -> Buffer {
        self.buffer(3)
    }

    fn check(&mut self, op: &Op, flavor: Flavor) {
        let mut expected = self.start().pack().unwrap();
        assert_eq!(self.before().pack().unwrap(), expected, "{op:?} {flavor:?}");
        let combiner = op.accumulate_for(&self.datatype).unwrap();
        combiner.combine(&self.with().pack().unwrap(), &mut expected);
        let found = self.after().pack().unwrap();
        assert_eq!(found, expected, "{op:?} {:?} {flavor:?}", self.datatype);
    }
}
