//! The object behind every communicator handle, typed or C: who its members are, and the contexts
//! of their messages.
//!
//! An intercommunicator has two groups: ranks of messages are those of the remote one. It keeps a
//! hidden communicator of both groups together (`union`), on which its collectives run. Everything
//! else that a handle carries (name, attributes, info, error handler) is in `details`.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use oxmpi_engine::{Content, Envelope, Pattern, Ticket};

use super::arguments::check_tag;
use super::board::GroupBoard;
use super::details::Details;
use super::hosts::hosts_of;
use crate::attached::Attached;
use crate::error::ErrorKind;
use crate::group::Group;
use crate::kept::Kept;
use crate::process::{Process, UNKNOWN};
use crate::status::{Source, Tag};
use oxmpi_datatypes::ElementMark;
use oxmpi_schedules::Hosts;

/// What the handles of one communicator share within a process.
pub struct Comm {
    pub(crate) process: Arc<Process>,
    /// Number of the communicator; its contexts are the four numbers from `4 * number` on.
    number: AtomicU64,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    group: Group,
    /// Ranks to which messages can go: the size of the remote group in an intercommunicator.
    pub(crate) peers: u32,
    /// Process of each of them; `None` when rank and process number are the same.
    processes: Option<Box<[u32]>>,
    /// Which members (of the local group) share a host, where they live on several.
    hosts: Option<Box<Hosts>>,
    inter: Option<Inter>,
    /// Collectives begun so far; it numbers their messages so that two in flight cannot mix.
    pub(crate) collectives: AtomicU32,
    /// Nonblocking and persistent ones, counted apart.
    pub(crate) nonblocking_collectives: AtomicU32,
    /// Of the roots that were named so far: members that disagree are told.
    pub(crate) trail: AtomicU32,
    /// The number by which the layer above knows it; 0 before it has one.
    handle: AtomicU64,
    /// Requests of the layer above that use it without a reference of their own.
    borrowers: AtomicU32,
    /// Space for its buffered sends.
    pub(crate) attached: Attached,
    /// A call is inside a collective.
    pub(crate) in_collective: AtomicBool,
    /// Where small collectives meet: all members, or those of this host if there are others.
    /// Touched only by who has set `in_collective`.
    pub(crate) board: UnsafeCell<Option<GroupBoard>>,
    /// The members of this host have asked their leader for a board.
    pub(crate) asked_for_board: AtomicBool,
    /// The engine knows that its collectives need all members.
    is_bound: AtomicBool,
    /// Schedules and working memory for its collectives.
    pub(crate) kept: Kept,
    /// What no message needs: name, hints, attributes, topology.
    pub(crate) details: Details,
}

/// The other half of an intercommunicator.
pub(crate) struct Inter {
    pub(crate) remote: Group,
    /// Both groups together.
    pub(crate) union: Arc<Comm>,
    /// This group stands first in the union.
    pub(crate) first: bool,
}

impl Inter {
    /// The same sides with another union.
    pub(crate) fn with_union(&self, union: Comm) -> Inter {
        Inter {
            remote: self.remote.clone(),
            union: Arc::new(union),
            first: self.first,
        }
    }
}

/// What a context is for: messages of different contexts never meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Context {
    Point = 0,
    Collective = 1,
    /// Partitioned messages and their introductions.
    Partitioned = 2,
    /// The making of communicators by some members only.
    Making = 3,
}

impl Context {
    /// The context of the communicator with this number.
    #[inline(always)]
    pub(crate) fn of(self, number: u64) -> u64 {
        number << 2 | self as u64
    }
}

// SAFETY: everything but `board` is Sync, and `in_collective` keeps `board` to one thread at a
// time.
unsafe impl Sync for Comm {}

