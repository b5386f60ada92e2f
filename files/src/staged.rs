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
use crate::job::{Data, Direction, Inner, lock};
use crate::messages::{Messages, finish, receive, send};
use crate::settle::{hear_first_later, tell_all_later};
use crate::share::{
    Outcome, Places, Share, parts_of, read_ranges, spread_all, walks, with_packed, write_ranges,
};
use crate::stage::{Known, Stage};
use crate::strip::{Strip, StripWalk, gather};
use crate::view::Piece;
use crate::worker::{Offloaded, offload};

type Result<T> = std::result::Result<T, ErrorKind>;

/// A window has this rank's pieces, or can be read; a slot is not needed any more.
const READY: i32 = 14;
const FREE: i32 = 15;

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
    places: Places<'a>,
    /// Its strips in the window that was gone to.
    strips: Vec<Strip>,
}

impl<'a> Copier<'a> {
    fn new(all: &'a Staged<'a>) -> Self {
        Copier {
            all,
            places: Places::new(all.own),
            strips: Vec::new(),
        }
    }

    /// Goes on to a window; tells the range of data in it.
    fn go_to(&mut self, index: usize, reach: Reach) -> std::ops::Range<u64> {
        self.strips.clear();
        let keep = |strip| self.strips.push(strip);
        self.places.next(index, reach.end, keep)
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
        self.all.data.take(range, |packed| {
            let mut at = 0;
            for strip in &self.strips {
                gather(strip, reach.start, window, &mut packed[at..]);
                at += strip.bytes() as usize;
            }
        });
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
        for (rank, some, _) in parts_of(walks, reach) {
            ranks.push(rank);
            strips.extend(some);
        }
        Window {
            number,
            reach,
            ranks,
            strips,
        }
    }

    /// The whole access by all ranks. The outcome is that of this rank's own share.
    pub(crate) async fn run(&self, direction: Direction, share: Option<Share>) -> Result<Outcome> {
        let mut rounds = Rounds::new(self, share.as_ref());
        let (windows, ahead) = (self.plan.windows(), self.plan.ahead);
        for round in 0..windows + ahead {
            if round < windows {
                match direction {
                    Direction::Write => rounds.fill(round).await?,
                    Direction::Read => rounds.read(round).await?,
                }
            }
            if let Some(number) = round.checked_sub(ahead) {
                match direction {
                    Direction::Write => rounds.write(number).await?,
                    Direction::Read => rounds.empty(number).await?,
                }
            }
            rounds.sent.let_ended_go()?;
        }
        rounds.end().await
    }

    /// The other ranks.
    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let me = self.comm().rank();
        (0..self.comm().size()).filter(move |rank| *rank != me)
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
}

