//! What happens in a world: peers send, the process posts, cancels, answers and takes records. The
//! parent decides what must come of it.

use super::*;

impl World {
    /// A length: mostly short, sometimes longer than the dump area.
    pub(super) fn length(&mut self) -> u64 {
        match self.random.below(16) {
            0..=3 => 0,
            4..=10 => self.random.below(300),
            11..=14 => self.random.below(10_000),
            _ => self.random.below(200 << 10),
        }
    }

    pub(super) fn write(
        &mut self,
        wire: usize,
        envelope: Envelope,
        kind: Kind,
        piece: (u32, u64, usize),
    ) {
        let (message, offset, payload) = piece;
        self.sequence += 1;
        let bytes = packet(
            envelope,
            self.sequence,
            kind,
            &content(message, offset, payload),
        );
        let wire = &mut self.wires[wire];
        wire.written += bytes.len() as u64;
        wire.undecided.push_back(Sent {
            head_end: wire.written - payload as u64,
            end: wire.written,
            envelope,
            kind,
            sequence: self.sequence,
            message,
            offset,
            payload,
        });
        wire.pending.extend(bytes);
    }

    pub(super) fn send(&mut self, wire: usize) {
        let bytes = self.length();
        let envelope = Envelope {
            context: 1 + u64::from(self.random.one_in(8)),
            source: wire as u32,
            tag: self.random.below(3) as i32,
            content: Content::new(bytes, 0),
        };
        let message = self.sequence + 1;
        match self.random.below(12) {
            0..=5 => self.write(wire, envelope, Kind::Eager, (message, 0, bytes as usize)),
            6..=7 => self.send_in_pieces(wire, envelope, message),
            8..=9 => {
                let kind = Kind::RequestToSend {
                    send: u64::from(message) << 20,
                    address: 2,
                    mapped: self.random.one_in(8),
                    fetchable: self.random.one_in(8),
                    sync: self.random.one_in(2),
                };
                self.write(wire, envelope, kind, (message, 0, 0));
            }
            10 => {
                let receive = self.random.below(30) | 1 << 60;
                let kind = Kind::Data { receive, offset: 0 };
                self.write(wire, envelope, kind, (message, 0, bytes as usize));
            }
            _ => {
                let kind = Kind::ClearToSend {
                    send: 1,
                    receive: 2,
                };
                self.write(wire, envelope, kind, (message, 0, 0));
            }
        }
    }

    pub(super) fn send_in_pieces(&mut self, wire: usize, envelope: Envelope, message: u32) {
        let mut sent = 0;
        loop {
            let piece = (envelope.bytes() - sent).min(1 + self.random.below(5000));
            let kind = match sent {
                0 => Kind::Eager,
                offset => Kind::More { offset },
            };
            self.write(wire, envelope, kind, (message, sent, piece as usize));
            sent += piece;
            if sent == envelope.bytes() {
                return;
            }
            if self.random.one_in(4) {
                self.write(wire, envelope, Kind::Credit, (0, 0, 0));
            }
        }
    }

    /// Sends what was promised, in pieces of any order.
    pub(super) fn keep_promise(&mut self) {
        if self.promises.is_empty() {
            return;
        }
        let chosen = self.random.below(self.promises.len() as u64) as usize;
        let (wire, receive, message, bytes) = self.promises.swap_remove(chosen);
        let mut cuts: Vec<u64> = (0..self.random.below(4))
            .map(|_| self.random.below(bytes))
            .collect();
        cuts.extend([0, bytes]);
        cuts.sort_unstable();
        let mut pieces: Vec<_> = cuts
            .windows(2)
            .map(|pair| (pair[0], pair[1] - pair[0]))
            .collect();
        if self.random.one_in(2) {
            pieces.reverse();
        }
        let envelope = Envelope {
            context: 1,
            source: 0,
            tag: 0,
            content: Content::new(bytes, 0),
        };
        for (offset, payload) in pieces {
            let kind = Kind::Data { receive, offset };
            self.write(wire, envelope, kind, (message, offset, payload as usize));
        }
    }

    pub(super) fn put(&mut self) {
        self.generation += 1;
        let slot = self.random.below(self.n_entries) as u32;
        let flags = [ANY_SOURCE, ANY_TAG, NO_BUFFER, ANSWER]
            .map(|flag| flag * u32::from(self.random.one_in(if flag == ANSWER { 2 } else { 4 })));
        let entry = Entry {
            cookie: self.generation << 32 | u64::from(slot),
            context: 1 + u64::from(self.random.one_in(8)),
            source: self.random.below(self.wires.len() as u64) as u32,
            tag: self.random.below(3) as i32,
            flags: flags.iter().sum(),
            bytes: self.length(),
            ..Entry::default()
        };
        let pattern = Pattern {
            context: entry.context,
            source: (entry.flags & ANY_SOURCE == 0).then_some(entry.source),
            tag: (entry.flags & ANY_TAG == 0).then_some(entry.tag),
            signature: 0,
        };
        let is_live =
            |cookie: &u64| matches!(self.receives[cookie].state, State::Waiting | State::Matched);
        let busy = self.slots.get(&slot).is_some_and(is_live);
        let again = self
            .remembered
            .iter()
            .any(|(_, envelope)| pattern.accepts(envelope));
        let pinned = !self.random.one_in(3);
        match self.double.put(entry, pinned) {
            Err(PutError::Busy { .. }) => assert!(busy),
            Err(PutError::Again) => assert!(!busy && again, "AGAIN without a reason: {pattern}"),
            Err(error) => panic!("{error}"),
            Ok(()) => {
                assert!(!busy && !again, "a message was there: {pattern}");
                self.posted.push(entry.cookie);
                self.slots.insert(slot, entry.cookie);
                let receive = Receive {
                    entry,
                    pattern,
                    state: State::Waiting,
                    message: 0,
                    bytes: 0,
                    arrived: 0,
                    checked: false,
                };
                self.receives.insert(entry.cookie, receive);
            }
        }
    }

