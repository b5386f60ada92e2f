//! Collective access by aggregating ranks of one host, through the stage.
//!
//! Each rank copies its own pieces between its data and the windows of the aggregating ranks; these
//! access the file. Messages without data say when: in a write a rank tells that its pieces are in
//! a window, and the aggregating rank that a slot can be filled again; in a read an aggregating
//! rank tells that a window is there, and a rank that it has taken its pieces out. Ranks copy one
//! window while the one before is accessed, and may be several ahead.

use std::sync::Arc;

use oxmpi_core::ErrorKind;
use oxmpi_core::communicator::Comm;

use crate::access::HOLE_MAX;
use crate::aggregate::{Plan, Reach};
use crate::coverage::ranges;
use crate::job::{Data, Inner, lock};
use crate::messages::{Messages, finish, receive, send};
use crate::settle::{hear_first_later, tell_all_later};
use crate::share::{Outcome, Share, read_ranges, spread_all, walks, with_packed, write_ranges};
use crate::stage::{Known, SLOTS, SLOTS_CROWDED, Stage};
use crate::strip::{Strip, StripWalk, gather};
use crate::view::Piece;
use crate::worker::{Offloaded, offload};

type Result<T> = std::result::Result<T, ErrorKind>;

/// A window has this rank's pieces, or can be read; a slot is not needed any more.
const READY: i32 = 14;
const FREE: i32 = 15;

/// Windows that a rank copies ahead of the one that is accessed. Two ranks may wait for each other
/// only over a distance of the slots, so there must be more of those.
const AHEAD: u64 = 1;
const _: () = assert!(SLOTS > AHEAD + 1 && SLOTS_CROWDED > AHEAD + 1);

/// The stage for an access, made if there is none that is large enough; `None` if there cannot be
/// one. All ranks call this together.
pub(crate) async fn stage(file: &Arc<Inner>, plan: &Plan) -> Result<Option<Arc<Stage>>> {
    let bytes = Stage::bytes_for(plan.aggregators.len() as u64 * plan.slots, plan.window);
    match &*lock(&file.stage) {
        Known::Impossible => return Ok(None),
        Known::There(stage) if stage.bytes() >= bytes => return Ok(Some(stage.clone())),
        Known::There(_) | Known::Unneeded => {}
    }
    let comm = &file.comm;
    let (mut stage, mut words) = (None, [0; 3]);
    if comm.rank() == 0
        && let Some((made, told)) = Stage::new(bytes)
    {
        (stage, words) = (Some(made), told);
    }
    let heard = hear_first_later(comm, words.to_vec()).await?;
    if comm.rank() > 0 && heard[0] != 0 {
        stage = Stage::open(&heard, bytes);
    }
    let all = tell_all_later(comm, &[u64::from(stage.is_some())]).await?;
    let stage = stage.filter(|_| all.iter().all(|has| *has == 1));
    let stage = stage.map(Arc::new);
    *lock(&file.stage) = match &stage {
        Some(stage) => Known::There(stage.clone()),
        None => Known::Impossible,
    };
    Ok(stage)
}

/// What the rounds go by.
pub(crate) struct Staged<'a> {
    pub(crate) file: &'a Arc<Inner>,
    pub(crate) plan: &'a Plan,
    pub(crate) data: &'a Data,
    /// This rank's strips, by part.
    pub(crate) own: &'a [Vec<Strip>],
    /// The file is accessed by the thread for files.
    pub(crate) aside: bool,
    pub(crate) stage: Arc<Stage>,
}

/// A window of this rank's share, with what its ranks have in it.
struct Window {
    number: u64,
    reach: Reach,
    /// Ranks that have something in it, and what all of them have together.
    ranks: Vec<u32>,
    strips: Vec<Strip>,
}

/// This rank's own data, part by part.
struct Copier<'a> {
    all: &'a Staged<'a>,
    /// For each part: where in its strips, and the next byte of the data.
    places: Vec<(StripWalk<'a>, u64)>,
    strips: Vec<Strip>,
}

impl<'a> Copier<'a> {
    fn new(all: &'a Staged<'a>) -> Self {
        let mut before = 0;
        let places = all.own.iter().map(|strips| {
            let at = before;
            before += strips.iter().map(Strip::bytes).sum::<u64>();
            (StripWalk::new(strips), at)
        });
        Copier {
            all,
            places: places.collect(),
            strips: Vec::new(),
        }
    }

    /// Goes on to a window; tells the range of data in it.
    fn go_to(&mut self, index: usize, reach: Reach) -> std::ops::Range<u64> {
        let (walk, at) = &mut self.places[index];
        self.strips.clear();
        let begin = *at;
        *at += walk.up_to(reach.end, |strip| self.strips.push(strip));
        begin..*at
    }

