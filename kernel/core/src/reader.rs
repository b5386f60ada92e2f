//! What arrives: the bytes of a socket, cut anywhere, become packets (`route.rs` says where they
//! go), records and copies.
//!
//! [`Core::feed`] goes as far as it can by itself and answers with what only the caller can do.
//! Nothing of a head is used before there is room for its record and, for a message that no entry
//! accepts, in the unexpected queue: so a socket that has stopped goes on with the same bytes and
//! decides anew.

use oxmpi_wire::o2g::{ANSWERS, NO_SLOT, OTHER_VERSION, RecordKind};
use oxmpi_wire::stream::{self, LENGTH_BYTES, Next};
use oxmpi_wire::{Kind, PREFIX_BYTES, Repr};

use crate::area::{Draft, ROOM_MIN, SPAN_MIN};
use crate::context::{Core, ECONNRESET};
use crate::route::{CONTINUES, Packet, Refusal, Route};
use crate::socket::{Dump, Phase, Place, Run};

/// errno of an entry whose sender wrote what no sender writes.
const EPROTO: u32 = 71;

/// What a packet without a head has in its record.
const NO_PREFIX: [u8; PREFIX_BYTES] = [0; PREFIX_BYTES];

/// What is to be done with bytes of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All of them have been used.
    Done,
    /// Copy the next bytes to the memory of an entry, call [`Core::placed`], and feed the rest.
    Place {
        /// The entry's slot.
        slot: u32,
        /// Where in its memory.
        offset: u64,
        /// How many bytes.
        bytes: usize,
    },
    /// There is no room: the rest stays in the socket until [`Core::free_to`] says that there is.
    Stop,
    /// The rest is to be read in a thread: enough for a softirq, or the memory is not pinned.
    Thread,
    /// Nothing more is ever read of this socket.
    Broken,
}

/// How far [`Core::feed`] came, and what is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Bytes that have been used, without those of a [`Step::Place`].
    pub consumed: usize,
    /// What to do.
    pub step: Step,
}

impl Core {
    /// A run of the reader begins. In a softirq bytes are limited and only pinned memory can be
    /// written.
    pub fn begin(&mut self, index: u32, softirq: bool) {
        let runs = if softirq {
            &mut self.counters.runs_softirq
        } else {
            &mut self.counters.runs_thread
        };
        *runs += 1;
        self.sockets[index as usize].run = Run::new(softirq);
    }

    /// Bytes of a socket, in order.
    pub fn feed(&mut self, index: u32, data: &[u8]) -> Answer {
        let mut consumed = 0;
        loop {
            let rest = &data[consumed..];
            match self.advance(index, rest) {
                Ok(0) if rest.is_empty() => {
                    let step = Step::Done;
                    return Answer { consumed, step };
                }
                Ok(used) => consumed += used,
                Err(step) => return Answer { consumed, step },
            }
        }
    }

    /// Uses some of the bytes, or says why none can be used.
    fn advance(&mut self, index: u32, rest: &[u8]) -> Result<usize, Step> {
        let socket = &self.sockets[index as usize];
        if matches!(socket.phase, Phase::Broken) {
            return Err(Step::Broken);
        }
        if rest.is_empty() {
            return Ok(0);
        }
        let spent = socket.run.left() == 0;
        match socket.phase {
            Phase::Place(place) => self.place(index, place, rest),
            _ if spent => Err(Step::Thread),
            Phase::Dump(dump) => self.dump(index, dump, rest),
            _ => self.read_head(index, rest),
        }
    }

