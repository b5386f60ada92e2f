//! The kernel side: the driver /dev/o2g reads the connections, and this process takes what it tells
//! out of memory that both have.
//!
//! Connections are made and written as ever (`connecting`, `connection`). Once one is open it is
//! registered with the driver, and nobody reads the socket here any more: records become events. A
//! connection has a name of its own at the driver, which is its rank and a generation, so that a
//! record of one that has ended is not taken for its successor's. What a process sent before it was
//! lost counts: events about processes wait until the records before them have been taken.

use std::os::fd::BorrowedFd;

use o2g::{Cancel, Put, PutError, RecordError, RecordKind, RecordView};
use oxmpi_wire::o2g::{
    ANSWER, ANSWERS, ANY_SOURCE, ANY_TAG, DONE, Entry, NO_BUFFER, OTHER_VERSION,
};
use oxmpi_wire::{Code, PREFIX_BYTES};

use super::connection::Connection;
use super::driver::{self, Driver, DriverError};
use super::epoll::Epoll;
use super::matcher::Matcher;
use super::{Event, LOOKS_PER_CLOCK, Link, Progress, Tcp};

/// The key under which the driver's descriptor is watched; those of sockets that are no connections
/// yet are in `connecting`.
const DRIVER: u64 = 1 << 43;

/// A receive as the driver takes it.
#[derive(Debug, Clone, Copy)]
pub struct Receive {
    /// Names it; the low 32 bits are its slot, below [`ENTRIES`](super::ENTRIES).
    pub cookie: u64,
    /// The communicator's context.
    pub context: u64,
    /// The sender's rank there; `None`: any.
    pub source: Option<u32>,
    /// The tag; `None`: any.
    pub tag: Option<i32>,
    /// Where the message goes, and how long it may be; `None`: it is to be handed out like one that
    /// nobody awaits.
    pub buffer: Option<(*mut u8, u64)>,
}

/// The receive that a packet's message was matched with by the driver.
#[derive(Debug, Clone, Copy)]
pub struct Match {
    /// Its name.
    pub cookie: u64,
    /// Payload bytes of the packet that are in its buffer.
    pub placed: u64,
    /// It is a request to send, and the driver answers it.
    pub answered: bool,
}

/// The driver, and where we are in what it tells.
pub(super) struct KernelSide {
    driver: Box<dyn Driver>,
    /// The record of the last event: its end, and how much of its payload has been used.
    shown: Option<Shown>,
    /// The name of the last connection of each process.
    names: Vec<u32>,
    /// Events wait until records have been taken up to here.
    fence: u64,
    /// It talked nonsense: nothing more is asked of it.
    broken: bool,
}

struct Shown {
    end: u64,
    used: usize,
    matched: Option<Match>,
}

/// A record without its payload.
struct Told {
    kind: RecordKind,
    name: u32,
    packet_bytes: u64,
    detail: u32,
    prefix: [u8; PREFIX_BYTES],
}

impl KernelSide {
    pub fn new(
        driver: Box<dyn Driver>,
        size: u32,
        epoll: &Epoll,
    ) -> Result<KernelSide, DriverError> {
        epoll
            .watch(driver.fd(), DRIVER)
            .map_err(DriverError::Watch)?;
        Ok(KernelSide {
            driver,
            shown: None,
            names: (0..size).collect(),
            fence: 0,
            broken: false,
        })
    }

    /// A name for a new connection of a process.
    fn rename(&mut self, peer: u32) -> u32 {
        let size = self.names.len() as u32;
        let name = &mut self.names[peer as usize];
        *name = name.checked_add(size).unwrap_or(peer);
        *name
    }

    /// Where this process and the driver agree on who writes to a process's connection.
    fn desk(&self, peer: u32) -> u32 {
        peer % self.names.len() as u32
    }

    /// The process of a name, unless that connection has a successor.
    fn process(&self, name: u32) -> Option<u32> {
        let peer = name % self.names.len() as u32;
        (self.names[peer as usize] == name).then_some(peer)
    }

    /// The record that was shown last is taken.
    #[inline(always)]
    fn retire(&mut self) {
        if let Some(shown) = self.shown.take() {
            self.broken |= self.driver.advance_to(shown.end).is_err();
        }
    }