    /// Copies the pieces of the window that was gone to into it.
    fn fill(&self, index: usize, number: u64, reach: Reach, range: std::ops::Range<u64>) {
        let place = self.all.slot(index, number);
        // SAFETY: the slot is mapped as long as the stage; until the aggregating rank has heard
        // from all, each rank writes its own pieces alone and nobody reads.
        let window = unsafe { std::slice::from_raw_parts_mut(place, self.all.window_bytes()) };
        with_packed(&self.all.data.buffer.part(range), |packed| {
            spread_all(&self.strips, reach.start, window, packed);
        });
    }

    /// Copies them out of it.
    fn empty(&self, index: usize, number: u64, reach: Reach, range: std::ops::Range<u64>) {
        let place = self.all.slot(index, number);
        // SAFETY: the slot is mapped as long as the stage, and nobody writes it before all have
        // taken their pieces.
        let window = unsafe { std::slice::from_raw_parts(place, self.all.window_bytes()) };
        let bytes = (range.end - range.start) as usize;
        let part = self.all.data.buffer.part(range);
        let take = |packed: &mut [u8]| {
            let mut at = 0;
            for strip in &self.strips {
                gather(strip, reach.start, window, &mut packed[at..]);
                at += strip.bytes() as usize;
            }
        };
        match part.contiguous() {
            // SAFETY: the buffer's promise covers the bytes, which nobody else uses now.
            Some(address) => take(unsafe { std::slice::from_raw_parts_mut(address, bytes) }),
            None => {
                let mut packed = vec![0; bytes];
                take(&mut packed);
                part.unpack(&packed);
            }
        }
    }
}

