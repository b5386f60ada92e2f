//! Blocking collectives on several hosts: small ones meet on a board on each host, and only the
//! leaders send messages.
//!
//! The first such call asks each host's leader for a board, which costs messages on the hosts only.
//! A host whose leader has none, or whose members find the call too long for a board, walks the
//! whole schedule: between hosts both look the same.

use std::sync::atomic::Ordering;

use super::agreement::Agreement;
use super::board::Rest;
use super::run::Places;
use super::{BOARD_NUMBER, Combine, Inside};
use crate::communicator::{Comm, GroupBoard, Offer};
use crate::error::ErrorKind;
use oxmpi_datatypes::plain::bytes_mut;
use oxmpi_schedules::across::{Phases, on_host, phases};
use oxmpi_schedules::plan::Call;
use oxmpi_schedules::{Hosts, Placement};

impl Comm {
    /// Runs one collective on several hosts, from beginning to end.
    ///
    /// # Safety
    /// As `together_at`.
    #[inline(never)]
    pub(super) unsafe fn together_across(
        &self,
        hosts: &Hosts,
        inside: &mut Inside<'_>,
        call: &Call<'_>,
        agreed: Agreement,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let may_meet = self.process.boards
            && (!self.asked_for_board.load(Ordering::Relaxed) || inside.board().is_some());
        if may_meet
            && let Some(phases) = phases(call, self.position(), Placement::several_hosts(hosts))
        {
            self.ask_for_board(hosts, inside)?;
            if self.suits_board(inside, &phases)? {
                // SAFETY: the caller's promise.
                return unsafe { self.in_phases(hosts, inside, agreed, &phases, places, combine) };
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.walk(&self.schedule(call), agreed.signature(), places, combine) }
    }

    /// The members that live on this host.
    fn members_here<'a>(&self, hosts: &'a Hosts) -> &'a [u32] {
        hosts.members(hosts.host_of(self.rank))
    }

    /// The first time, gives the members of this host a board if their leader has one to spare. The
    /// messages have a number of their own: members that are in different collectives, of which one
    /// asks and the other does not, go on counting alike, and so meet and are told.
    fn ask_for_board(&self, hosts: &Hosts, inside: &mut Inside<'_>) -> Result<(), ErrorKind> {
        if self.asked_for_board.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let members = self.members_here(hosts);
        let mut offer = [match self.rank == members[0] && members.len() > 1 {
            true => Offer::make(&self.process.engine),
            false => Offer::default(),
        }];
        let schedule = on_host(hosts, self.rank, size_of_val(&offer));
        let places = Places::new(&[], bytes_mut(&mut offer));
        let mut combine = |_: &[u8], _: &mut [u8]| unreachable!("nothing is combined");
        let marks = (BOARD_NUMBER, 0);
        // SAFETY: `offer` outlives the walk, and nobody else knows it.
        unsafe { self.walk_as(marks, &schedule, places, &mut combine)? };
        if let Some(ticket) = offer[0].ticket() {
            let processes = members.iter().map(|&rank| self.process_of(rank)).collect();
            let board = GroupBoard::new(ticket, processes, hosts.index(self.rank));
            inside.set_board(board.of(self.group().clone()));
        }
        Ok(())
    }

    /// Whether this host's part of a collective is better done on its board: the same answer on all
    /// its members.
    fn suits_board(&self, inside: &mut Inside<'_>, phases: &Phases) -> Result<bool, ErrorKind> {
        let Some(board) = inside.board() else {
            return Ok(false);
        };
        let engine = &self.process.engine;
        let up = match &phases.up {
            None => true,
            Some(up) => board.suits(engine, up)?,
        };
        Ok(up && board.suits(engine, &phases.down)?)
    }

    /// Up on the board, between leaders by messages, down on the board.
    ///
    /// # Safety
    /// As `together_at`.
    unsafe fn in_phases(
        &self,
        hosts: &Hosts,
        inside: &mut Inside<'_>,
        agreed: Agreement,
        phases: &Phases,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let engine = &self.process.engine;
        let mut meet = |part: &Call<'_>, combine: &mut Combine<'_>| {
            let board = inside.board().expect("the call suits it");
            // SAFETY: the caller's promise; no transfer is in flight while the slices are there.
            let (send, receive) = unsafe { places.as_slices() };
            let ended = board.run(engine, agreed, part, send, receive, combine);
            debug_assert!(!matches!(ended, Ok(Rest::All | Rest::With(_))));
            ended
                .map(drop)
                .map_err(|error| by_rank(error, self.members_here(hosts)))
        };
        if let Some(up) = &phases.up {
            meet(up, combine)?;
        }
        // SAFETY: the caller's promise.
        unsafe { self.walk(&phases.between, agreed.signature(), places, combine)? };
        meet(&phases.down, combine)
    }
}

/// A board knows its members by their index on the host; people know them by their rank.
fn by_rank(mut error: ErrorKind, members: &[u32]) -> ErrorKind {
    match &mut error {
        ErrorKind::DifferentCollective { peer, .. }
        | ErrorKind::DifferentOperation { peer, .. }
        | ErrorKind::EarlierRoot { peer }
        | ErrorKind::CollectiveMismatch { peer, .. } => *peer = members[*peer as usize],
        ErrorKind::DifferentRoot { peer, here, there } => {
            for index in [peer, here, there] {
                *index = members[*index as usize];
            }
        }
        _ => {}
    }
    error
}
