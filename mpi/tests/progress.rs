//! What was begun goes on while the program computes, without another call of the library.
//!
//! MPI 5.0 §6.12 lets nonblocking collectives progress "asynchronously", and §2.9 asks that what
//! others wait for does not depend on calls of a process that computes. Here a rank begins,
//! computes until the others say through a file that they have ended, and only then looks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_core::any_request::AnyRequest;
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Reduction, Root};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::{SendMode, Source, Tag};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

/// Longer than any of this takes on a loaded machine, and shorter than a job's limit.
const LIMIT: Duration = Duration::from_secs(20);
/// The rank that computes.
const COMPUTES: u32 = 1;

const SETTINGS: [oxmpi_harness::Setting; 3] = [
    &[],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp")],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")],
];

/// A rank of a test, and how the ranks talk past the library.
struct Rank {
    process: Arc<Process>,
    comm: Arc<Comm>,
    signs: PathBuf,
}

impl Rank {
    fn join() -> Rank {
        // SAFETY: these processes have one thread.
        let process = unsafe { Process::join(Threads::One) }.unwrap();
        let comm = Arc::new(process.world());
        let mut number = u64::from(std::process::id()).to_ne_bytes();
        let buffer = raw(&mut number);
        let root = Root::Rank(0);
        comm.collective(Collective::Bcast { buffer, root }).unwrap();
        let name = format!("oxmpi-progress-{}", u64::from_ne_bytes(number));
        let signs = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&signs).unwrap();
        Rank {
            process,
            comm,
            signs,
        }
    }

    fn computes(&self) -> bool {
        self.comm.rank() == COMPUTES
    }

    /// Tells the rank that computes that this one has got so far.
    fn say(&self, what: &str) {
        let name = format!("{what}-{}", self.comm.rank());
        std::fs::write(self.signs.join(name), []).unwrap();
    }

    /// Computes until another rank has said so.
    fn compute_until(&self, what: &str, rank: u32) {
        let sign = self.signs.join(format!("{what}-{rank}"));
        let begin = Instant::now();
        while !sign.exists() {
            assert!(begin.elapsed() < LIMIT, "rank {rank} waits for {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn compute_until_all(&self, what: &str) {
        let others = (0..self.comm.size()).filter(|rank| *rank != self.comm.rank());
        others.for_each(|rank| self.compute_until(what, rank));
    }

    fn barrier(&self) {
        self.comm.collective(Collective::Barrier).unwrap();
    }

    /// Runs a collective in which one rank only computes.
    fn check(&self, what: &str, begin: impl FnOnce() -> AnyRequest) {
        self.barrier();
        if !self.computes() {
            // Nothing has come when the rank that computes begins.
            std::thread::sleep(Duration::from_millis(20));
            let mut operation = begin();
            operation.wait().unwrap();
            self.say(what);
        } else {
            let mut operation = begin();
            self.compute_until_all(what);
            // What the others sent last may still be on its way.
            std::thread::sleep(Duration::from_millis(300));
            assert!(operation.is_ready(), "{what} at the first look");
            operation.conclude().unwrap();
        }
    }

    fn end(self) {
        self.barrier();
        let _ = std::fs::remove_dir_all(&self.signs);
        self.process.finalize();
    }
}

fn raw(bytes: &mut [u8]) -> Buffer {
    // SAFETY: the bytes outlive the operation that uses them.
    unsafe { Buffer::raw(bytes.as_mut_ptr(), bytes.len() as u64) }
}

fn doubles(values: &mut [f64]) -> Buffer {
    let double = Datatype::named(Basic::Double);
    // SAFETY: the values outlive the operation that uses them.
    unsafe { Buffer::new(values.as_mut_ptr().cast(), values.len() as u64, &double) }.unwrap()
}

fn sum() -> Reduction {
    let op = Op::Predefined(Predefined::Sum);
    let datatype = Datatype::named(Basic::Double);
    Reduction { op, datatype }
}

oxmpi_harness::ranks! {
    fn collectives_go_on_while_a_rank_computes([3, 4], SETTINGS) {
        let rank = Rank::join();
        let size = rank.comm.size() as usize;
        rank.check("barrier", || rank.comm.icollective(Collective::Barrier).unwrap());
        for count in [1, 3000, 200_000] {
            let mut out = vec![f64::from(rank.comm.rank()); count];
            let mut into = vec![0.0; count];
            let (send, receive) = (doubles(&mut out), doubles(&mut into));
            rank.check(&format!("allreduce-{count}"), || {
                let (send, receive, reduction) = (Some(send.clone()), receive.clone(), sum());
                rank.comm.icollective(Collective::Allreduce { send, receive, reduction }).unwrap()
            });
            let expected = (0..size).sum::<usize>() as f64;
            assert!(into.iter().all(|value| *value == expected));

            for root in [0, 1] {
                let mut data = vec![f64::from(rank.comm.rank()); count];
                let buffer = doubles(&mut data);
                rank.check(&format!("bcast-{count}-{root}"), || {
                    let (buffer, root) = (buffer.clone(), Root::Rank(root));
                    rank.comm.icollective(Collective::Bcast { buffer, root }).unwrap()
                });
                assert!(data.iter().all(|value| *value == f64::from(root)));
            }

            let mut out = vec![f64::from(rank.comm.rank()); count * size];
            let mut into = vec![0.0; count * size];
            let (send, receive) = (doubles(&mut out), doubles(&mut into));
            rank.check(&format!("alltoall-{count}"), || {
                let (send, receive) = (Some(Parts::Equal(send)), Parts::Equal(receive));
                rank.comm.icollective(Collective::Alltoall { send, receive }).unwrap()
            });
            for (from, block) in into.chunks(count).enumerate() {
                assert!(block.iter().all(|value| *value == from as f64));
            }
        }
        rank.end();
    }

    fn a_persistent_collective_goes_on_at_every_start([3], SETTINGS) {
        let rank = Rank::join();
        let mut out = vec![1.0; 1000];
        let mut into = vec![0.0; 1000];
        let (send, receive, reduction) = (Some(doubles(&mut out)), doubles(&mut into), sum());
        let allreduce = Collective::Allreduce { send, receive, reduction };
        let mut operation = rank.comm.collective_init(allreduce).unwrap();
        for start in 0..5 {
            let what = format!("start-{start}");
            rank.barrier();
            if rank.computes() {
                operation.start().unwrap();
                rank.compute_until_all(&what);
                std::thread::sleep(Duration::from_millis(200));
                assert!(operation.is_ready());
                operation.conclude().unwrap();
            } else {
                std::thread::sleep(Duration::from_millis(10));
                operation.start().unwrap();
                operation.wait().unwrap();
                rank.say(&what);
            }
        }
        drop(operation);
        rank.end();
    }

    fn long_typed_messages_arrive_while_their_receiver_computes([2], SETTINGS) {
        let rank = Rank::join();
        let double = Datatype::named(Basic::Double);
        let pairs = Datatype::vector(16, 1, 2, &double).unwrap();
        pairs.commit();
        for count in [1, 20_000] {
            let what = format!("typed-{count}");
            let mut memory = vec![f64::from(rank.comm.rank()); count * 32];
            // SAFETY: the memory outlives the message.
            let data = unsafe { Buffer::new(memory.as_mut_ptr().cast(), count as u64, &pairs) };
            let data = data.unwrap();
            rank.barrier();
            if rank.computes() {
                let source = Some(Source::Rank(0));
                let mut receiving = rank.comm.irecv_buffer(&data, source, Tag::Is(1)).unwrap();
                rank.compute_until(&what, 0);
                let begin = Instant::now();
                // An element of the type is 31 doubles long.
                let last = &raw const memory[(count - 1) * 31 + 30];
                // SAFETY: it lies inside; the library may write it at any time, so it is read as
                // memory that changes.
                while unsafe { last.read_volatile() } != 0.0 {
                    assert!(begin.elapsed() < LIMIT, "the message does not arrive");
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(50));
                assert!(receiving.is_ready());
                receiving.conclude().unwrap();
                assert_eq!((memory[0], memory[1], memory[30]), (0.0, 1.0, 0.0));
            } else {
                std::thread::sleep(Duration::from_millis(20));
                // A synchronous send ends when its receive has begun; a long one when all was
                // taken.
                rank.comm.send_buffer(&data, Some(1), 1, SendMode::Synchronous).unwrap();
                rank.say(&what);
            }
        }
        rank.end();
    }

    fn partitions_arrive_one_by_one([2], SETTINGS) {
        const PARTITIONS: u64 = 5;
        let rank = Rank::join();
        let double = Datatype::named(Basic::Double);
        let pairs = Datatype::vector(4, 1, 2, &double).unwrap();
        // Partitions of a byte, of a packet and of more than is sent unasked; one block, and
        // scattered ones.
        for (name, datatype, count) in [("block", &double, 1), ("block", &double, 5000), ("block", &double, 60_000), ("pairs", &pairs, 3), ("pairs", &pairs, 9_000)] {
            datatype.commit();
            let elements = PARTITIONS * count;
            let mut memory = vec![-1.0; (elements as i64 * datatype.extent()) as usize / 8];
            // SAFETY: the memory outlives the message.
            let data = unsafe { Buffer::new(memory.as_mut_ptr().cast(), elements, datatype) };
            let data = data.unwrap();
            let mut operation = if rank.computes() {
                rank.comm.partitioned_receive_init(data, PARTITIONS, Some(0), 1).unwrap()
            } else {
                rank.comm.partitioned_send_init(data, PARTITIONS, Some(1), 1).unwrap()
            };
            let partitions = operation.partitions().unwrap();
            let stride = memory.len() / PARTITIONS as usize;
            for start in 0..3 {
                let what = |partition| format!("{name}-{count}-{start}-{partition}");
                operation.start().unwrap();
                for (at, partition) in [3_u64, 0, 4, 2, 1].into_iter().enumerate() {
                    let value = f64::from(start) + partition as f64;
                    if rank.computes() {
                        // It looks once, when the sender has begun to compute and all has had time
                        // to come.
                        rank.compute_until(&what(partition), 0);
                        let begin = Instant::now();
                        while !partitions.arrived(partition).unwrap() {
                            assert!(begin.elapsed() < LIMIT, "{partition} is ready");
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        assert_eq!(memory[partition as usize * stride], value);
                        assert_eq!(operation.is_ready(), at == 4);
                        let there = (0..PARTITIONS).filter(|other| partitions.arrived(*other).unwrap());
                        assert_eq!(there.count(), at + 1, "only those that are ready");
                        rank.say(&what(partition));
                    } else {
                        memory[partition as usize * stride..][..stride].fill(value);
                        partitions.ready(partition, partition).unwrap();
                        rank.say(&what(partition));
                        // Computes until the receiver has it.
                        rank.compute_until(&what(partition), 1);
                    }
                }
                operation.wait().unwrap();
            }
            drop(operation);
        }
        rank.end();
    }

    fn both_sides_cut_a_partitioned_message_as_they_like([2], SETTINGS) {
        let rank = Rank::join();
        let double = Datatype::named(Basic::Double);
        let triples = Datatype::vector(3, 1, 2, &double).unwrap();
        triples.commit();
        for (sent, received) in [(8, 4), (4, 8), (1, 6), (1000, 3), (3, 1000)] {
            let doubles = 3 * sent * received;
            let mut memory = vec![0.0; 2 * doubles as usize];
            if rank.computes() {
                // SAFETY: the memory outlives the message.
                let data = unsafe { Buffer::new(memory.as_mut_ptr().cast(), doubles / 3, &triples) };
                let data = data.unwrap();
                let mut operation = rank.comm.partitioned_receive_init(data.clone(), received, Some(0), 2).unwrap();
                operation.start().unwrap();
                operation.wait().unwrap();
                let expected: Vec<u8> = (0..doubles).flat_map(|at| (at as f64).to_ne_bytes()).collect();
                assert!(data.pack().unwrap() == expected, "{sent} and {received}");
            } else {
                memory.truncate(doubles as usize);
                memory.iter_mut().enumerate().for_each(|(at, value)| *value = at as f64);
                let data = self::doubles(&mut memory);
                let mut operation = rank.comm.partitioned_send_init(data, sent, Some(1), 2).unwrap();
                operation.start().unwrap();
                let partitions = operation.partitions().unwrap();
                (0..sent).rev().for_each(|partition| partitions.ready(partition, partition).unwrap());
                operation.wait().unwrap();
            }
        }
        rank.end();
    }

    /// Nobody sleeps beside what has come: a lost waking would end by the second at which a sleeper
    /// looks after its connections.
    fn a_wait_for_collectives_has_no_gaps([3], SETTINGS) {
        const GAP: Duration = Duration::from_millis(700);
        const ROUNDS: usize = 400;
        let rank = Rank::join();
        let mut longest = Duration::ZERO;
        let mut gaps = 0;
        for round in 0..ROUNDS {
            let count = [1, 500, 20_000][round % 3];
            let mut out = vec![1.0; 3 * count];
            let mut into = vec![0.0; 3 * count];
            let mut data = vec![0.0; count];
            let begin = Instant::now();
            let (send, receive, reduction) = (Some(doubles(&mut out)), doubles(&mut into), sum());
            let allreduce = Collective::Allreduce { send, receive, reduction };
            let bcast = Collective::Bcast { buffer: doubles(&mut data), root: Root::Rank(round as u32 % 3) };
            let mut first = rank.comm.icollective(allreduce).unwrap();
            let mut second = rank.comm.icollective(bcast).unwrap();
            let mut third = rank.comm.icollective(Collective::Barrier).unwrap();
            // In another order than they were begun in.
            third.wait().unwrap();
            first.wait().unwrap();
            second.wait().unwrap();
            longest = longest.max(begin.elapsed());
            gaps += u32::from(begin.elapsed() > GAP);
            assert!(into.iter().all(|value| *value == 3.0));
        }
        println!("the longest of {ROUNDS} rounds took {longest:?}");
        // A loaded machine may hold all of them up once in a while.
        assert!(gaps < 3, "{gaps} rounds took longer than {GAP:?}, the longest {longest:?}");
        rank.end();
    }
}
