//! The calls of a program on parts of other ranks: those of its host by itself, those of others by
//! messages, which the library's own batches hold back.

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;
use oxmpi_engine::protocol::RequestId;
use oxmpi_windows::Element;
use oxmpi_windows::batch::Batch;
use oxmpi_windows::message::{Kind, REFUSAL_BYTES, Refusal, Request};

use super::script::{COUNTER, FETCHED, PAIR, PART_BYTES, SWAPPED, WORD};
use super::target::{ANSWER, DATA, Moving, REQUESTS, added, pattern, send};
use super::{Site, Windows};
use crate::fabric::Area;

/// Data up to this length travels with its request.
const INLINE_MAX: usize = 4 * WORD;

/// What goes to one target.
#[derive(Default)]
pub(super) struct Stream {
    pub batch: Batch,
    sends: Vec<Moving>,
    answers: Vec<Answer>,
    confirms: Vec<(RequestId, Area)>,
    /// Operations whose end the next synchronisation tells.
    open: Vec<Effect>,
    /// Something behind the end of the part was written to.
    outside: bool,
    /// Answers that had no bytes.
    short: bool,
}

/// An operation without an answer.
enum Effect {
    Write(usize),
    Count,
    Sum {
        first: usize,
        words: usize,
        add: i64,
    },
}

/// An answer under way.
struct Answer {
    request: RequestId,
    area: Area,
    began: u64,
    asks: Asks,
}

/// What an answer is for.
#[derive(Clone, Copy)]
enum Asks {
    Words { first: usize },
    Counter,
    Pair,
    Fetch { add: i64 },
    Swap { expected: i64, new: i64 },
}

/// What a synchronisation completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completes {
    /// The operations, at their target.
    There,
    /// What concerns the memory of their origin.
    Here,
}

impl Stream {
    pub(super) fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.answers.is_empty() && self.confirms.is_empty()
    }

    fn under_way(&self) -> usize {
        self.sends.len() + self.answers.len() + self.confirms.len()
    }
}

/// Operations, whichever way leads to the target.
impl Windows {
    pub(super) fn put(&mut self, site: &mut Site<'_>, target: u32, first: usize, words: usize) {
        let number = self.oracle.begin_write(target, first, words);
        let content = self.oracle.content(number);
        if self.is_near(site.rank(), target) {
            self.store(site, target, first, &content);
            self.oracle.end_write(number);
            return;
        }
        self.stream(site, target).open.push(Effect::Write(number));
        self.give(site, target, Kind::Put, first * WORD, content);
    }

    pub(super) fn put_outside(&mut self, site: &mut Site<'_>, target: u32) {
        // By itself a rank would not even try.
        if !self.is_near(site.rank(), target) {
            self.stream(site, target).outside = true;
            let words = if self.random.chance(50) { 1 } else { 16 };
            let content = vec![0xEE; words * WORD];
            self.give(site, target, Kind::Put, PART_BYTES - WORD / 2, content);
        }
    }

    pub(super) fn write_counter(&mut self, site: &mut Site<'_>, target: u32) {
        let Some(count) = self.ranks[site.rank() as usize].counter.take() else {
            return;
        };
        self.oracle.begin_count(target);
        let word = (count + 1).to_le_bytes();
        let pair = [word, word].concat();
        if self.is_near(site.rank(), target) {
            self.store(site, target, COUNTER, &word);
            self.store(site, target, PAIR, &pair);
            self.oracle.end_count(target);
            return;
        }
        self.stream(site, target).open.push(Effect::Count);
        self.give(site, target, Kind::Put, COUNTER * WORD, word.to_vec());
        self.give(site, target, Kind::Put, PAIR * WORD, pair);
    }

    pub(super) fn accumulate(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        (first, words): (usize, usize),
        add: i64,
    ) {
        let content = add.to_le_bytes().repeat(words);
        if self.is_near(site.rank(), target) {
            let before = self.load(site, target, first, words);
            self.store(site, target, first, &added(&before, &content));
            self.oracle.add(target, first..first + words, add, true);
            return;
        }
        self.oracle.add(target, first..first + words, add, false);
        let effect = Effect::Sum { first, words, add };
        self.stream(site, target).open.push(effect);
        let kind = Kind::Accumulate(Element::Basic(Basic::Int64), Predefined::Sum);
        self.give(site, target, kind, first * WORD, content);
    }

