//! What must hold of a run: that it ends in time, that every end has finished or has given up with
//! reason, and that repeats are bounded by the harm that was done. Further methods of [`World`].

use oxmpi_link::Recovery;

use super::end::End;
use super::network::{Time, WIRE_BYTES};
use super::report::Report;
use super::scenario::{Conversation, Load, Scenario};
use super::world::World;

impl World {
    /// When even a run with bad luck has to be over: every frame takes its turn on the slowest wire
    /// and at the slowest node, some are lost and wait for a time-out; what is cut takes the
    /// dead-peer time.
    pub(super) fn time_max(&self) -> Time {
        let Scenario {
            shape,
            faults,
            hosts,
            link,
            ..
        } = &self.scenario;
        let frames = self.scenario.frames();
        let frame_bytes = (link.payload_bytes_max + WIRE_BYTES) as u64;
        let wire_ns = frame_bytes * 8 * 1_000_000_000 / shape.slowest_bits_per_second();
        let turn_ns = wire_ns
            + hosts.slow_frame_ns.max(hosts.frame_ns)
            + hosts.nap_ns * u64::from(hosts.nap_ppm) / 1_000_000
            + faults.reorder_ns * u64::from(faults.reorder_ppm) / 1_000_000;
        let harm_ppm = u64::from(faults.loss_ppm + faults.corrupt_ppm + faults.reorder_ppm / 10);
        let timeouts = 3 * frames * harm_ppm / 1_000_000;
        let pauses = |conversation: &Conversation| {
            let messages = conversation
                .loads
                .iter()
                .map(Load::messages)
                .max()
                .unwrap_or(0);
            u64::from(messages) * conversation.pause_ns
        };
        let pauses = self
            .scenario
            .conversations
            .iter()
            .map(pauses)
            .max()
            .unwrap_or(0);
        4 * link.dead_after_ns
            + pauses
            + 8 * frames * (turn_ns + 2 * shape.latency_ns)
            + timeouts * link.rto_ns_max
    }

    pub(super) fn endless(&self) -> String {
        let Report { time, events, .. } = self.report;
        let unfinished = self.unfinished();
        format!("no end in sight after {time} ns and {events} events; {unfinished}")
    }

    fn said_to(&self, end: &End) -> u32 {
        self.ends[end.other as usize].load.messages()
    }

    fn unfinished(&self) -> String {
        let unfinished = |end: &&End| !end.is_dead && !end.is_complete(self.said_to(end));
        let mut ends: Vec<String> = self
            .ends
            .iter()
            .filter(unfinished)
            .map(|end| end.state(self.said_to(end)))
            .collect();
        let all = ends.len();
        ends.truncate(4);
        format!("{all} ends have not finished:\n  {}", ends.join("\n  "))
    }

    /// Adds up what links counted.
    pub(super) fn count(&mut self) {
        self.report.frames = self.network.frames;
        self.report.harm = self.network.harm;
        self.report.dead = self.ends.iter().filter(|end| end.is_dead).count() as u64;
        self.report.repeats = self
            .ends
            .iter()
            .map(|end| end.link.counters().repeats)
            .sum();
    }

    /// What must hold when nothing is left to happen.
    pub(super) fn check(&self) -> Result<(), String> {
        for end in &self.ends {
            if end.is_dead && !self.scenario.may_die([end.node, end.peer]) {
                return Err(format!(
                    "gave up although nothing was cut for ever: {}",
                    end.state(self.said_to(end))
                ));
            }
            if !end.is_dead && !end.is_complete(self.said_to(end)) {
                return Err(format!(
                    "deadlock: nothing is under way, {}",
                    self.unfinished()
                ));
            }
        }
        self.check_repeats()
    }

    /// Each harm done costs go-back-N a window at most, and selective repeat two frames; where
    /// round trips grow suddenly (many senders, one port) time-outs may come too early, but not
    /// more often than twice per frame.
    fn check_repeats(&self) -> Result<(), String> {
        let Report {
            repeats,
            harm,
            naps,
            ..
        } = self.report;
        let Scenario { link, .. } = &self.scenario;
        let causes = harm.lost + harm.doubled + harm.delayed + naps;
        let frames_each = match link.recovery {
            Recovery::GoBackN => u64::from(link.window_frames_max),
            Recovery::Selective => 2,
        };
        let most = 2 * self.scenario.frames() + causes * frames_each;
        if repeats > most {
            return Err(format!(
                "{repeats} frames were repeated, although {causes} harms justify {most} at most: {harm:?}, {naps} naps"
            ));
        }
        Ok(())
    }
}
