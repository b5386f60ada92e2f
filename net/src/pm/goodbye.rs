//! How conversations end: by goodbyes that both sides say, or because the other side is gone.
//!
//! A goodbye is the last message on the first rail, and leaves when everything on the second has
//! been acknowledged. Who has said it, has heard the other's, and knows that its own has arrived,
//! is done. The very last acknowledgement may be lost, and nobody is left to repeat it: so that
//! wait is short.

use super::counters::add_link;
use super::{Pm, Standing};
use crate::event::{Event, Trouble};
use oxmpi_wire::stream::{GOODBYE, PAUSE};

/// How long who has heard a goodbye waits for the acknowledgement of its own.
const LAST_ACK_NS_MAX: u64 = 500_000_000;

impl Pm {
    /// Says goodbye to everybody. `pause`: this process may come back, or end without another word.
    pub fn close(&mut self, pause: bool) {
        self.closing = !pause;
        self.says_goodbye = true;
        let now = self.clock.now();
        for peer in 0..self.partners.len() as u32 {
            if let Standing::Open(partner) = &mut self.partners[peer as usize] {
                // Nothing but a goodbye follows a goodbye.
                if partner.goodbye != Some(GOODBYE) {
                    partner.goodbye = Some(if pause { PAUSE } else { GOODBYE });
                    partner.said = false;
                }
                self.part(peer, now);
            }
        }
    }

    /// Whether everybody has heard it.
    pub fn is_closed(&self) -> bool {
        let done = |standing: &Standing| match standing {
            Standing::Open(partner) => match partner.goodbye {
                Some(PAUSE) => {
                    let mut ways = partner.ways.iter().flatten();
                    partner.said && ways.all(|way| way.outstanding == 0)
                }
                Some(_) => false,
                // It was first talked to after a pause began: that is for later.
                None => true,
            },
            _ => true,
        };
        self.open == 0 || self.partners.iter().all(done)
    }

    /// Takes the next step towards the end of a conversation, if it is ending.
    pub(super) fn part(&mut self, peer: u32, now: u64) {
        let Standing::Open(partner) = &mut self.partners[peer as usize] else {
            return;
        };
        let Some(word) = partner.goodbye else {
            return;
        };
        let mut bulk = partner.ways[1..].iter().flatten();
        if !partner.said && bulk.all(|way| way.outstanding == 0) {
            partner.said = true;
            if !self.send_word(peer, word) {
                // The queue is full: its next acknowledgement brings us back here.
                if let Standing::Open(partner) = &mut self.partners[peer as usize] {
                    partner.said = false;
                }
            }
        }
        let Standing::Open(partner) = &mut self.partners[peer as usize] else {
            return;
        };
        let Some(heard) = partner.heard.filter(|_| partner.said) else {
            return;
        };
        let mut ways = partner.ways.iter().flatten();
        if ways.all(|way| way.outstanding == 0) || now > heard + LAST_ACK_NS_MAX {
            self.settle();
            self.end(peer, Standing::Finished);
        }
    }

    #[cold]
    pub(super) fn hear_farewell(&mut self, from: u32, pause: bool) {
        let now = self.now;
        let Standing::Open(partner) = &mut self.partners[from as usize] else {
            return;
        };
        if pause {
            partner.paused = true;
            return;
        }
        partner.heard = Some(now);
        if partner.goodbye != Some(GOODBYE) {
            // A pause that was said is no goodbye.
            partner.goodbye = Some(GOODBYE);
            partner.said = false;
        }
        self.says_goodbye = true;
        // It has finalised and awaits nothing; the memory that our messages to it lie in is about
        // to be given back.
        self.memory.forget(from);
        self.events.push_back(Event::Finished(from));
        self.part(from, now);
        self.settle();
    }

    /// A process of this job that does not speak its language.
    #[cold]
    pub(super) fn lose_babbler(&mut self, from: u32, what: &str) {
        self.lose(
            from,
            format!(
                "sent what no OxMPI process sends ({what}): does every host have the same version?"
            ),
        );
    }

    /// Parts with a process because of what its packets say.
    #[cold]
    pub fn expel(&mut self, peer: u32, what: &str) {
        let host = self.host_of(peer).unwrap_or_else(|| "unknown".into());
        let what = format!("sent what no OxMPI process sends: {what}");
        self.end(peer, Standing::Lost(Box::new(Trouble { host, what })));
        self.events.retain(|event| match event {
            Event::Finished(other) | Event::Lost(other) => *other != peer,
            _ => true,
        });
    }

    /// The launcher says that a process has died: what it sent and has not arrived never will.
    #[cold]
    pub fn handle_death(&mut self, peer: u32, what: String) {
        self.lose(peer, what);
    }

    /// The process cannot be reached any more, or never could.
    #[cold]
    pub(super) fn lose(&mut self, peer: u32, what: String) {
        let host = match &self.partners[peer as usize] {
            // It has said goodbye; that it is gone before it heard ours is no loss.
            Standing::Open(partner) if partner.heard.is_some() => {
                return self.end(peer, Standing::Finished);
            }
            Standing::Open(partner) => partner.host.clone(),
            Standing::Finished | Standing::Lost(_) => return,
            Standing::Unknown => {
                let found = (self.finder)(peer, 0);
                found.map_or_else(|_| "unknown".into(), |peer| peer.host)
            }
        };
        if self.closing {
            // Who says goodbye does not mind that the other is gone already.
            self.end(peer, Standing::Finished);
        } else {
            self.end(peer, Standing::Lost(Box::new(Trouble { host, what })));
        }
        self.events.push_back(Event::Lost(peer));
    }

    /// Replaces what there is between this process and another; no memory of messages to it is read
    /// any more.
    fn end(&mut self, peer: u32, with: Standing) {
        let former = std::mem::replace(&mut self.partners[peer as usize], with);
        if let Standing::Open(partner) = former {
            self.open -= 1;
            for conversation in partner.ways.iter().flatten() {
                add_link(&mut self.counters.link, conversation.link.counters());
            }
            self.memory.free_all(peer);
            self.active.retain(|way| way.peer != peer);
            self.timed.retain(|way| way.peer != peer);
            self.owing.retain(|way| way.peer != peer);
        }
        if self.shown.is_some_and(|way| way.peer == peer) {
            self.shown = None;
            self.current = None;
        }
    }
}