    /// Completes a head, or keeps what there is of it.
    fn read_head(&mut self, index: u32, rest: &[u8]) -> Result<usize, Step> {
        let socket = &mut self.sockets[index as usize];
        let had = socket.collected;
        let take = rest.len().min(socket.head.len() - had);
        // Beyond `had` nothing is kept until it is clear that the head can be used.
        socket.head[had..had + take].copy_from_slice(&rest[..take]);
        let next = stream::next(&socket.head[..had + take]);
        if next == Next::Incomplete {
            socket.collected += take;
            return Ok(take);
        }
        if self.must_stop(index, Core::has_room) {
            return Err(Step::Stop);
        }
        match next {
            Next::Packet { head, payload } => self
                .read_packet(index, head, payload, &rest[head - had..])
                .map(|used| head - had + used),
            Next::Farewell { pause } => {
                self.write_plain(index, RecordKind::Farewell, 0, u32::from(pause));
                self.sockets[index as usize].collected = 0;
                Ok(LENGTH_BYTES - had)
            }
            Next::Garbage { length, kind } => {
                Err(self.condemn(index, length, kind.map_or(u32::MAX, u32::from)))
            }
            Next::OtherVersion { found } => {
                Err(self.condemn(index, 0, OTHER_VERSION | u32::from(found)))
            }
            Next::Incomplete => unreachable!("kept above"),
        }
    }

    /// The head is complete: decides where the payload goes. Returns how much of `rest`, which
    /// begins behind the head, is used.
    fn read_packet(
        &mut self,
        index: u32,
        head: usize,
        payload: usize,
        rest: &[u8],
    ) -> Result<usize, Step> {
        let socket = &mut self.sockets[index as usize];
        // A shorter prefix than the longest has zeros behind it.
        socket.head[head..].fill(0);
        let prefix = socket.prefix();
        let refused = match Repr::parse_prefix(&prefix) {
            Ok(repr) => {
                let packet = Packet {
                    repr,
                    payload,
                    prefix,
                };
                match self.route(index, &packet) {
                    Ok(route) => return Ok(self.start(index, &packet, route, rest)),
                    Err(refusal) => refusal,
                }
            }
            Err(_) => Refusal::Garbage,
        };
        match refused {
            Refusal::Stop => Err(Step::Stop),
            Refusal::Garbage => Err(self.condemn(index, payload as u32, u32::from(prefix[1]))),
        }
    }

    /// The packet's way is clear. Returns how much of its payload is used at once.
    fn start(&mut self, index: u32, packet: &Packet, route: Route, rest: &[u8]) -> usize {
        self.counters.packets += 1;
        let socket = &mut self.sockets[index as usize];
        socket.collected = 0;
        let payload = packet.payload;
        match route {
            Route::Place { slot, offset } => {
                socket.run.spend(SPAN_MIN as usize);
                self.area_mut().reserve();
                let place = Place {
                    slot,
                    payload,
                    left: payload,
                    offset,
                    placed: 0,
                    pending: 0,
                };
                self.keep_placing(index, place);
                0
            }
            Route::Dump { slot, counts } => {
                let here = &rest[..payload.min(rest.len()).min(socket.run.left())];
                let used = self.write_packet(index, packet, slot, here);
                let left = payload - used;
                let dump = Dump {
                    payload,
                    left,
                    slot,
                    counts,
                };
                self.keep_dumping(index, dump);
                used
            }
        }
    }

    /// Has payload copied to its entry, or drops what is beyond the buffer.
    fn place(&mut self, index: u32, mut place: Place, rest: &[u8]) -> Result<usize, Step> {
        assert!(place.pending == 0, "a copy was asked for and not reported");
        let bytes = place.left.min(rest.len());
        let entry = *self.entries.get(place.slot);
        let failed = self.entries.arriving(place.slot).expect(CONTINUES).error != 0;
        let space = entry.capacity_bytes.saturating_sub(place.offset);
        if failed || space == 0 {
            place.left -= bytes;
            place.offset += bytes as u64;
            self.keep_placing(index, place);
            return Ok(bytes);
        }
        let run = self.sockets[index as usize].run;
        if run.left() == 0 || run.softirq && !entry.pinned {
            return Err(Step::Thread);
        }
        let space = usize::try_from(space).unwrap_or(usize::MAX);
        place.pending = bytes.min(run.left()).min(space);
        self.keep_placing(index, place);
        Err(Step::Place {
            slot: place.slot,
            offset: place.offset,
            bytes: place.pending,
        })
    }

