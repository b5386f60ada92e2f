//! The memory and the messages of a simulated target, for the library's own service of windows.

use oxmpi_datatypes::op::Predefined;
use oxmpi_engine::protocol::{Mode, RequestId};
use oxmpi_engine::turn_lock::{Entry, Turn, TurnLock};
use oxmpi_matching::Pattern;
use oxmpi_windows::Element;
use oxmpi_windows::lock::Words;
use oxmpi_windows::message::{Refusal, Request};
use oxmpi_windows::service::{Arrival, Hands, Kept};
use oxmpi_wire::{Content, Envelope};

use super::script::{PART_BYTES, WORD};
use crate::fabric::{Area, Fabric};
use crate::node::{Node, Sent};

/// Contexts: requests to services, data and answers, words between programs.
pub(super) const REQUESTS: u64 = 10;
pub(super) const DATA: u64 = 11;
pub(super) const SYNCHRONISES: u64 = 12;
/// Words of fences, which need all ranks.
pub(super) const FENCES: u64 = 13;
/// The bit in the tags of answers.
pub(super) const ANSWER: u32 = 1 << 29;

/// The lock of one part, in memory that the ranks of its host share.
pub(super) struct LockWords {
    pub lock: TurnLock,
    pub entries: Vec<Entry>,
}

impl LockWords {
    pub(super) fn new(size: u32) -> LockWords {
        LockWords {
            lock: TurnLock::free(),
            entries: (0..size).map(|_| Entry::none()).collect(),
        }
    }
}

/// The lock of a part as one rank sees it.
pub(super) struct Seen<'a> {
    pub words: &'a LockWords,
    /// The ranks whose death it knows of.
    pub dead: &'a [u32],
}

impl Words for Seen<'_> {
    fn lock(&self) -> &TurnLock {
        &self.words.lock
    }

    fn entry(&self, rank: u32) -> &Entry {
        &self.words.entries[rank as usize]
    }

    fn size(&self) -> u32 {
        self.words.entries.len() as u32
    }

    fn dead(&self) -> Vec<u32> {
        self.dead.to_vec()
    }

    fn alone<R>(&self, change: impl FnOnce() -> R) -> R {
        change()
    }
}

/// What the service keeps from one step to the next.
pub(super) struct Simulated;

/// A message under way, and the buffer that is freed with it.
pub(super) struct Moving {
    pub request: RequestId,
    pub area: Option<Area>,
}

/// An addition to a place of the part.
pub(super) struct Addition {
    begin: usize,
    bytes: usize,
    op: Predefined,
}

impl Kept for Simulated {
    type Moving = Moving;
    type Arriving = Moving;
    type Combination = Addition;
}

/// A rank as its service sees it.
pub(super) struct Memory<'a> {
    pub rank: u32,
    pub node: &'a mut Node,
    pub fabric: &'a mut Fabric,
    pub seen: Seen<'a>,
    /// Which ranks share a host with this one.
    pub near: &'a dyn Fn(u32) -> bool,
    /// The part.
    pub part: Area,
    pub leaving: &'a mut Vec<Moving>,
}

/// Sends bytes of its own; what has not left is handed out.
pub(super) fn send(
    node: &mut Node,
    fabric: &mut Fabric,
    to: u32,
    (context, tag): (u64, u32),
    bytes: Vec<u8>,
) -> Option<Moving> {
    let rank = node.rank();
    let envelope = Envelope {
        context,
        source: rank,
        tag: tag as i32,
        content: Content::new(bytes.len() as u64, 0),
    };
    let area = fabric.arena(rank).keep(bytes);
    match node.send(fabric, to, envelope, area, Mode::Standard, (false, false)) {
        Ok(Sent::Pending(request)) => Some(Moving {
            request,
            area: Some(area),
        }),
        // A receiver that cannot be reached has died.
        Ok(Sent::Over) | Err(_) => {
            fabric.arena(rank).free(area);
            None
        }
    }
}

pub(super) fn pattern(context: u64, source: u32, tag: u32) -> Pattern {
    Pattern {
        context,
        source: Some(source),
        tag: Some(tag as i32),
        signature: 0,
    }
}

impl Memory<'_> {
    fn place(&self, request: &Request<'_>) -> Result<usize, Refusal> {
        let Request {
            displacement,
            bytes,
            ..
        } = *request;
        let end = displacement.checked_add_unsigned(bytes);
        let inside = displacement >= 0 && end.is_some_and(|end| end <= PART_BYTES as i64);
        match inside {
            true => Ok(displacement as usize),
            false => Err(Refusal::Memory {
                displacement,
                bytes,
            }),
        }
    }

    fn receive_at(&mut self, origin: u32, tag: u32, area: Area, bytes: u64) -> Option<RequestId> {
        let pattern = pattern(DATA, origin, tag);
        let received = self
            .node
            .receive(self.fabric, Some(origin), pattern, area, bytes);
        received.ok()
    }
}

impl Words for Memory<'_> {
    fn lock(&self) -> &TurnLock {
        self.seen.lock()
    }

    fn entry(&self, rank: u32) -> &Entry {
        self.seen.entry(rank)
    }

    fn size(&self) -> u32 {
        self.seen.size()
    }

    fn dead(&self) -> Vec<u32> {
        self.seen.dead()
    }

    fn alone<R>(&self, change: impl FnOnce() -> R) -> R {
        change()
    }
}