    pub(super) fn get(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        first: usize,
        words: usize,
    ) -> Result<(), String> {
        self.take(
            site,
            target,
            Kind::Get,
            (first, words),
            Asks::Words { first },
        )
    }

    pub(super) fn read_counter(&mut self, site: &mut Site<'_>, target: u32) -> Result<(), String> {
        self.take(site, target, Kind::Get, (COUNTER, 1), Asks::Counter)
    }

    pub(super) fn read_pair(&mut self, site: &mut Site<'_>, target: u32) -> Result<(), String> {
        self.take(site, target, Kind::Get, (PAIR, 2), Asks::Pair)
    }

    pub(super) fn fetch(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        add: i64,
    ) -> Result<(), String> {
        self.oracle.begin_fetch(target, add);
        let kind = Kind::Fetch(Element::Basic(Basic::Int64), Predefined::Sum);
        self.take(site, target, kind, (FETCHED, 1), Asks::Fetch { add })
    }

    pub(super) fn swap(&mut self, site: &mut Site<'_>, target: u32) -> Result<(), String> {
        self.swaps += 1;
        let expected = self.ranks[site.rank() as usize].seen[target as usize];
        let new = self.swaps;
        let asks = Asks::Swap { expected, new };
        self.take(site, target, Kind::CompareSwap, (SWAPPED, 1), asks)
    }

    /// What travels to the target with a request that asks for an answer.
    fn gift(asks: Asks) -> Option<Vec<u8>> {
        match asks {
            Asks::Fetch { add } => Some(add.to_le_bytes().to_vec()),
            Asks::Swap { expected, new } => {
                Some([expected.to_le_bytes(), new.to_le_bytes()].concat())
            }
            _ => None,
        }
    }

    fn take(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        kind: Kind,
        (first, words): (usize, usize),
        asks: Asks,
    ) -> Result<(), String> {
        let rank = site.rank();
        let gift = Windows::gift(asks);
        let began = self.oracle.tick();
        if self.is_near(rank, target) {
            let before = self.load(site, target, first, words);
            match asks {
                Asks::Fetch { add } => {
                    let sum = added(&before, &add.to_le_bytes());
                    self.store(site, target, first, &sum);
                }
                Asks::Swap { expected, new } if before == expected.to_le_bytes() => {
                    self.store(site, target, first, &new.to_le_bytes());
                }
                _ => {}
            }
            return self.judge(rank, target, asks, &before, began);
        }
        let tag = self.tag(site);
        let bytes = words * WORD;
        let area = site.fabric.arena(rank).keep(vec![0; bytes]);
        let pattern = pattern(DATA, target, tag | ANSWER);
        let received = site
            .node
            .receive(site.fabric, Some(target), pattern, area, bytes as u64);
        let request = received.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        self.stream(site, target).answers.push(Answer {
            request,
            area,
            began,
            asks,
        });
        let request = Request {
            kind,
            tag,
            displacement: (first * WORD) as i64,
            bytes: bytes as u64,
            layout: &[],
            data: gift.as_deref(),
        };
        let full = self.stream(site, target).batch.append(&request);
        if full {
            self.send_batch(site, target);
        }
        Ok(())
    }

    fn give(&mut self, site: &mut Site<'_>, target: u32, kind: Kind, at: usize, data: Vec<u8>) {
        let tag = self.tag(site);
        let stream = self.stream(site, target);
        stream.batch.owe();
        let is_short = data.len() <= INLINE_MAX;
        let request = Request {
            kind,
            tag,
            displacement: at as i64,
            bytes: data.len() as u64,
            layout: &[],
            data: is_short.then_some(&data),
        };
        if stream.batch.append(&request) || !is_short {
            self.send_batch(site, target);
        }
        if !is_short {
            let sent = send(site.node, site.fabric, target, (DATA, tag), data);
            self.stream(site, target).sends.extend(sent);
        }
    }

    /// A program on the same host, or the owner: plain stores.
    fn store(&mut self, site: &mut Site<'_>, target: u32, first: usize, bytes: &[u8]) {
        let part = self.ranks[target as usize].part;
        let mut arena = site.fabric.arena(target);
        arena.write(part, (first * WORD) as u64, bytes);
    }

    fn load(&self, site: &Site<'_>, target: u32, first: usize, words: usize) -> Vec<u8> {
        let part = self.ranks[target as usize].part;
        let arena = site.fabric.arena(target);
        arena
            .read(part, (first * WORD) as u64, words * WORD)
            .to_vec()
    }

