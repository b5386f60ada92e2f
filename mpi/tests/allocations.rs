//! Nothing is allocated per message: after the first few, messages and collectives use memory
//! again.
//!
//! The allocator counts what the rank's own thread asks for, in batches of each pattern.

#[path = "../../harness/counting.rs"]
mod counting;

use std::sync::Arc;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Reduction, Root};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::{SendMode, Source, Tag};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

/// Rounds of a batch.
const ROUNDS: usize = 20;
/// Batches after which memory must have grown to what the pattern needs, however the ranks were
/// scheduled.
const BATCHES_MAX: usize = 40;

/// Asserts that `round` allocates nothing once it has run for a while. Queues and pools grow with
/// what happens to be under way at once; an allocation per message would show in every batch.
fn assert_none(what: &str, comm: &Comm, mut round: impl FnMut()) {
    let mut counts = Vec::with_capacity(BATCHES_MAX);
    let mut settled = false;
    for _ in 0..BATCHES_MAX {
        let before = counting::asked();
        (0..ROUNDS).for_each(|_| round());
        counts.push(counting::asked() - before);
        settled |= counts.len() > 1 && counts.last() == Some(&0);
        // All ranks run the same number of batches: until the last of them has settled.
        let mut all = [u8::from(settled)];
        let mut mine = all;
        let (send, receive) = (raw(&mut mine), raw(&mut all));
        let (op, datatype) = (
            Op::Predefined(Predefined::Min),
            Datatype::named(Basic::Uint8),
        );
        let reduction = Reduction { op, datatype };
        let send = Some(send);
        comm.collective(Collective::Allreduce {
            send,
            receive,
            reduction,
        })
        .unwrap();
        if all == [1] {
            return;
        }
    }
    assert!(
        settled,
        "{what}: allocations in each batch of {ROUNDS} rounds: {counts:?}"
    );
}

fn raw(bytes: &mut [u8]) -> Buffer {
    // SAFETY: the bytes outlive the collective that uses them.
    unsafe { Buffer::raw(bytes.as_mut_ptr(), bytes.len() as u64) }
}

fn join() -> (Arc<Process>, Arc<Comm>) {
    // SAFETY: these processes have one thread.
    let process = unsafe { Process::join(Threads::One) }.unwrap();
    let world = Arc::new(process.world());
    (process, world)
}

/// `count` elements of a type in memory of their own, for the rest of the process.
fn buffer(count: u64, datatype: &Datatype) -> Buffer {
    datatype.commit();
    let bytes = (count as i64 * datatype.extent()) as usize + 64;
    let memory = vec![0_u8; bytes].leak();
    // SAFETY: the memory is there for ever, and these tests use each buffer for one thing at a
    // time.
    unsafe { Buffer::new(memory.as_mut_ptr(), count, datatype) }.unwrap()
}

fn ping_pong(comm: &Arc<Comm>, data: &Buffer) {
    let (peer, tag) = (1 - comm.rank(), Tag::Is(1));
    let send = || {
        comm.send_buffer(data, Some(peer), 1, SendMode::Standard)
            .unwrap()
    };
    let receive = || {
        comm.recv_buffer(data, Some(Source::Rank(peer)), tag)
            .map(|_| ())
            .unwrap()
    };
    if comm.rank() == 0 {
        send();
        receive();
    } else {
        receive();
        send();
    }
}

fn exchange(comm: &Arc<Comm>, out: &Buffer, into: &Buffer) {
    let (peer, tag) = (1 - comm.rank(), Tag::Is(2));
    let mut receiving = comm
        .irecv_buffer(into, Some(Source::Rank(peer)), tag)
        .unwrap();
    let mut sending = comm
        .isend_buffer(out, Some(peer), 2, SendMode::Standard)
        .unwrap();
    receiving.wait().unwrap();
    sending.wait().unwrap();
}

