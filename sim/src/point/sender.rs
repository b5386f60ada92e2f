//! The sending side of a rank: its messages in order, a bounded number at a time, some taken back.

use std::collections::VecDeque;

use oxmpi_engine::protocol::{Failure, Mode, Outcome, RequestId};

use crate::fabric::{Area, Fabric};
use crate::node::{Node, Sent};
use crate::random::Random;

use super::{Fate, Message, Point};

/// A send under way.
struct Sending {
    request: RequestId,
    number: u32,
    area: Area,
}

/// What a rank has to send.
pub(super) struct Sender {
    waiting: VecDeque<u32>,
    under_way: Vec<Sending>,
    window: usize,
}

impl Sender {
    pub fn new(rank: u32, messages: &[Message], random: &mut Random) -> Sender {
        let mine = messages.iter().filter(|message| message.from == rank);
        Sender {
            waiting: mine.map(|message| message.number).collect(),
            under_way: Vec::new(),
            window: random.pick(&[1, 2, 8, 1000]),
        }
    }

    /// There is nothing to call until a send is over.
    pub fn only_waits(&self, node: &Node) -> bool {
        let nothing_to_call = self.waiting.is_empty() || self.under_way.len() >= self.window;
        nothing_to_call
            && !self
                .under_way
                .iter()
                .any(|sending| node.protocol().is_complete(sending.request))
    }

    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }
}

impl Point {
    /// Calls the next send if the window allows it.
    pub(super) fn issue_send(
        &mut self,
        node: &mut Node,
        fabric: &mut Fabric,
    ) -> Result<bool, String> {
        let rank = node.rank() as usize;
        let sender = &mut self.senders[rank];
        if sender.under_way.len() >= sender.window {
            return Ok(false);
        }
        let Some(number) = sender.waiting.pop_front() else {
            return Ok(false);
        };
        let message = &self.messages[number as usize];
        let area = fabric.arena(rank as u32).keep(message.content(self.seed));
        match node.send(
            fabric,
            message.to,
            message.envelope(),
            area,
            message.mode,
            message.reach,
        ) {
            Ok(Sent::Over) => {
                fabric.arena(rank as u32).free(area);
                self.judge_send(number, None)?;
            }
            Ok(Sent::Pending(request)) => {
                self.senders[rank].under_way.push(Sending {
                    request,
                    number,
                    area,
                });
            }
            Err(failure) => {
                fabric.arena(rank as u32).free(area);
                self.judge_send(number, Some(Err(failure)))?;
            }
        }
        Ok(true)
    }

    /// Sees which sends are over, and takes some back that are not.
    pub(super) fn reap_sends(
        &mut self,
        node: &mut Node,
        fabric: &mut Fabric,
    ) -> Result<bool, String> {
        let rank = node.rank() as usize;
        let mut moved = false;
        let mut at = 0;
        while let Some(sending) = self.senders[rank].under_way.get(at) {
            let (request, number, area) = (sending.request, sending.number, sending.area);
            if let Some(outcome) = node.take(request) {
                self.senders[rank].under_way.swap_remove(at);
                fabric.arena(rank as u32).free(area);
                self.judge_send(number, Some(outcome))?;
                moved = true;
                continue;
            }
            if self.messages[number as usize].cancel && self.random.chance(30) {
                self.messages[number as usize].cancel = false;
                node.cancel(fabric, request)
                    .map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
            }
            at += 1;
        }
        Ok(moved)
    }

    /// A send is over; `None`: in the very call.
    fn judge_send(&mut self, number: u32, outcome: Option<Outcome>) -> Result<(), String> {
        let message = &self.messages[number as usize];
        match outcome {
            Some(Err(Failure::PeerDied { peer }))
                if peer == message.to && self.dead[peer as usize] =>
            {
                self.seal(number, Fate::Lost);
            }
            Some(Err(failure)) => {
                return Err(format!("the send of {message:?} failed: {failure:?}"));
            }
            Some(Ok(completion)) if completion.cancelled => {
                if message.fate != Fate::Open {
                    return Err(format!(
                        "{message:?} was taken back after it had been received"
                    ));
                }
                self.seal(number, Fate::Cancelled);
            }
            Some(Ok(completion)) => {
                if completion.bytes != message.bytes as u64 {
                    return Err(format!("the send of {message:?} ended as {completion:?}"));
                }
                self.check_synchronous(message)?;
            }
            None => self.check_synchronous(message)?,
        }
        Ok(())
    }

    /// A synchronous send may end only after its match: it has been received, or a receive that
    /// accepts it is under way.
    fn check_synchronous(&self, message: &Message) -> Result<(), String> {
        let matched = message.mode == Mode::Standard
            || message.fate == Fate::Received
            || self.dead[message.to as usize]
            || self.receivers[message.to as usize].may_be_receiving(message);
        if matched {
            Ok(())
        } else {
            Err(format!(
                "the synchronous send of {message:?} ended before its match"
            ))
        }
    }
}