    fn judge(
        &mut self,
        rank: u32,
        target: u32,
        asks: Asks,
        found: &[u8],
        began: u64,
    ) -> Result<(), String> {
        let word = || i64::from_le_bytes(found[..WORD].try_into().expect("eight bytes"));
        match asks {
            Asks::Words { first } => self.oracle.judge_read(target, first, found, began),
            Asks::Counter => {
                self.ranks[rank as usize].counter = Some(word());
                Ok(())
            }
            Asks::Pair if self.dead.contains(&true) => Ok(()),
            Asks::Pair => self.oracle.judge_pair(target, found),
            Asks::Fetch { add } => {
                self.oracle.end_fetch((rank, began), target, add, word());
                Ok(())
            }
            Asks::Swap { expected, new } => {
                let worked = expected == word();
                self.ranks[rank as usize].seen[target as usize] = if worked { new } else { word() };
                if worked {
                    self.oracle.swapped(target, expected, new);
                }
                Ok(())
            }
        }
    }
}

/// Synchronisation with one target by messages.
impl Windows {
    pub(super) fn stream(&mut self, site: &Site<'_>, target: u32) -> &mut Stream {
        &mut self.ranks[site.rank() as usize].streams[target as usize]
    }

    fn tag(&mut self, site: &Site<'_>) -> u32 {
        let tags = &mut self.ranks[site.rank() as usize].tags;
        *tags += 1;
        *tags
    }

    /// Whether so much is under way that a flush has to come first.
    pub(super) fn must_wait(&mut self, site: &Site<'_>, target: u32) -> bool {
        let stream = self.stream(site, target);
        stream.batch.must_wait(stream.under_way())
    }

    pub(super) fn send_batch(&mut self, site: &mut Site<'_>, target: u32) {
        let stream = self.stream(site, target);
        if stream.batch.depart().is_some() {
            let bytes = stream.batch.take();
            let sent = send(site.node, site.fabric, target, (REQUESTS, 0), bytes);
            self.stream(site, target).sends.extend(sent);
        }
    }

    /// What leaves when a thread waits, or the service steps.
    pub(super) fn push(&mut self, site: &mut Site<'_>) {
        for target in 0..self.ranks.len() as u32 {
            if self.stream(site, target).batch.may_leave() {
                self.send_batch(site, target);
            }
        }
    }

    fn confirm(&mut self, site: &mut Site<'_>, target: u32, kind: Kind) -> Result<(), String> {
        let (rank, tag) = (site.rank(), self.tag(site));
        let area = site.fabric.arena(rank).keep(vec![0; REFUSAL_BYTES]);
        let (from, pattern) = (Some(target), pattern(DATA, target, tag | ANSWER));
        let room = REFUSAL_BYTES as u64;
        let received = site.node.receive(site.fabric, from, pattern, area, room);
        let request = received.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        let stream = self.stream(site, target);
        stream.confirms.push((request, area));
        stream.batch.ask(kind, tag);
        self.send_batch(site, target);
        self.stream(site, target).batch.asked();
        Ok(())
    }

    pub(super) fn begin_flush(&mut self, site: &mut Site<'_>, target: u32) -> Result<(), String> {
        if self.stream(site, target).batch.is_owed() {
            return self.confirm(site, target, Kind::Flush);
        }
        if self.stream(site, target).batch.may_leave() {
            self.send_batch(site, target);
        }
        Ok(())
    }

    pub(super) fn begin_unlock(&mut self, site: &mut Site<'_>, target: u32) -> Result<(), String> {
        match self.stream(site, target).batch.unlock() {
            true => self.confirm(site, target, Kind::Unlock),
            false => Ok(()),
        }
    }