impl Comm {
    pub(crate) fn new(process: Arc<Process>, number: u64, rank: u32, group: Group) -> Self {
        let (peers, processes) = by_rank(&group);
        let hosts = hosts_of(&process, &group);
        let comm = Comm {
            process,
            number: AtomicU64::new(number),
            rank,
            size: group.size(),
            group,
            peers,
            processes,
            hosts,
            inter: None,
            collectives: AtomicU32::new(0),
            nonblocking_collectives: AtomicU32::new(0),
            trail: AtomicU32::new(0),
            handle: AtomicU64::new(0),
            borrowers: AtomicU32::new(0),
            attached: Attached::default(),
            in_collective: AtomicBool::new(false),
            board: UnsafeCell::new(None),
            asked_for_board: AtomicBool::new(false),
            is_bound: AtomicBool::new(false),
            kept: Kept::default(),
            details: Details::default(),
        };
        comm.tell_members();
        comm
    }

    /// Tells the engine who may send here: a receive from anybody fails only when one of them dies.
    /// A communicator of all ranks is concerned by every death, and needs no list.
    fn tell_members(&self) {
        if self.number() == UNKNOWN || self.peers == self.process.size() && !self.is_inter() {
            return;
        }
        let members = self.remote_group().unwrap_or(&self.group).processes();
        let context = self.context(Context::Point);
        self.process.engine.set_members(context, members.into());
    }

    /// From now on a collective here fails on all members if one of them has died, also on those
    /// that would hear from others only.
    pub(crate) fn bind_members(&self) {
        let members = self.group.processes().into();
        let context = self.context(Context::Collective);
        self.process.engine.bind_members(context, members);
        self.is_bound.store(true, Ordering::Relaxed);
    }

    /// All ranks. `ticket` is the board that rank 0 has set apart for them.
    pub(crate) fn world(process: Arc<Process>, ticket: Option<Ticket>) -> Self {
        let (rank, group) = (process.rank(), Group::all(process.size()));
        let number = process.numbers.world();
        let mut world = Comm::new(process, number, rank, group);
        world.set_board(ticket);
        world.details = Details::named("MPI_COMM_WORLD");
        world
    }

    pub(crate) fn this(process: Arc<Process>) -> Self {
        let group = Group::new(vec![process.rank()]);
        let number = process.numbers.this();
        let mut this = Comm::new(process, number, 0, group);
        this.details = Details::named("MPI_COMM_SELF");
        this
    }

    /// Makes it an intercommunicator.
    pub(crate) fn set_inter(&mut self, inter: Inter) {
        (self.peers, self.processes) = by_rank(&inter.remote);
        self.inter = Some(inter);
        self.tell_members();
    }

    /// Gives the group the board that its leader chose.
    pub(crate) fn set_board(&mut self, ticket: Option<Ticket>) {
        *self.board.get_mut() = self.board_of(ticket);
    }

    fn board_of(&self, ticket: Option<Ticket>) -> Option<GroupBoard> {
        let ticket = ticket.filter(|_| self.may_share_board());
        let members = || self.group.processes().to_vec();
        ticket.map(|ticket| GroupBoard::new(ticket, members(), self.rank))
    }

    /// Whether its members, at least two, share memory.
    pub(crate) fn may_share_board(&self) -> bool {
        self.size > 1 && self.hosts.is_none()
    }