    /// Shows the next record.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Told>, RecordError> {
        if self.broken {
            return Ok(None);
        }
        let Some(view) = self.driver.peek()? else {
            return Ok(None);
        };
        let RecordView {
            kind,
            rank,
            entry,
            packet_bytes,
            placed,
            detail,
            prefix,
            ..
        } = view;
        let is_request = prefix[1] == Code::RequestToSend as u8;
        self.shown = Some(Shown {
            end: view.end(),
            used: 0,
            matched: entry.map(|(_, cookie)| Match {
                cookie,
                placed,
                answered: is_request && detail == ANSWERS,
            }),
        });
        Ok(Some(Told {
            kind,
            name: rank,
            packet_bytes,
            detail,
            prefix,
        }))
    }

    /// What has not been used of the payload of the record that is shown.
    #[inline(always)]
    pub fn at_hand(&self) -> &[u8] {
        match (&self.shown, self.driver.peek()) {
            (Some(shown), Ok(Some(view))) => &view.payload[shown.used..],
            _ => &[],
        }
    }

    /// So many bytes of it have been used.
    #[inline(always)]
    pub fn pass(&mut self, bytes: usize) {
        if let Some(shown) = &mut self.shown {
            shown.used += bytes;
        }
    }

    /// Whether there is nothing to take, and the driver goes on.
    pub fn is_drained(&mut self) -> bool {
        self.retire();
        if self.broken {
            return true;
        }
        let drained = matches!(self.driver.peek(), Ok(None));
        if drained {
            self.broken |= self.driver.go_on().is_err();
        }
        drained
    }

    /// What has arrived by now comes before the events that follow.
    pub fn raise_fence(&mut self) {
        self.fence = self.driver.head();
    }

    fn is_past_fence(&self) -> bool {
        // Positions count from the beginning of time, and never so far that they begin anew.
        self.broken || self.driver.tail() >= self.fence
    }

    /// Whether the message of an entry ended with its connection before all of it was there: no
    /// record tells of that.
    fn has_failed(&self, cookie: u64) -> bool {
        let done = self.driver.done(cookie as u32);
        done.cookie == cookie
            && done.state == DONE
            && matches!(done.error as i32, libc::ECONNRESET | libc::EPROTO)
    }

    /// The connection is read here no more.
    pub fn forget(&mut self, name: u32) {
        self.driver.forget(name);
    }
}

/// Something is about to be written to a connection: until the end of a packet the driver writes no
/// answer of its own there.
#[inline(always)]
pub(super) fn begin_writing(
    kernel_side: &mut Option<Box<KernelSide>>,
    connection: &Connection,
    peer: u32,
) {
    if let Some(kernel_side) = kernel_side
        && connection.name.is_some()
    {
        kernel_side.driver.begin_writing(kernel_side.desk(peer));
    }
}

/// It has been, as far as the kernel took it.
#[inline(always)]
pub(super) fn end_writing(
    kernel_side: &mut Option<Box<KernelSide>>,
    connection: &Connection,
    peer: u32,
) {
    if let Some(kernel_side) = kernel_side
        && connection.name.is_some()
        && connection.is_between_packets()
    {
        let desk = kernel_side.desk(peer);
        kernel_side.broken |= kernel_side.driver.end_writing(desk).is_err();
    }
}

impl Tcp {
    /// Lets `driver` read the connections; before the first poll.
    pub fn set_driver(&mut self, driver: Box<dyn Driver>) -> Result<(), DriverError> {
        let size = self.links.len() as u32;
        self.kernel_side = Some(Box::new(KernelSide::new(driver, size, &self.epoll)?));
        self.progress = Progress::Kernel;
        Ok(())
    }

    /// Opens the driver of this host, unless there is one already.
    pub(super) fn open_driver(&mut self) -> Result<(), DriverError> {
        match self.kernel_side {
            Some(_) => Ok(()),
            None => self.set_driver(driver::open(self.links.len() as u32)?),
        }
    }

    /// A new connection of `peer` is the driver's to read; its name there.
    pub(super) fn register(
        &mut self,
        peer: u32,
        socket: BorrowedFd<'_>,
        early: &[u8],
    ) -> Result<Option<u32>, o2g::RegisterError> {
        let Some(kernel_side) = &mut self.kernel_side else {
            return Ok(None);
        };
        let name = kernel_side.rename(peer);
        let desk = kernel_side.desk(peer);
        // The connection before may have ended within a packet.
        kernel_side.broken |= kernel_side.driver.end_writing(desk).is_err();
        kernel_side.driver.register(socket, name, desk, early)?;
        Ok(Some(name))
    }

    /// As [`Tcp::poll`], from what the driver tells.
    pub(super) fn poll_driver(&mut self) -> Option<Event> {
        let mut looked = false;
        loop {
            let kernel_side = self.kernel_side.as_mut()?;
            kernel_side.retire();
            if !self.events.is_empty() && kernel_side.is_past_fence() {
                return self.events.pop_front();
            }
            match kernel_side.next() {
                Ok(Some(told)) => {
                    if let Some(event) = self.translate(&told) {
                        return Some(event);
                    }
                }
                Ok(None) if looked => return None,
                Ok(None) => {
                    looked = true;
                    self.look_elsewhere();
                }
                Err(error) => self.give_driver_up(&error),
            }
        }
    }