    /// The cookie of the entry that the last [`Step::Place`] of the socket is for, as long as
    /// [`Core::placed`] has not been called. A slot is reused, a cookie is not: a caller that has
    /// left the step for a while compares it before it writes.
    pub fn placing(&self, index: u32) -> Option<u64> {
        match self.sockets.get(index as usize)?.phase {
            Phase::Place(place) if place.pending > 0 => Some(self.entries.get(place.slot).cookie),
            _ => None,
        }
    }

    /// The bytes of the last [`Step::Place`] are in place, or could not be put there: `error` is an
    /// errno.
    pub fn placed(&mut self, index: u32, error: u32) {
        let socket = &mut self.sockets[index as usize];
        let Phase::Place(mut place) = socket.phase else {
            return;
        };
        let bytes = core::mem::take(&mut place.pending);
        socket.run.spend(bytes);
        place.left -= bytes;
        place.offset += bytes as u64;
        if error != 0 {
            self.entries.arriving(place.slot).expect(CONTINUES).error = error;
        } else {
            place.placed += bytes as u64;
            let counter = if socket.run.softirq {
                &mut self.counters.placed_bytes_softirq
            } else {
                &mut self.counters.placed_bytes_thread
            };
            *counter += bytes as u64;
        }
        self.keep_placing(index, place);
    }

    /// Remembers a packet that is being placed, or ends it: its record, and the entry if that was
    /// all.
    fn keep_placing(&mut self, index: u32, place: Place) {
        if place.left > 0 {
            self.sockets[index as usize].phase = Phase::Place(place);
            return;
        }
        let socket = &mut self.sockets[index as usize];
        socket.phase = Phase::Head;
        let (rank, prefix) = (socket.rank, socket.prefix());
        let draft = Draft {
            kind: RecordKind::Packet,
            rank,
            slot: place.slot,
            cookie: self.entries.get(place.slot).cookie,
            payload: place.payload as u64,
            detail: self.entries.arriving(place.slot).expect(CONTINUES).error,
            placed: place.placed,
            prefix: &prefix,
        };
        let area = self.area_mut();
        area.unreserve();
        area.write(&draft, &[]);
        self.count_arrived(index, place.slot, place.payload as u64);
    }

    /// More payload of a packet that is dumped.
    fn dump(&mut self, index: u32, dump: Dump, rest: &[u8]) -> Result<usize, Step> {
        if self.must_stop(index, Core::has_room) {
            return Err(Step::Stop);
        }
        let socket = &self.sockets[index as usize];
        let here = &rest[..dump.left.min(rest.len()).min(socket.run.left())];
        let draft = Draft {
            kind: RecordKind::Payload,
            slot: dump.slot.unwrap_or(NO_SLOT),
            cookie: self.cookie(dump.slot),
            payload: dump.payload as u64,
            ..plain(socket.rank)
        };
        let used = self.write(index, &draft, here);
        let left = dump.left - used;
        self.keep_dumping(index, Dump { left, ..dump });
        Ok(used)
    }

    /// Remembers a packet that is being dumped, or ends it.
    fn keep_dumping(&mut self, index: u32, dump: Dump) {
        let socket = &mut self.sockets[index as usize];
        if dump.left > 0 {
            socket.phase = Phase::Dump(dump);
            return;
        }
        socket.phase = Phase::Head;
        if let Some(slot) = dump.slot {
            self.count_arrived(index, slot, dump.counts);
        }
    }

    /// So many more bytes of an entry's message are there.
    fn count_arrived(&mut self, index: u32, slot: u32, bytes: u64) {
        let arriving = self.entries.arriving(slot).expect(CONTINUES);
        arriving.arrived += bytes;
        if arriving.arrived == arriving.bytes {
            let error = arriving.error;
            self.finish(index, slot, error);
        }
    }