    /// Which members of the (local) group share a host; nothing if all do.
    pub(crate) fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_deref()
    }

    /// What became known after the communicator was made (`idup`): its number, and its board if it
    /// has one.
    pub(crate) fn found(&self, number: u64, ticket: Option<Ticket>) {
        // Nobody may use the communicator yet; if a program does all the same, its call comes
        // before or after this.
        while self.in_collective.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: the flag keeps `board` to this thread.
        unsafe { *self.board.get() = self.board_of(ticket) };
        self.in_collective.store(false, Ordering::Release);
        self.number.store(number, Ordering::Release);
        self.tell_members();
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// The number by which the layer above knows this communicator: callbacks of the program are
    /// called with it.
    pub fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Gives it a number.
    pub fn set_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// How many requests of the layer above use it without a reference of their own. That layer
    /// counts them, and sees to it that the communicator stays until there are none.
    #[inline]
    pub fn borrowers(&self) -> &AtomicU32 {
        &self.borrowers
    }

    /// Space for its buffered sends (MPI_Comm_attach_buffer).
    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// The process that belongs to this communicator.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// This process's rank (in the local group).
    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Processes (of the local group).
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The number of the host on which a rank (of the local group) lives.
    pub fn host_of(&self, rank: u32) -> u32 {
        self.process
            .engine
            .host_of(self.group.processes()[rank as usize])
    }

    /// The (local) group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The other group of an intercommunicator.
    pub fn remote_group(&self) -> Option<&Group> {
        self.inter.as_ref().map(|inter| &inter.remote)
    }

    /// Whether it has two groups.
    pub fn is_inter(&self) -> bool {
        self.inter.is_some()
    }

    pub(crate) fn inter(&self) -> Option<&Inter> {
        self.inter.as_ref()
    }

    #[inline(always)]
    pub(crate) fn context(&self, context: Context) -> u64 {
        context.of(self.number())
    }

    /// The loss of the lowest member that is known to have died.
    pub fn lost_member(&self) -> Option<ErrorKind> {
        let engine = &self.process.engine;
        let members = (0..self.size).map(|rank| self.process_of(rank));
        let lost = *engine.dead_among(members).first()? as u32;
        Some(engine.loss_of(self.process_of(lost)).into())
    }

    /// The process behind a rank that messages can go to, which must have been checked.
    #[inline(always)]
    pub(crate) fn process_of(&self, rank: u32) -> u32 {
        match &self.processes {
            None => rank,
            Some(processes) => processes[rank as usize],
        }
    }

    /// Refuses ranks that messages cannot go to.
    #[inline(always)]
    pub(crate) fn check_rank(&self, argument: &'static str, rank: u32) -> Result<(), ErrorKind> {
        if rank < self.peers {
            return Ok(());
        }
        Err(ErrorKind::Rank {
            argument,
            rank,
            size: self.peers,
        })
    }

    /// To which process a message goes and what stands on it, after a check of the arguments.
    #[inline(always)]
    pub(crate) fn envelope(
        &self,
        content: Content,
        dest: u32,
        tag: i32,
    ) -> Result<(u32, Envelope), ErrorKind> {
        self.check_rank("dest", dest)?;
        check_tag(tag)?;
        let envelope = Envelope {
            context: self.context(Context::Point),
            source: self.rank,
            tag,
            content,
        };
        Ok((self.process_of(dest), envelope))
    }

    /// What the matching queues are asked for, and the process that would be missed if it died.
    #[inline(always)]
    pub(crate) fn pattern(
        &self,
        source: Source,
        tag: Tag,
        mark: ElementMark,
    ) -> Result<(Option<u32>, Pattern), ErrorKind> {
        let source = source.checked(self.peers)?;
        let tag = tag.checked()?;
        let from = source.map(|rank| self.process_of(rank));
        let context = self.context(Context::Point);
        Ok((
            from,
            Pattern {
                context,
                source,
                tag,
                signature: mark.byte(),
            },
        ))
    }
}

impl Process {
    /// All processes of the job. To be called once: its members agree on everything by the order of
    /// their calls.
    pub fn world(self: &Arc<Self>) -> Comm {
        Comm::world(self.clone(), self.world_board)
    }

    /// This process alone (MPI_COMM_SELF).
    pub fn this(self: &Arc<Self>) -> Comm {
        Comm::this(self.clone())
    }
}

/// How many ranks a group has and the process of each; `None` when rank and process number are the
/// same.
fn by_rank(group: &Group) -> (u32, Option<Box<[u32]>>) {
    let processes = group.processes();
    let same = processes.iter().copied().eq(0..processes.len() as u32);
    (
        processes.len() as u32,
        (!same).then(|| processes.to_vec().into_boxed_slice()),
    )
}

impl Drop for Comm {
    fn drop(&mut self) {
        if self.number() != UNKNOWN {
            let context = self.context(Context::Point);
            self.process.engine.forget_members(context);
            if *self.is_bound.get_mut() {
                let context = self.context(Context::Collective);
                self.process.engine.forget_members(context);
            }
        }
        self.process.numbers.give_back(self.number());
        if let Some(board) = self.board.get_mut().take() {
            // The board of all ranks ends with the segment.
            if self.number() != self.process.numbers.world() {
                board.close(&self.process.engine);
            }
        }
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comm")
            .field("number", &self.number())
            .field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