/// Where this rank is in an access: in its own data, in its share, and in the messages between.
struct Rounds<'a> {
    all: &'a Staged<'a>,
    copier: Copier<'a>,
    /// Of an aggregating rank: its place in the list, its share, and where in that.
    share: Option<(usize, &'a Share)>,
    walks: Vec<(u32, StripWalk<'a>)>,
    /// A window that the thread for files writes.
    writing: Option<(u64, Offloaded<Outcome>)>,
    sent: Messages,
    outcome: Outcome,
}

impl<'a> Rounds<'a> {
    fn new(all: &'a Staged<'a>, share: Option<&'a Share>) -> Self {
        let me = all.comm().rank();
        let place = all.plan.aggregators.iter().position(|rank| *rank == me);
        Rounds {
            all,
            copier: Copier::new(all),
            share: place.zip(share),
            walks: share.map(walks).unwrap_or_default(),
            writing: None,
            sent: Messages::default(),
            outcome: Ok(()),
        }
    }

    fn me(&self) -> u32 {
        self.all.comm().rank()
    }

    /// Copies this rank's pieces into windows.
    async fn fill(&mut self, number: u64) -> Result<()> {
        let (all, me) = (self.all, self.me());
        for (index, aggregator) in all.parts() {
            let reach = all.plan.window_of(all.plan.part(index), number);
            let range = self.copier.go_to(index, reach);
            let is_used_again = number >= all.plan.slots;
            if is_used_again && aggregator != me && all.reaches(me, index, number) {
                all.hear(aggregator, FREE).await?;
            }
            if range.is_empty() {
                continue;
            }
            self.copier.fill(index, number, reach, range);
            if aggregator != me {
                all.tell(aggregator, READY, &mut self.sent)?;
            }
        }
        Ok(())
    }

    /// Writes a window of this rank's share.
    async fn write(&mut self, number: u64) -> Result<()> {
        let (all, me) = (self.all, self.me());
        let Some((index, share)) = self.share else {
            return Ok(());
        };
        let window = all.next_window(share, &mut self.walks, number);
        for rank in window.ranks.iter().filter(|rank| **rank != me) {
            all.hear(*rank, READY).await?;
        }
        self.end_writing().await?;
        // After a failure nothing more is written, but others wait to hear of their slots.
        if self.outcome.is_ok() && !window.strips.is_empty() {
            let write = all.writer(index, &window);
            if all.aside {
                self.writing = Some((number, offload(all.comm().process(), write)));
                return Ok(());
            }
            self.outcome = write();
        }
        self.free(number)
    }

    /// Waits for the window that is being written.
    async fn end_writing(&mut self) -> Result<()> {
        let Some((number, writing)) = self.writing.take() else {
            return Ok(());
        };
        let result = writing.await;
        self.note(result);
        self.free(number)
    }

    /// Tells those who may need the slot of a window that was written.
    fn free(&mut self, number: u64) -> Result<()> {
        let (all, Some((index, _))) = (self.all, self.share) else {
            return Ok(());
        };
        let needs = |rank: &u32| all.reaches(*rank, index, number + all.plan.slots);
        for rank in all.others().filter(needs) {
            all.tell(rank, FREE, &mut self.sent)?;
        }
        Ok(())
    }

    /// Reads a window of this rank's share.
    async fn read(&mut self, number: u64) -> Result<()> {
        let (all, me) = (self.all, self.me());
        let Some((index, share)) = self.share else {
            return Ok(());
        };
        if let Some(before) = number.checked_sub(all.plan.slots) {
            let had = |rank: &u32| all.reaches(*rank, index, before);
            for rank in all.others().filter(had) {
                all.hear(rank, FREE).await?;
            }
        }
        let window = all.next_window(share, &mut self.walks, number);
        if !window.strips.is_empty() {
            let read = all.reader(index, &window);
            let result = match all.aside {
                true => offload(all.comm().process(), read).await,
                false => read(),
            };
            self.note(result);
        }
        for rank in window.ranks.iter().filter(|rank| **rank != me) {
            all.tell(*rank, READY, &mut self.sent)?;
        }
        Ok(())
    }

    /// Copies this rank's pieces out of windows.
    async fn empty(&mut self, number: u64) -> Result<()> {
        let (all, me) = (self.all, self.me());
        for (index, aggregator) in all.parts() {
            let reach = all.plan.window_of(all.plan.part(index), number);
            let range = self.copier.go_to(index, reach);
            if !range.is_empty() {
                if aggregator != me {
                    all.hear(aggregator, READY).await?;
                }
                self.copier.empty(index, number, reach, range);
            }
            let is_awaited = number + all.plan.slots < all.plan.windows();
            if is_awaited && aggregator != me && all.reaches(me, index, number) {
                all.tell(aggregator, FREE, &mut self.sent)?;
            }
        }
        Ok(())
    }

    /// The first failure counts.
    fn note(&mut self, result: Outcome) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }

    async fn end(mut self) -> Result<Outcome> {
        self.end_writing().await?;
        self.sent.end().await?;
        Ok(self.outcome)
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
