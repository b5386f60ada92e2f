//! Messages whose bytes are not one block, on either side, of every length and by every way of
//! sending and receiving: what arrives is what packing and unpacking by hand would give.

use std::sync::Arc;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::{SendMode, Source, Tag};
use oxmpi_datatypes::datatype::{Basic, Datatype};

/// Memory in which a message of `BYTES_MAX` bytes fits, wherever its pieces lie.
const MEMORY_BYTES: usize = 6 << 20;
const BYTES_MAX: u64 = 1 << 20;
/// Where the buffer's address points: some types reach below it.
const ORIGIN: usize = MEMORY_BYTES / 2;

/// Types whose extents let `BYTES_MAX` bytes of each fit on either side of the origin.
fn types() -> Vec<Datatype> {
    let double = Datatype::named(Basic::Double);
    let byte = Datatype::named(Basic::Byte);
    let pairs = Datatype::vector(16, 1, 2, &double).unwrap();
    let backwards = Datatype::vector(8, 3, -5, &byte).unwrap();
    let uneven = Datatype::indexed(&[1, 4, 2], &[0, 3, 9], &byte).unwrap();
    let nested = Datatype::hvector(3, 1, 17, &uneven).unwrap();
    let block = Datatype::contiguous(24, &byte).unwrap();
    vec![block, pairs, backwards, nested]
}

/// Memory in which neighbours differ, at distances that no type has.
fn pattern(seed: u64) -> Vec<u8> {
    let piece: Vec<u8> = (0..251).map(|at| seed.wrapping_add(at) as u8).collect();
    let mut memory = piece.repeat(MEMORY_BYTES.div_ceil(piece.len()));
    memory.truncate(MEMORY_BYTES);
    memory
}

/// Where `count` elements of a type lie in `memory`.
fn buffer(memory: &mut [u8], count: u64, datatype: &Datatype) -> Buffer {
    // SAFETY: the memory outlives every use in these tests, and all elements lie inside.
    unsafe { Buffer::new(memory.as_mut_ptr().add(ORIGIN), count, datatype) }.unwrap()
}

struct Case<'a> {
    comm: &'a Arc<Comm>,
    peer: u32,
    way: usize,
}

impl Case<'_> {
    fn send(&self, data: &Buffer) {
        let (peer, mode) = (Some(self.peer), SendMode::Standard);
        match self.way {
            0 => self.comm.send_buffer(data, peer, 3, mode).unwrap(),
            1 => {
                let sync = SendMode::Synchronous;
                let mut sending = self.comm.isend_buffer(data, peer, 3, sync).unwrap();
                sending.wait().unwrap();
            }
            _ => {
                let mut sending = self.comm.isend_buffer(data, peer, 3, mode).unwrap();
                sending.wait().unwrap();
            }
        }
    }

    /// Bytes that came.
    fn receive(&self, data: &Buffer) -> u64 {
        let (source, tag) = (Some(Source::Rank(self.peer)), Tag::Is(3));
        match self.way {
            0 => self.comm.recv_buffer(data, source, tag).unwrap().bytes,
            1 => {
                let mut receiving = self.comm.irecv_buffer(data, source, tag).unwrap();
                receiving.wait().unwrap().bytes
            }
            _ => {
                let (claimed, report) = self.comm.claim_message(source, tag).unwrap();
                let mut receiving = claimed.unwrap().irecv(data).unwrap();
                assert_eq!(receiving.wait().unwrap().bytes, report.bytes);
                report.bytes
            }
        }
    }
}

/// Sends so many bytes of one type and receives them as another, and compares all of the memory.
fn exchange(case: &Case<'_>, bytes: u64, sent: &Datatype, received: &Datatype) {
    let seed = bytes + case.way as u64;
    let mut memory = pattern(seed);
    let count = bytes / sent.size();
    let bytes = count * sent.size();
    let expected = buffer(&mut memory, count, sent).pack().unwrap();
    if case.comm.rank() == 0 {
        return case.send(&buffer(&mut memory, count, sent));
    }
    let mut target = pattern(!seed);
    let mut by_hand = target.clone();
    // Room for more than comes, too: the end of the message may lie inside an element.
    let room = bytes.div_ceil(received.size()) + 1;
    assert_eq!(case.receive(&buffer(&mut target, room, received)), bytes);
    buffer(&mut by_hand, room, received).unpack(&expected);
    assert!(
        target == by_hand,
        "{bytes} bytes of {sent:?} as {received:?}, way {}",
        case.way
    );
}

fn join() -> Arc<Process> {
    // SAFETY: these processes have one thread.
    unsafe { Process::join(Threads::One) }.unwrap()
}

oxmpi_harness::ranks! {
    fn any_type_arrives_as_any_other([2], [&[], &[("OXMPI_SINGLE_COPY", "off")], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")]]) {
        let process = join();
        let comm = Arc::new(process.world());
        let types = types();
        types.iter().for_each(Datatype::commit);
        let peer = 1 - comm.rank();
        for bytes in [144, 4000, 70_000, BYTES_MAX] {
            for (at, sent) in types.iter().enumerate() {
                for (to, received) in types.iter().enumerate() {
                    let way = (at + to + bytes as usize / 1000) % 3;
                    exchange(&Case { comm: &comm, peer, way }, bytes, sent, received);
                }
            }
        }
        process.finalize();
    }

    fn messages_to_the_process_itself([1]) {
        let process = join();
        let comm = Arc::new(process.world());
        for datatype in types() {
            datatype.commit();
            for count in [1, 100, 8_000] {
                let mut memory = pattern(count);
                let mut target = vec![0; MEMORY_BYTES];
                let data = buffer(&mut memory, count, &datatype);
                let into = buffer(&mut target, count, &datatype);
                let (here, tag) = (Some(Source::Rank(0)), Tag::Is(1));
                let mut receiving = comm.irecv_buffer(&into, here, tag).unwrap();
                let mut sending = comm.isend_buffer(&data, Some(0), 1, SendMode::Standard).unwrap();
                receiving.wait().unwrap();
                sending.wait().unwrap();
                assert!(into.pack().unwrap() == data.pack().unwrap(), "{count} of {datatype:?}");
            }
        }
        process.finalize();
    }

    fn a_receive_that_is_too_short_gets_what_fits([2], [&[], &[("OXMPI_SINGLE_COPY", "off")], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")]]) {
        let process = join();
        let comm = Arc::new(process.world());
        let pairs = &types()[1];
        pairs.commit();
        // One packet, several, an offer; of some packets nothing fits any more.
        for (count, room) in [(4, 3), (400, 5), (400, 200), (4000, 5), (4000, 3999)] {
            let mut memory = pattern(count);
            if comm.rank() == 0 {
                let data = buffer(&mut memory, count, pairs);
                comm.send_buffer(&data, Some(1), 1, SendMode::Standard).unwrap();
            } else {
                let mut target = vec![0; MEMORY_BYTES];
                let into = buffer(&mut target, room, pairs);
                let received = comm.recv_buffer(&into, Some(Source::Any), Tag::Any);
                assert!(received.unwrap_err().to_string().contains("larger buffer"));
                let expected = buffer(&mut memory, room, pairs).pack().unwrap();
                assert!(into.pack().unwrap() == expected);
            }
        }
        process.finalize();
    }
}
