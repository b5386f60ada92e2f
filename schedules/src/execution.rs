//! Walks through a schedule: hands out what to do next, is told what has completed.
//!
//! Call order: `poll` until it answers `Wait` or `Done`; after `Wait`, call `transfer_done` once
//! for every transfer that completes, and poll again. No buffers and no I/O here, so blocking,
//! nonblocking and persistent collectives and the simulator all drive this one state machine.

use super::schedule::{Local, Schedule, Transfer};

/// What the driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this transfer; report its completion with the index.
    Start {
        /// Its number in the schedule.
        index: u32,
        /// What to transfer.
        transfer: Transfer,
    },
    /// Do this now, on the caller's memory.
    Run(Local),
    /// Nothing until a started transfer completes.
    Wait,
    /// The collective is complete on this rank.
    Done,
}

/// Progress through one schedule. Start again by making a new one: schedules are not consumed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    round: u32,
    transfers_started: u32,
    transfers_done: u32,
    locals_done: u32,
}

impl Execution {
    /// Before the first round.
    #[inline]
    pub fn start() -> Execution {
        Execution::default()
    }

    /// The next action. `schedule` must be the same at every call.
    #[inline]
    pub fn poll(&mut self, schedule: &Schedule) -> Action {
        loop {
            let Some(round) = schedule.round(self.round) else {
                return Action::Done;
            };
            if let Some(transfer) = round.transfers.get(self.transfers_started as usize) {
                let index = round.first_transfer + self.transfers_started;
                self.transfers_started += 1;
                return Action::Start {
                    index,
                    transfer: *transfer,
                };
            }
            if self.transfers_done < self.transfers_started {
                return Action::Wait;
            }
            if let Some(local) = round.locals.get(self.locals_done as usize) {
                self.locals_done += 1;
                return Action::Run(*local);
            }
            *self = Execution {
                round: self.round + 1,
                ..Execution::default()
            };
        }
    }

    /// A started transfer has completed.
    #[inline]
    pub fn transfer_done(&mut self, schedule: &Schedule, index: u32) {
        let first = schedule
            .round(self.round)
            .map_or(u32::MAX, |round| round.first_transfer);
        assert!(
            index >= first
                && index - first < self.transfers_started
                && self.transfers_done < self.transfers_started,
            "transfer {index} completed but is not outstanding in round {}",
            self.round
        );
        self.transfers_done += 1;
    }

    /// The round that is under way, for progress reports.
    #[inline]
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Transfers started and not yet completed.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.transfers_started - self.transfers_done
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Builder, Region};
    use super::*;

    fn two_rounds() -> Schedule {
        let mut builder = Builder::default();
        builder.receive(1, Region::receive(0, 8));
        builder.send(1, Region::send(0, 8));
        builder.reduce(Region::send(0, 8), Region::receive(0, 8));
        builder.send(2, Region::receive(0, 8));
        builder.finish()
    }

    #[test]
    fn a_round_waits_for_its_transfers_before_its_local_steps() {
        let schedule = two_rounds();
        let mut execution = Execution::start();
        assert!(matches!(
            execution.poll(&schedule),
            Action::Start { index: 0, .. }
        ));
        assert!(matches!(
            execution.poll(&schedule),
            Action::Start { index: 1, .. }
        ));
        assert_eq!(execution.poll(&schedule), Action::Wait);
        execution.transfer_done(&schedule, 1);
        assert_eq!(execution.poll(&schedule), Action::Wait);
        execution.transfer_done(&schedule, 0);
        assert!(matches!(
            execution.poll(&schedule),
            Action::Run(Local::Reduce { .. })
        ));
        assert!(matches!(
            execution.poll(&schedule),
            Action::Start { index: 2, .. }
        ));
        assert_eq!(
            (execution.poll(&schedule), execution.outstanding()),
            (Action::Wait, 1)
        );
        execution.transfer_done(&schedule, 2);
        assert_eq!(execution.poll(&schedule), Action::Done);
        assert_eq!(execution.poll(&schedule), Action::Done);
    }

    #[test]
    #[should_panic(expected = "transfer 0 completed but is not outstanding in round 0")]
    fn a_completion_of_what_was_never_started_is_refused() {
        Execution::start().transfer_done(&two_rounds(), 0);
    }
}
