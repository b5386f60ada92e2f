//! Receiving: which connection to read, and what its bytes are.
//!
//! One connection at a time is *current*: what has been read of it lies in the scratch and is
//! handed out packet by packet. A long payload is not read into the scratch but left in the socket
//! until somebody says where it goes.

use std::ops::Range;

use oxmpi_wire::PREFIX_BYTES;

use super::bpf::Source;
use super::connection::CALL_BYTES;
use super::sealed::Opened;
use super::socket::Moved;
use super::{
    DIRECT_BYTES_MIN, Event, HOT_MAX, LONG_PAYLOADS, LOOKS_PER_CLOCK, LOOKS_PER_QUESTION, Link,
    Progress, SCRATCH_BYTES, Tcp,
};
use oxmpi_wire::stream::{self as frame, LENGTH_BYTES, Next, RECORD_BYTES_MAX};

impl Tcp {
    /// The next thing that happened, if anything has. `None` ends a look.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        if self.kernel_side.is_some() {
            return self.poll_driver();
        }
        if self.ring_side.is_some() {
            return self.poll_ring();
        }
        loop {
            if let Some(from) = self.current {
                if let Some(event) = self.next_in_scratch(from) {
                    return Some(event);
                }
                continue;
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let Some(from) = self.next_to_read() else {
                self.turn = 0;
                self.end_look();
                return None;
            };
            if let Some(event) = self.read(from) {
                return Some(event);
            }
        }
    }

    /// What the scratch holds next of connection `from`; when it holds nothing more, the connection
    /// is no longer current.
    #[inline(always)]
    pub(super) fn next_in_scratch(&mut self, from: u32) -> Option<Event> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            self.current = None;
            return None;
        };
        let bytes = &self.scratch[self.begin..self.end];
        if bytes.is_empty() {
            self.current = None;
            return None;
        }
        if connection.left > 0 {
            return Some(Event::Payload { from });
        }
        match frame::next(bytes) {
            Next::Packet { head, payload } => {
                let mut prefix = [0; PREFIX_BYTES];
                prefix[..head - LENGTH_BYTES].copy_from_slice(&bytes[LENGTH_BYTES..head]);
                connection.left = payload;
                connection.is_long = LONG_PAYLOADS.contains(&payload);
                connection.is_copied = false;
                self.counters.packets += 1;
                self.counters.payload_bytes += payload as u64;
                self.begin += head;
                return Some(Event::Packet {
                    from,
                    prefix,
                    payload,
                });
            }
            Next::Incomplete => {
                connection.partial[..bytes.len()].copy_from_slice(bytes);
                connection.partial_bytes = bytes.len();
                self.current = None;
            }
            Next::Farewell { pause } => {
                self.current = None;
                self.hear_farewell(from, pause);
            }
            Next::OtherVersion { found } => {
                self.current = None;
                self.lose_to_version(from, found);
            }
            Next::Garbage { length, kind } => {
                self.current = None;
                self.lose_to_garbage(from, length, kind);
            }
        }
        None
    }

    /// A connection that is worth a read.
    #[inline(always)]
    pub(super) fn next_to_read(&mut self) -> Option<u32> {
        loop {
            if let Some(from) = self.ready.pop_front() {
                return Some(from);
            }
            if let Some(&from) = self.hot.get(self.turn) {
                self.turn += 1;
                return Some(from);
            }
            if self.turn > self.hot.len() {
                return None;
            }
            self.turn = self.hot.len() + 1;
            self.looks = self.looks.wrapping_add(1);
            if !self.unsent.is_empty() {
                self.flush_unsent();
            }
            if self.progress == Progress::Sock {
                self.ask_all();
                if !self.looks.is_multiple_of(LOOKS_PER_CLOCK) && self.meetings == 0 {
                    continue;
                }
            }
            if self.bpf_side.is_some() {
                self.take_notices();
                if !self.ready.is_empty() {
                    continue;
                }
                if !self.looks.is_multiple_of(self.looks_per_question()) {
                    return None;
                }
            } else if !self.looks.is_multiple_of(LOOKS_PER_QUESTION) && !self.hot.is_empty() {
                return None;
            }
            self.ask_kernel();
            if self.looks.is_multiple_of(LOOKS_PER_CLOCK) {
                self.look_at_clock();
            }
            if !self.events.is_empty() {
                return None;
            }
        }
    }

    /// Asks the kernel what has changed.
    #[inline(never)]
    pub(super) fn ask_kernel(&mut self) {
        self.counters.questions += 1;
        let (ready, hot, links) = (&mut self.ready, &self.hot, &mut self.links);
        let mut meetings = std::mem::take(&mut self.news);
        for change in self.epoll.changes() {
            let Some(Link::Open(connection)) = usize::try_from(change.key)
                .ok()
                .and_then(|rank| links.get_mut(rank))
            else {
                meetings.push(change);
                continue;
            };
            let from = change.key as u32;
            if change.writable && connection.blocked {
                connection.blocked = false;
                if !connection.is_flushed() && !self.unsent.contains(&from) {
                    self.unsent.push(from);
                }
            }
            if change.readable
                && let Some(slot) = &mut connection.slot
            {
                slot.told = true;
                ready.push_back(from);
            } else if change.readable && connection.name.is_none() && !hot.contains(&from) {
                ready.push_back(from);
            }
        }
        for change in meetings.drain(..) {
            self.handle_meeting(change);
        }
        self.news = meetings;
    }

    /// Reads from a connection. An event, if it is in the middle of a long payload.
    #[inline(always)]
    fn read(&mut self, from: u32) -> Option<Event> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return None;
        };
        self.begin = 0;
        self.end = 0;
        if connection.sealed.is_some() {
            return self.read_sealed(from);
        }
        if !connection.early.is_empty() {
            // What came together with the end of the handshake; short, because nobody sends much
            // before being sure.
            let early = std::mem::take(&mut connection.early);
            let kept = early.len().min(SCRATCH_BYTES);
            self.scratch[..kept].copy_from_slice(&early[..kept]);
            connection.early = early[kept..].to_vec();
            self.end = kept;
            self.current = Some(from);
            self.ready.push_back(from);
            return None;
        }
        if connection.left >= DIRECT_BYTES_MIN {
            self.current = Some(from);
            return Some(Event::Payload { from });
        }
        let most = match Tcp::source(self.bpf_side.as_deref(), connection) {
            Source::Socket(most) => most,
            source => {
                self.read_shared(from, source);
                return None;
            }
        };
        let kept = std::mem::take(&mut connection.partial_bytes);
        self.scratch[..kept].copy_from_slice(&connection.partial[..kept]);
        self.counters.reads += 1;
        let room = kept.saturating_add(most).min(connection.ahead_bytes());
        match connection.socket.read(&mut self.scratch[kept..room]) {
            Ok(Moved::Bytes(0)) => {
                connection.partial_bytes = kept;
                self.await_passed(from);
            }
            Ok(Moved::Bytes(bytes)) => {
                connection.used = true;
                connection.count_passed(bytes);
                self.end = kept + bytes;
                self.current = Some(from);
                if self.end == room {
                    self.ready.push_back(from);
                }
                self.warm(from);
            }
            Ok(Moved::Blocked) => {
                connection.partial_bytes = kept;
                self.counters.empty_reads += 1;
            }
            Err(error) => self.lose(from, format!("the connection broke: {error}")),
        }
        None
    }

    /// The connection spoke: look at it directly from now on, instead of the one that has been
    /// silent longest.
    #[inline(always)]
    pub(super) fn warm(&mut self, from: u32) {
        if self.hot.first() != Some(&from)
            && matches!(self.progress, Progress::User | Progress::Bpf)
        {
            self.rewarm(from);
        }
    }

    #[inline(never)]
    fn rewarm(&mut self, from: u32) {
        self.hot.retain(|&hot| hot != from);
        self.hot.insert(0, from);
        self.set_quiet(from, true);
        if self.hot.len() > HOT_MAX
            && let Some(cold) = self.hot.pop()
        {
            self.set_quiet(cold, false);
            // Changes of hot connections are passed over: what came since the last look must be
            // found now.
            self.ready.push_back(cold);
        }
    }

    /// Payload of the current packet that has been read already. [`Tcp::pass`] takes it.
    #[inline(always)]
    pub fn at_hand(&self) -> &[u8] {
        if let Some(kernel_side) = &self.kernel_side {
            return kernel_side.at_hand();
        }
        let left = match self.current.map(|from| &self.links[from as usize]) {
            Some(Link::Open(connection)) => connection.left,
            _ => 0,
        };
        &self.scratch[self.begin..self.end.min(self.begin + left)]
    }

    /// So many bytes at hand have been used.
    #[inline(always)]
    pub fn pass(&mut self, bytes: usize) {
        self.counters.copied_bytes += bytes as u64;
        if let Some(kernel_side) = &mut self.kernel_side {
            return kernel_side.pass(bytes);
        }
        if let Some(from) = self.current
            && let Link::Open(connection) = &mut self.links[from as usize]
        {
            connection.left -= bytes;
            self.begin += bytes;
        }
    }

    /// Reads payload of the current packet into `room` bytes at `into`; says how much came. Only
    /// when nothing is at hand.
    ///
    /// # Safety
    /// `into` must be valid for writing `room` bytes; if less comes, until so many bytes have come
    /// by further calls with the same place, the process is lost, finished or expelled, or
    /// [`Tcp::stop_placing`] was called.
    #[allow(unsafe_code)]
    pub unsafe fn read_into(&mut self, into: *mut u8, room: usize) -> usize {
        if self.ring_side.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { self.read_into_by_ring(into, room) };
        }
        let Some(from) = self.current else { return 0 };
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return 0;
        };
        if connection.sealed.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { self.read_into_sealed(from, into, room) };
        }
        let most = match Tcp::source(self.bpf_side.as_deref(), connection) {
            Source::Socket(most) => most,
            // SAFETY: the caller's promise.
            source => return unsafe { self.read_into_shared(from, source, into, room) },
        };
        let wanted = room.min(connection.left).min(CALL_BYTES).min(most);
        // What follows the payload is read in the same call only when the payload ends in it.
        let then = if wanted == connection.left {
            connection.ahead_bytes().min(most - wanted)
        } else {
            0
        };
        self.counters.reads += 1;
        // SAFETY: the caller's promise; the scratch is ours.
        let moved = unsafe {
            connection
                .socket
                .read_two(into, wanted, &mut self.scratch[..then])
        };
        self.begin = 0;
        self.end = 0;
        match moved {
            Ok(Moved::Bytes(0)) => {
                self.current = None;
                self.await_passed(from);
                0
            }
            Ok(Moved::Bytes(bytes)) => {
                let landed = bytes.min(wanted);
                connection.left -= landed;
                connection.count_passed(bytes);
                if let (Some(side), Some(slot)) = (&self.bpf_side, &mut connection.slot) {
                    side.aim(slot, connection.left);
                }
                self.end = bytes - landed;
                if bytes == wanted + then {
                    self.ready.push_back(from);
                }
                if self.end == 0 {
                    self.current = None;
                }
                self.warm(from);
                landed
            }
            Ok(Moved::Blocked) => {
                self.counters.empty_reads += 1;
                self.current = None;
                0
            }
            Err(error) => {
                self.current = None;
                self.lose(from, format!("the connection broke: {error}"));
                0
            }
        }
    }

    /// As [`Tcp::read_into`] for payload that nobody awaits in a buffer: it is at hand afterwards,
    /// if any came.
    pub fn read_at_hand(&mut self) -> &[u8] {
        if self.ring_side.is_some() {
            self.decline_long();
            return &[];
        }
        let Some(from) = self.current else {
            return &[];
        };
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return &[];
        };
        self.begin = 0;
        self.end = 0;
        if connection.sealed.is_some() {
            self.fill_sealed(from, 0);
            return self.at_hand();
        }
        Tcp::stop_aiming(self.bpf_side.as_deref(), connection);
        let wanted = connection.left.min(SCRATCH_BYTES);
        let wanted = match Tcp::source(self.bpf_side.as_deref(), connection) {
            Source::Socket(most) => wanted.min(most),
            source => {
                self.current = None;
                self.fill_shared(from, source, 0, wanted);
                return self.at_hand();
            }
        };
        self.counters.reads += 1;
        match connection.socket.read(&mut self.scratch[..wanted]) {
            Ok(Moved::Bytes(0)) => self.await_passed(from),
            Ok(Moved::Bytes(bytes)) => {
                connection.count_passed(bytes);
                self.end = bytes;
                if bytes == wanted {
                    self.ready.push_back(from);
                }
                self.warm(from);
                return self.at_hand();
            }
            Ok(Moved::Blocked) => self.counters.empty_reads += 1,
            Err(error) => self.lose(from, format!("the connection broke: {error}")),
        }
        self.current = None;
        &[]
    }

    /// As [`Tcp::read`], of an encrypted connection.
    #[inline(never)]
    fn read_sealed(&mut self, from: u32) -> Option<Event> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return None;
        };
        if connection.left >= DIRECT_BYTES_MIN {
            self.current = Some(from);
            return Some(Event::Payload { from });
        }
        let kept = std::mem::take(&mut connection.partial_bytes);
        self.scratch[..kept].copy_from_slice(&connection.partial[..kept]);
        if !self.fill_sealed(from, kept)
            && let Link::Open(connection) = &mut self.links[from as usize]
        {
            connection.partial_bytes = kept;
        }
        None
    }

    /// Puts the contents of records into the scratch, behind `kept` bytes that are there: as many
    /// as have room and are whole. The connection is current then. False if there was none, and
    /// then it is not.
    fn fill_sealed(&mut self, from: u32, kept: usize) -> bool {
        let mut end = kept;
        while end + RECORD_BYTES_MAX <= SCRATCH_BYTES
            && let Some(range) = self.next_record(from, end == kept)
            && let Some(contents) = contents(&self.links, from, range)
        {
            self.scratch[end..end + contents.len()].copy_from_slice(contents);
            end += contents.len();
        }
        self.begin = 0;
        self.end = if end > kept { end } else { 0 };
        self.current = (end > kept).then_some(from);
        self.end_records(from, end > kept);
        end > kept
    }

    /// As [`Tcp::read_into`], of an encrypted connection: from the record's place to the user's in
    /// one copy.
    ///
    /// # Safety
    /// As [`Tcp::read_into`].
    #[allow(unsafe_code)]
    unsafe fn read_into_sealed(&mut self, from: u32, into: *mut u8, room: usize) -> usize {
        let Link::Open(connection) = &self.links[from as usize] else {
            return 0;
        };
        let wanted = room.min(connection.left);
        let mut landed = 0;
        self.begin = 0;
        self.end = 0;
        while landed < wanted
            && let Some(range) = self.next_record(from, landed == 0)
            && let Some(contents) = contents(&self.links, from, range)
        {
            let (here, rest) = contents.split_at(contents.len().min(wanted - landed));
            // SAFETY: the caller's promise; the record is memory of ours.
            unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), into.add(landed), here.len()) };
            landed += here.len();
            // A record that goes on behind the payload is the last of this call.
            self.scratch[..rest.len()].copy_from_slice(rest);
            self.end = rest.len();
        }
        if let Link::Open(connection) = &mut self.links[from as usize] {
            connection.left -= landed;
        }
        self.current = (self.end > 0).then_some(from);
        self.end_records(from, landed > 0);
        landed
    }

    /// Opens the next record of an encrypted connection. `None`: there is no whole one, or the
    /// process is lost. The socket is read only for the `first` of a call: who has found something
    /// uses that before it hears that the connection has ended.
    fn next_record(&mut self, from: u32, first: bool) -> Option<Range<usize>> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return None;
        };
        let sealed = connection.sealed.as_mut()?;
        if !first && !sealed.is_whole() {
            return None;
        }
        self.counters.reads += 1;
        match sealed.next(&connection.socket) {
            Ok(Opened::Contents(range)) => {
                connection.used = true;
                return Some(range);
            }
            Ok(Opened::Nothing) => self.counters.empty_reads += 1,
            Ok(Opened::End) => self.lose_end(from),
            Ok(Opened::Broken(what)) => self.lose_to_forgery(from, &what),
            Err(error) => self.lose(from, format!("the connection broke: {error}")),
        }
        None
    }

    /// Records were looked for, and perhaps found: there may be more of which the kernel does not
    /// tell.
    fn end_records(&mut self, from: u32, found: bool) {
        let Link::Open(connection) = &self.links[from as usize] else {
            return;
        };
        if connection
            .sealed
            .as_ref()
            .is_some_and(|sealed| sealed.has_more())
        {
            self.ready.push_back(from);
        }
        if found {
            self.warm(from);
        }
    }
}

/// Contents of a record that was opened.
fn contents(links: &[Link], from: u32, range: Range<usize>) -> Option<&[u8]> {
    match &links[from as usize] {
        Link::Open(connection) => Some(connection.sealed.as_ref()?.contents(range)),
        _ => None,
    }
}