impl Hands<Simulated> for Memory<'_> {
    fn is_over(&mut self, moving: &mut Moving) -> bool {
        let is_over = self.node.take(moving.request).is_some();
        if is_over && let Some(area) = moving.area.take() {
            self.fabric.arena(self.rank).free(area);
        }
        is_over
    }

    fn poll_arrival(&mut self, arriving: &mut Moving) -> Arrival {
        let Some(outcome) = self.node.take(arriving.request) else {
            return Arrival::Waits;
        };
        let area = arriving.area.take().expect("it is asked once");
        let bytes = self.fabric.arena(self.rank).free(area);
        outcome.map_or(Arrival::Lost, |_| Arrival::Here(bytes))
    }

    fn wake(&mut self, turn: Turn) -> bool {
        wake(self.fabric, self.seen.words, turn, self.near)
    }

    fn process_of(&self, rank: u32) -> u32 {
        rank
    }

    fn own_rank(&self) -> u32 {
        self.rank
    }

    fn answer(&mut self, origin: u32, tag: u32, bytes: &[u8]) {
        let tag = (DATA, tag | ANSWER);
        let sent = send(self.node, self.fabric, origin, tag, bytes.to_vec());
        self.leaving.extend(sent);
    }

    fn write(&mut self, request: &Request<'_>, data: &[u8]) -> Result<(), Refusal> {
        let begin = self.place(request)?;
        self.fabric
            .arena(self.rank)
            .write(self.part, begin as u64, data);
        Ok(())
    }

    fn receive(&mut self, origin: u32, request: &Request<'_>) -> Result<Option<Moving>, Refusal> {
        let start = self.place(request)?;
        let area = Area { start, ..self.part };
        let request = self.receive_at(origin, request.tag, area, request.bytes);
        Ok(request.map(|request| Moving {
            request,
            area: None,
        }))
    }

    fn discard(&mut self, origin: u32, tag: u32) -> Option<Moving> {
        let area = self.fabric.arena(self.rank).keep(Vec::new());
        let request = self.receive_at(origin, tag, area, 0)?;
        Some(Moving {
            request,
            area: Some(area),
        })
    }

    fn send(&mut self, origin: u32, request: &Request<'_>) -> Result<Option<Moving>, Refusal> {
        let begin = self.place(request)? as u64;
        // Short ones leave at once; the others out of the window, which changes meanwhile.
        let bytes = request.bytes as usize;
        let envelope = Envelope {
            context: DATA,
            source: self.rank,
            tag: (request.tag | ANSWER) as i32,
            content: Content::new(request.bytes, 0),
        };
        if bytes <= WORD {
            let arena = self.fabric.arena(self.rank);
            let data = arena.read(self.part, begin, bytes).to_vec();
            drop(arena);
            self.answer(origin, request.tag, &data);
            return Ok(None);
        }
        let start = begin as usize;
        let area = Area { start, ..self.part };
        let sent = self.node.send(
            self.fabric,
            origin,
            envelope,
            area,
            Mode::Standard,
            (false, false),
        );
        Ok(match sent {
            Ok(Sent::Pending(request)) => Some(Moving {
                request,
                area: None,
            }),
            Ok(Sent::Over) | Err(_) => None,
        })
    }

    fn gather(&mut self, origin: u32, tag: u32, bytes: u64) -> Option<Moving> {
        let area = self.fabric.arena(self.rank).keep(vec![0; bytes as usize]);
        let request = self.receive_at(origin, tag, area, bytes)?;
        Some(Moving {
            request,
            area: Some(area),
        })
    }

    fn prepare(
        &mut self,
        request: &Request<'_>,
        _element: Element,
        op: Predefined,
    ) -> Result<Addition, Refusal> {
        Ok(Addition {
            begin: self.place(request)?,
            bytes: request.bytes as usize,
            op,
        })
    }

    fn combine(
        &mut self,
        Addition { begin, bytes, op }: &Addition,
        _exclusive: bool,
        data: &[u8],
        wants_old: bool,
    ) -> Option<Vec<u8>> {
        let mut arena = self.fabric.arena(self.rank);
        let old = arena.read(self.part, *begin as u64, *bytes).to_vec();
        assert_eq!(*op, Predefined::Sum, "programs only add");
        arena.write(self.part, *begin as u64, &added(&old, data));
        wants_old.then_some(old)
    }

    fn compare_swap(
        &mut self,
        request: &Request<'_>,
        compare: &[u8],
        new: &[u8],
    ) -> Option<Vec<u8>> {
        let begin = self.place(request).ok()? as u64;
        let mut arena = self.fabric.arena(self.rank);
        let old = arena.read(self.part, begin, compare.len()).to_vec();
        if old == compare {
            arena.write(self.part, begin, new);
        }
        Some(old)
    }
}

/// The words of both, added.
pub(super) fn added(one: &[u8], other: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let words = one.chunks(WORD).zip(other.chunks(WORD));
    words
        .flat_map(|(one, other)| (word(one) + word(other)).to_le_bytes())
        .collect()
}

/// Wakes the ranks of a host whose turn may have come; true if a rank of another host is among
/// those that wait.
pub(super) fn wake(
    fabric: &mut Fabric,
    words: &LockWords,
    turn: Turn,
    near: &dyn Fn(u32) -> bool,
) -> bool {
    if !turn.has_sleepers {
        return false;
    }
    let mut is_far = false;
    for (rank, entry) in words.entries.iter().enumerate() {
        if entry.has(turn) {
            match near(rank as u32) {
                true => fabric.rouse(rank as u32),
                false => is_far = true,
            }
        }
    }
    is_far
}