    /// The stream has ended: `error` is 0 or an errno. Entries whose message was arriving are over.
    /// `false`: there is no room for the record, ask again.
    pub fn end(&mut self, index: u32, error: u32) -> bool {
        let phase = self.sockets[index as usize].phase;
        if matches!(phase, Phase::Broken) {
            return true;
        }
        if matches!(phase, Phase::Place(_)) {
            // The record that was reserved will not be written; this one takes its place.
            self.area_mut().unreserve();
        } else if self.must_stop(index, Core::has_room) {
            return false;
        }
        self.write_plain(index, RecordKind::Closed, 0, error);
        self.abandon(index, ECONNRESET);
        self.sockets[index as usize].phase = Phase::Broken;
        true
    }

    /// What no OxMPI process sends: nothing after it can be understood.
    fn condemn(&mut self, index: u32, length: u32, kind: u32) -> Step {
        self.write_plain(index, RecordKind::Garbage, u64::from(length), kind);
        self.abandon(index, EPROTO);
        self.sockets[index as usize].phase = Phase::Broken;
        Step::Broken
    }

    fn write_packet(
        &mut self,
        index: u32,
        packet: &Packet,
        slot: Option<u32>,
        here: &[u8],
    ) -> usize {
        let draft = Draft {
            payload: packet.payload as u64,
            slot: slot.unwrap_or(NO_SLOT),
            cookie: self.cookie(slot),
            detail: self.detail(packet, slot),
            prefix: &packet.prefix,
            kind: RecordKind::Packet,
            ..plain(self.sockets[index as usize].rank)
        };
        self.write(index, &draft, here)
    }

    /// Of a request that met an entry: whether the driver answers it.
    fn detail(&self, packet: &Packet, slot: Option<u32>) -> u32 {
        match packet.repr.kind {
            Kind::RequestToSend { .. } if self.answers(slot) => ANSWERS,
            _ => 0,
        }
    }

    fn cookie(&self, slot: Option<u32>) -> u64 {
        slot.map_or(0, |slot| self.entries.get(slot).cookie)
    }

    fn write_plain(&mut self, index: u32, kind: RecordKind, payload: u64, detail: u32) {
        let draft = Draft {
            kind,
            payload,
            detail,
            ..plain(self.sockets[index as usize].rank)
        };
        self.write(index, &draft, &[]);
    }

    /// Writes a record for which there is room, with what payload there is room for.
    fn write(&mut self, index: u32, draft: &Draft, payload: &[u8]) -> usize {
        let used = self.area_mut().write(draft, payload);
        self.counters.dumped_bytes += used as u64;
        let run = &mut self.sockets[index as usize].run;
        run.spend(used + SPAN_MIN as usize);
        used
    }

    fn has_room(&self) -> bool {
        self.area
            .as_ref()
            .is_some_and(|area| area.room() >= ROOM_MIN)
    }

    /// Whether the socket has to wait for what `enough` asks, which the process gives by moving its
    /// tail.
    pub(crate) fn must_stop(&mut self, index: u32, enough: fn(&Core) -> bool) -> bool {
        if !enough(self) {
            self.take_mapped();
        }
        if !enough(self) {
            self.area_mut().tell_stopped(true);
            self.take_mapped();
        }
        if enough(self) {
            self.go_on(index);
            return false;
        }
        let socket = &mut self.sockets[index as usize];
        if !socket.stopped {
            socket.stopped = true;
            self.stopped += 1;
            self.counters.stops += 1;
        }
        true
    }
}

/// A record that says nothing yet.
fn plain(rank: u32) -> Draft<'static> {
    Draft {
        kind: RecordKind::Filler,
        rank,
        slot: NO_SLOT,
        cookie: 0,
        payload: 0,
        detail: 0,
        placed: 0,
        prefix: &NO_PREFIX,
    }
}