    /// What a record means for who polls.
    #[inline(always)]
    fn translate(&mut self, told: &Told) -> Option<Event> {
        let from = self.kernel_side.as_ref()?.process(told.name)?;
        let (prefix, payload) = (told.prefix, told.packet_bytes as usize);
        match told.kind {
            RecordKind::Packet => {
                if let Link::Open(connection) = &mut self.links[from as usize] {
                    connection.used = true;
                }
                self.counters.packets += 1;
                self.counters.payload_bytes += payload as u64;
                Some(Event::Packet {
                    from,
                    prefix,
                    payload,
                })
            }
            RecordKind::Payload => Some(Event::Payload { from }),
            _ => {
                self.hear(from, told);
                None
            }
        }
    }

    /// News of a connection itself.
    #[cold]
    fn hear(&mut self, from: u32, told: &Told) {
        let current = match &self.links[from as usize] {
            Link::Open(connection) => connection.name == Some(told.name),
            _ => false,
        };
        if !current {
            // We have ended it ourselves meanwhile.
            return;
        }
        match told.kind {
            RecordKind::Farewell => self.hear_farewell(from, told.detail == 1),
            RecordKind::Garbage if told.detail & !0xff == OTHER_VERSION => {
                self.lose_to_version(from, told.detail as u8);
            }
            RecordKind::Garbage => {
                let kind = (told.detail != u32::MAX).then_some(told.detail as u8);
                self.lose_to_garbage(from, told.packet_bytes as u32, kind);
            }
            RecordKind::Closed if told.detail == 0 => self.lose_end(from),
            RecordKind::Closed => {
                let error = std::io::Error::from_raw_os_error(told.detail as i32);
                self.lose(from, format!("the connection broke: {error}"));
            }
            RecordKind::Filler | RecordKind::Packet | RecordKind::Payload => {}
        }
    }

    /// There is no record: what else there is to do now and then.
    fn look_elsewhere(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if let Some(kernel_side) = &mut self.kernel_side {
            kernel_side.broken |= kernel_side.driver.go_on().is_err();
        }
        if !self.unsent.is_empty() {
            self.flush_unsent();
        }
        if self.looks.is_multiple_of(self.looks_per_question()) {
            self.ask_kernel();
        }
        if self.looks.is_multiple_of(LOOKS_PER_CLOCK) {
            self.look_at_clock();
        }
    }

    /// What the driver tells makes no sense: nothing that it brings can be believed.
    #[cold]
    fn give_driver_up(&mut self, error: &dyn std::error::Error) {
        if let Some(kernel_side) = &mut self.kernel_side {
            kernel_side.broken = true;
        }
        for peer in 0..self.links.len() as u32 {
            if matches!(self.links[peer as usize], Link::Open(_)) {
                self.lose(
                    peer,
                    format!("the driver o2g cannot be used any more: {error}"),
                );
            }
        }
    }

    /// Whether a driver reads the connections.
    pub fn has_driver(&self) -> bool {
        self.kernel_side.is_some()
    }
}

impl Matcher for Tcp {
    #[allow(unsafe_code)]
    unsafe fn put(&mut self, receive: &Receive) -> Result<Put, PutError> {
        let Some(kernel_side) = &mut self.kernel_side else {
            return Ok(Put::Again);
        };
        kernel_side.retire();
        let (address, bytes) = receive.buffer.unwrap_or((std::ptr::null_mut(), 0));
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let entry = Entry {
            cookie: receive.cookie,
            context: receive.context,
            source: receive.source.unwrap_or(0),
            tag: receive.tag.unwrap_or(0),
            flags: flag(receive.source.is_none(), ANY_SOURCE)
                | flag(receive.tag.is_none(), ANY_TAG)
                | flag(receive.buffer.is_none(), NO_BUFFER)
                | ANSWER,
            reserved: 0,
            address: address as u64,
            bytes,
            tail: kernel_side.driver.tail(),
        };
        self.counters.requests += 1;
        // SAFETY: the caller's promise.
        unsafe { kernel_side.driver.put(&entry) }
    }

    /// [`Cancel::Unknown`]: the driver does not have it, or its message will never be complete, because
    /// the connection that brought it has ended.
    fn cancel(&mut self, cookie: u64) -> Cancel {
        let Some(kernel_side) = &mut self.kernel_side else {
            return Cancel::Unknown;
        };
        self.counters.requests += 1;
        match kernel_side.driver.cancel(cookie) {
            Ok(Cancel::Again) if kernel_side.has_failed(cookie) => Cancel::Unknown,
            Ok(cancel) => cancel,
            Err(error) => {
                // It must not write this memory any more, and does not say whether it will.
                self.give_driver_up(&error);
                Matcher::close(self);
                Cancel::Unknown
            }
        }
    }

    fn matched(&self) -> Option<Match> {
        self.kernel_side.as_ref()?.shown.as_ref()?.matched
    }

    /// The driver gives the sockets back.
    #[cold]
    fn close(&mut self) {
        self.kernel_side = None;
    }
}