impl Staged<'_> {
    fn comm(&self) -> &Arc<Comm> {
        &self.file.comm
    }

    fn window_bytes(&self) -> usize {
        self.plan.window as usize
    }

    fn slot(&self, index: usize, number: u64) -> *mut u8 {
        self.stage
            .slot(self.plan.slot(index, number), self.plan.window)
    }

    /// Whether a rank may have something in a window, as all ranks know it.
    fn reaches(&self, rank: u32, index: usize, number: u64) -> bool {
        let window = self.plan.window_of(self.plan.part(index), number);
        number < self.plan.windows() && self.plan.reaches[rank as usize].meets(window)
    }

    /// The parts in an order that begins with another one on each rank, so that not all ranks copy
    /// into the same window at the same time.
    fn parts(&self) -> impl Iterator<Item = (usize, u32)> {
        let count = self.plan.aggregators.len();
        let first = self.comm().rank() as usize % count;
        (0..count).map(move |turn| {
            let index = (first + turn) % count;
            (index, self.plan.aggregators[index])
        })
    }

    /// A message without data, to be waited for.
    async fn hear(&self, rank: u32, tag: i32) -> Result<()> {
        let mut heard = Messages::default();
        receive(self.comm(), 0, rank, tag, &mut heard)?;
        finish(&mut heard.0[0]).await
    }

    fn tell(&self, rank: u32, tag: i32, sent: &mut Messages) -> Result<()> {
        send(self.comm(), Vec::new(), rank, tag, sent)
    }

    fn next_window(
        &self,
        share: &Share,
        walks: &mut [(u32, StripWalk<'_>)],
        number: u64,
    ) -> Window {
        let reach = self.plan.window_of(share.part, number);
        let (mut ranks, mut strips) = (Vec::new(), Vec::new());
        for (rank, walk) in walks {
            if walk.up_to(reach.end, |strip| strips.push(strip)) > 0 {
                ranks.push(*rank);
            }
        }
        Window {
            number,
            reach,
            ranks,
            strips,
        }
    }

    /// All ranks write. The outcome is that of this rank's own share.
    pub(crate) async fn write(&self, share: Option<Share>) -> Result<Outcome> {
        let me = self.comm().rank();
        let mine = self.plan.aggregators.iter().position(|rank| *rank == me);
        let mut outcome: Outcome = Ok(());
        let mut copier = Copier::new(self);
        let mut walks = share.as_ref().map(walks).unwrap_or_default();
        let mut writing: Option<(u64, Offloaded<Outcome>)> = None;
        let mut sent = Messages::default();
        for round in 0..self.plan.windows() + AHEAD {
            if round < self.plan.windows() {
                for (index, aggregator) in self.parts() {
                    let reach = self.plan.window_of(self.plan.part(index), round);
                    let range = copier.go_to(index, reach);
                    if round >= self.plan.slots
                        && aggregator != me
                        && self.reaches(me, index, round)
                    {
                        self.hear(aggregator, FREE).await?;
                    }
                    if range.is_empty() {
                        continue;
                    }
                    copier.fill(index, round, reach, range);
                    if aggregator != me {
                        self.tell(aggregator, READY, &mut sent)?;
                    }
                }
            }
            let (Some(share), Some(index), true) = (&share, mine, round >= AHEAD) else {
                continue;
            };
            let window = self.next_window(share, &mut walks, round - AHEAD);
            for rank in window.ranks.iter().filter(|rank| **rank != me) {
                self.hear(*rank, READY).await?;
            }
            if let Some((number, writing)) = writing.take() {
                outcome = outcome.and(writing.await);
                self.free(index, number, &mut sent)?;
            }
            // After a failure nothing more is written, but others wait to hear of their slots.
            if outcome.is_ok() && !window.strips.is_empty() {
                let write = self.writer(index, &window);
                if self.aside {
                    writing = Some((window.number, offload(self.comm().process(), write)));
                    continue;
                }
                outcome = write();
            }
            self.free(index, window.number, &mut sent)?;
            sent.let_ended_go()?;
        }
        if let Some((_, writing)) = writing {
            outcome = outcome.and(writing.await);
        }
        sent.end().await?;
        Ok(outcome)
    }

    /// Tells those who may need the slot of a window that was written.
    fn free(&self, index: usize, number: u64, sent: &mut Messages) -> Result<()> {
        let me = self.comm().rank();
        let others = (0..self.comm().size()).filter(|rank| *rank != me);
        for rank in others.filter(|rank| self.reaches(*rank, index, number + self.plan.slots)) {
            self.tell(rank, FREE, sent)?;
        }
        Ok(())
    }

    /// What writes a window.
    fn writer(&self, index: usize, window: &Window) -> impl FnOnce() -> Outcome + Send + use<> {
        let covered = ranges(window.strips.iter(), 0);
        let access = self.access(index, window, covered);
        move || {
            // SAFETY: the slot is mapped as long as the stage. All have told that their pieces are
            // in it, and none touches it before it is told to be free.
            let memory = unsafe { std::slice::from_raw_parts(access.place(), access.bytes()) };
            write_ranges(&access.file, &access.ranges, access.base, memory)
        }
    }

    /// What reads one.
    fn reader(&self, index: usize, window: &Window) -> impl FnOnce() -> Outcome + Send + use<> {
        let covered = ranges(window.strips.iter(), HOLE_MAX);
        let access = self.access(index, window, covered);
        move || {
            // SAFETY: the slot is mapped as long as the stage. All have told that they need nothing
            // of it any more, and none touches it before it is told to be ready.
            let memory = unsafe { std::slice::from_raw_parts_mut(access.place(), access.bytes()) };
            read_ranges(&access.file, &access.ranges, access.base, memory)
        }
    }

    fn access(&self, index: usize, window: &Window, ranges: Vec<Piece>) -> Access {
        Access {
            file: self.file.clone(),
            stage: self.stage.clone(),
            slot: self.plan.slot(index, window.number),
            window: self.plan.window,
            base: window.reach.start,
            ranges,
        }
    }

    /// All ranks read. The outcome is that of this rank's own share.
    pub(crate) async fn read(&self, share: Option<Share>) -> Result<Outcome> {
        let me = self.comm().rank();
        let mine = self.plan.aggregators.iter().position(|rank| *rank == me);
        let mut outcome: Outcome = Ok(());
        let mut copier = Copier::new(self);
        let mut walks = share.as_ref().map(walks).unwrap_or_default();
        let mut sent = Messages::default();
        for round in 0..self.plan.windows() + AHEAD {
            if let (Some(share), Some(index), true) = (&share, mine, round < self.plan.windows()) {
                if let Some(before) = round.checked_sub(self.plan.slots) {
                    let others = (0..self.comm().size()).filter(|rank| *rank != me);
                    for rank in others.filter(|rank| self.reaches(*rank, index, before)) {
                        self.hear(rank, FREE).await?;
                    }
                }
                let window = self.next_window(share, &mut walks, round);
                if !window.strips.is_empty() {
                    let read = self.reader(index, &window);
                    let result = match self.aside {
                        true => offload(self.comm().process(), read).await,
                        false => read(),
                    };
                    outcome = outcome.and(result);
                }
                for rank in window.ranks.iter().filter(|rank| **rank != me) {
                    self.tell(*rank, READY, &mut sent)?;
                }
            }
            let Some(number) = round.checked_sub(AHEAD) else {
                continue;
            };
            for (index, aggregator) in self.parts() {
                let reach = self.plan.window_of(self.plan.part(index), number);
                let range = copier.go_to(index, reach);
                if !range.is_empty() {
                    if aggregator != me {
                        self.hear(aggregator, READY).await?;
                    }
                    copier.empty(index, number, reach, range);
                }
                let is_awaited = number + self.plan.slots < self.plan.windows();
                if is_awaited && aggregator != me && self.reaches(me, index, number) {
                    self.tell(aggregator, FREE, &mut sent)?;
                }
            }
            sent.let_ended_go()?;
        }
        sent.end().await?;
        Ok(outcome)
    }
}

/// An access to the file from a slot or into one, for whichever thread.
struct Access {
    file: Arc<Inner>,
    stage: Arc<Stage>,
    slot: u64,
    window: u64,
    /// The byte of the file at the slot's beginning.
    base: u64,
    ranges: Vec<Piece>,
}

impl Access {
    fn place(&self) -> *mut u8 {
        self.stage.slot(self.slot, self.window)
    }

    fn bytes(&self) -> usize {
        self.window as usize
    }
}