/// Messages of so many elements, in one block and scattered, blocking and not.
fn talk(counts: &[u64]) {
    let (process, comm) = join();
    let double = Datatype::named(Basic::Double);
    let pairs = Datatype::vector(16, 1, 2, &double).unwrap();
    for (name, datatype) in [("one block", &double), ("scattered", &pairs)] {
        for &count in counts {
            let (out, into) = (buffer(count, datatype), buffer(count, datatype));
            let what = format!("{name}, {} bytes", out.bytes());
            assert_none(&format!("send and receive, {what}"), &comm, || {
                ping_pong(&comm, &out);
            });
            assert_none(&format!("isend and irecv, {what}"), &comm, || {
                exchange(&comm, &out, &into);
            });
        }
    }
    process.finalize();
}

oxmpi_harness::ranks! {
    fn messages([2], [&[], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp")]]) {
        talk(&[1, 100, 16_384]);
    }

    // Shorter, because ciphers are slow in programs that are made for debugging.
    fn encrypted_messages([2], [
        &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp"), ("OXMPI_ENCRYPT", "on")],
        &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp"), ("OXMPI_ENCRYPT", "on")],
    ]) {
        talk(&[1, 600]);
    }

    fn blocking_collectives([3], [&[], &[("OXMPI_BOARDS", "off")]]) {
        let (process, comm) = join();
        let double = Datatype::named(Basic::Double);
        assert_none("barrier", &comm, || comm.collective(Collective::Barrier).unwrap());
        for count in [1, 1000, 100_000] {
            let (out, into) = (buffer(count, &double), buffer(count, &double));
            assert_none(&format!("bcast of {count}"), &comm, || {
                let (buffer, root) = (out.clone(), Root::Rank(0));
                comm.collective(Collective::Bcast { buffer, root }).unwrap();
            });
            assert_none(&format!("allreduce of {count}"), &comm, || {
                let (send, receive) = (Some(out.clone()), into.clone());
                let reduction = Reduction { op: Op::Predefined(Predefined::Sum), datatype: double.clone() };
                comm.collective(Collective::Allreduce { send, receive, reduction }).unwrap();
            });
        }
        process.finalize();
    }

    fn nonblocking_and_persistent_collectives([3], [&[], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp")]]) {
        let (process, comm) = join();
        let double = Datatype::named(Basic::Double);
        assert_none("ibarrier", &comm, || {
            comm.icollective(Collective::Barrier).unwrap().wait().unwrap();
        });
        for count in [1, 1000, 100_000] {
            let (out, into) = (buffer(3 * count, &double), buffer(3 * count, &double));
            let bcast = || Collective::Bcast { buffer: out.clone(), root: Root::Rank(0) };
            let allreduce = || {
                let (send, receive) = (Some(out.clone()), into.clone());
                let reduction = Reduction { op: Op::Predefined(Predefined::Sum), datatype: double.clone() };
                Collective::Allreduce { send, receive, reduction }
            };
            let alltoall = || {
                let (send, receive) = (Some(Parts::Equal(out.clone())), Parts::Equal(into.clone()));
                Collective::Alltoall { send, receive }
            };
            let all: [(&str, &dyn Fn() -> Collective); 3] = [("bcast", &bcast), ("allreduce", &allreduce), ("alltoall", &alltoall)];
            for (name, collective) in all {
                assert_none(&format!("i{name} of {count}"), &comm, || {
                    comm.icollective(collective()).unwrap().wait().unwrap();
                });
                let mut persistent = comm.collective_init(collective()).unwrap();
                assert_none(&format!("persistent {name} of {count}"), &comm, || {
                    persistent.start().unwrap();
                    persistent.wait().unwrap();
                });
            }
            assert_none(&format!("three under way, of {count}"), &comm, || {
                let [mut first, mut second] = [bcast(), alltoall()].map(|begun| comm.icollective(begun).unwrap());
                second.wait().unwrap();
                let mut third = comm.icollective(Collective::Barrier).unwrap();
                first.wait().unwrap();
                third.wait().unwrap();
            });
        }
        process.finalize();
    }
}