    pub(super) fn cancel(&mut self) {
        let slot = self.random.below(self.n_entries) as u32;
        let Some(&cookie) = self.slots.get(&slot) else {
            return;
        };
        let receive = self.receives.get_mut(&cookie).expect("known");
        let answer = self.double.core.cancel(cookie);
        match receive.state {
            State::Waiting => {
                assert_eq!(answer, Ok(()));
                receive.state = State::Cancelled;
                self.posted.retain(|&other| other != cookie);
            }
            State::Matched | State::Done => assert_eq!(answer, Err(CancelError::Again)),
            State::Cancelled => assert_eq!(answer, Err(CancelError::Unknown { cookie })),
        }
    }

    /// The process begins a packet or ends one, or the driver answers.
    pub(super) fn answer(&mut self, number: usize) {
        let wire = &mut self.wires[number];
        let desk = number as u32;
        if self.random.one_in(3) {
            wire.busy = !wire.busy;
            self.double.set_busy(desk, wire.busy);
            return;
        }
        let reply = self.double.core.answer(wire.index);
        let expected = wire.unanswered.front();
        assert_eq!(expected.is_some(), self.double.core.has_answer(wire.index));
        match (reply, expected) {
            (Reply::None, None) => {}
            (Reply::Later, Some(_)) => {
                assert!(wire.busy, "the process is at rest");
                assert_eq!(self.double.desk(desk).owed, 1);
            }
            (Reply::Now(bytes), Some(&(receive, send, promise))) => {
                assert!(!wire.busy, "the process is within a packet");
                assert_eq!(bytes[..4], [0; 4], "no payload");
                let repr = Repr::parse_prefix(&prefix_of(&bytes[4..])).expect("a packet");
                assert_eq!(repr.kind, Kind::Cleared { receive, send });
                assert!(!repr.kind.is_ordered() && repr.credit == 0);
                assert_eq!(repr.envelope.bytes(), promise.3);
                self.double.core.answered(wire.index);
                wire.unanswered.pop_front();
                self.promises.push(promise);
                let owed = self.double.desk(desk).owed;
                assert!(owed == 0 || !wire.unanswered.is_empty());
            }
            (reply, expected) => panic!("{reply:?} instead of {expected:?}"),
        }
    }

    /// Data for an entry that is not answered: nobody's.
    pub(super) fn send_too_early(&mut self, number: usize) {
        let Some(&(receive, _, _)) = self.wires[number].unanswered.back() else {
            return;
        };
        let envelope = Envelope {
            context: 1,
            source: 0,
            tag: 0,
            content: Content::new(1, 0),
        };
        // The head is used at once, so that no answer comes before it.
        if self.wires[number].pending.is_empty() {
            let kind = Kind::Data { receive, offset: 0 };
            self.write(number, envelope, kind, (0, 0, 1));
            self.deliver(number, usize::MAX, false);
        }
    }

    /// The process takes records, and says so in one of its ways, or not at all.
    pub(super) fn take(&mut self, count: u64) -> u64 {
        let mut taken = 0;
        while taken < count
            && let Some(record) = self.double.take()
        {
            self.check_record(&record);
            taken += 1;
        }
        let tail = self.double.tail;
        match self.random.below(3) {
            0 => self.double.map_tail(tail),
            1 => drop(self.double.core.free_to(tail).expect("not beyond the head")),
            _ => {}
        }
        taken
    }

    pub(super) fn step(&mut self) {
        let wire = self.random.below(self.wires.len() as u64) as usize;
        match self.random.below(20) {
            0..=4 => self.send(wire),
            5 => self.keep_promise(),
            6..=10 => {
                let bytes = 1 << self.random.below(19);
                let bytes = 1 + self.random.below(bytes) as usize;
                let softirq = self.random.one_in(2);
                self.deliver(wire, bytes, softirq);
            }
            11..=15 => self.put(),
            16 => self.cancel(),
            17 => self.answer(wire),
            18 if self.random.one_in(4) => self.send_too_early(wire),
            _ => {
                let count = self.random.below(12);
                self.take(count);
            }
        }
        self.check_entries();
    }
}