    /// Looks what has come from a target; whether the synchronisation has ended.
    pub(super) fn poll_end(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        completes: Completes,
    ) -> Result<bool, String> {
        let rank = site.rank();
        let mut stream = std::mem::take(self.stream(site, target));
        let mut refusal = None;
        let mut lost = false;
        let mut judged = Ok(());
        stream.sends.retain_mut(|sending| {
            let Some(outcome) = site.node.take(sending.request) else {
                return true;
            };
            lost |= outcome.is_err();
            let area = sending.area.take().expect("it is asked once");
            site.fabric.arena(rank).free(area);
            false
        });
        let mut answers = std::mem::take(&mut stream.answers);
        answers.retain(|answer| {
            let Some(outcome) = site.node.take(answer.request) else {
                return true;
            };
            let bytes = site.fabric.arena(rank).free(answer.area);
            match outcome {
                Err(_) => lost = true,
                Ok(completion) if completion.bytes < bytes.len() as u64 => stream.short = true,
                Ok(_) if judged.is_ok() => {
                    judged = self.judge(rank, target, answer.asks, &bytes, answer.began);
                }
                Ok(_) => {}
            }
            false
        });
        stream.answers = answers;
        stream.confirms.retain(|(request, area)| {
            let Some(outcome) = site.node.take(*request) else {
                return true;
            };
            let bytes = site.fabric.arena(rank).free(*area);
            match outcome {
                Err(_) => lost = true,
                Ok(completion) if completion.bytes > 0 => {
                    let bytes = bytes.first_chunk().expect("the room of a refusal");
                    refusal = Some(Refusal::decode(bytes));
                }
                Ok(_) => {}
            }
            false
        });
        self.ranks[rank as usize].streams[target as usize] = stream;
        judged?;
        self.ranks[rank as usize].lost[target as usize] |= lost;
        self.judge_refusal(site, target, refusal)?;
        let stream = self.stream(site, target);
        if !stream.is_empty() {
            return Ok(false);
        }
        let lost = self.ranks[rank as usize].lost[target as usize];
        let is_explained = lost || self.ranks[rank as usize].locked_out[target as usize];
        if std::mem::take(&mut self.stream(site, target).short) && !is_explained {
            // An answer without data does not say why: then the target is asked.
            self.ranks[rank as usize].unexplained[target as usize] = true;
            self.confirm(site, target, Kind::Flush)?;
            return Ok(false);
        }
        if self.ranks[rank as usize].unexplained[target as usize] && !is_explained {
            return Err(format!(
                "rank {target} did not answer rank {rank} and does not say why"
            ));
        }
        if completes == Completes::There || lost {
            self.close(site, target, lost)?;
        }
        Ok(true)
    }

    /// A target may refuse what lies outside of its part, and whoever is behind a dead holder.
    fn judge_refusal(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        refusal: Option<Refusal>,
    ) -> Result<(), String> {
        let rank = site.rank();
        match refusal {
            None => Ok(()),
            Some(Refusal::Memory { displacement, .. }) => {
                let stream = self.stream(site, target);
                let is_due = std::mem::take(&mut stream.outside);
                match is_due && displacement == (PART_BYTES - WORD / 2) as i64 {
                    true => Ok(()),
                    false => Err(format!("rank {target} refused rank {rank} {refusal:?}")),
                }
            }
            Some(Refusal::Died { process }) => {
                let state = &mut self.ranks[rank as usize];
                state.unexplained[target as usize] = false;
                self.told(rank, target, process)?;
                self.void(site, target);
                self.ranks[rank as usize].locked_out[target as usize] = true;
                Ok(())
            }
            Some(Refusal::Garbled) => Err(format!("rank {target} cannot read rank {rank}")),
        }
    }

    /// Nothing that was asked under a lock that could not be had is done.
    fn void(&mut self, site: &Site<'_>, target: u32) {
        for effect in std::mem::take(&mut self.stream(site, target).open) {
            if let Effect::Write(number) = effect {
                self.oracle.void_write(number);
            }
        }
    }

    /// Everything before is complete, or its end will never be known.
    fn close(&mut self, site: &Site<'_>, target: u32, lost: bool) -> Result<(), String> {
        let rank = site.rank();
        let is_due = std::mem::take(&mut self.stream(site, target).outside);
        if is_due && !lost && !self.ranks[rank as usize].locked_out[target as usize] {
            return Err(format!(
                "rank {target} took what rank {rank} wrote behind its end"
            ));
        }
        for effect in std::mem::take(&mut self.stream(site, target).open) {
            match effect {
                _ if lost => {}
                Effect::Write(number) => self.oracle.end_write(number),
                Effect::Count => self.oracle.end_count(target),
                Effect::Sum { first, words, add } => {
                    self.oracle.add(target, first..first + words, add, true);
                    self.oracle.add(target, first..first + words, -add, false);
                }
            }
        }
        Ok(())
    }
}
