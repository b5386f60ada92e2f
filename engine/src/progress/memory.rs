//! The user's memory, and that of other processes of this host: where messages are copied from and
//! to.

use std::sync::Arc;
use std::time::Instant;

use oxmpi_ports::extent::Mappings;
use oxmpi_ports::{Segment, fetch};

use super::area::Area;
use super::places::Places;
use super::rates::Rates;
use crate::path::Memory;
use crate::protocol::{Fetch, Payload};

pub(crate) struct UserMemory {
    /// Port buffers of other processes.
    pub mappings: Mappings,
    /// Long messages may be fetched out of the sender's memory.
    pub single_copy: bool,
    rates: Rates,
    oversubscribed: bool,
    /// Where the next piece of the message belongs whose piece was timed last, and when that was
    /// copied.
    last_piece: Option<((u64, u64), Instant)>,
    segment: Arc<Segment>,
    me: u32,
    /// The port of each process of this host.
    ports: Vec<Option<u32>>,
    /// Pieces of messages on their way from or to scattered memory.
    bounce: Vec<u8>,
}

/// Bytes fetched at once for scattered memory: they are still in the cache when they are spread
/// out.
const BOUNCE_BYTES: usize = 64 << 10;

impl UserMemory {
    pub fn new(
        segment: &Arc<Segment>,
        places: &Places,
        single_copy: bool,
        oversubscribed: bool,
    ) -> Self {
        let processes = 0..places.processes();
        Self {
            mappings: Mappings::new(Arc::clone(segment)),
            single_copy,
            rates: Rates::new(oversubscribed),
            oversubscribed,
            last_piece: None,
            segment: Arc::clone(segment),
            me: places.me(),
            ports: processes.map(|process| places.port(process)).collect(),
            bounce: Vec::new(),
        }
    }

    /// What fetches and copies out of the ring have cost.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// A message in a port buffer.
    fn fetch_mapped(&mut self, wanted: &Fetch<Area>) -> bool {
        let Ok(address) = self.mappings.borrow(wanted.address, wanted.bytes) else {
            return false;
        };
        // SAFETY: the mapping covers the bytes until released; the sender leaves them alone until
        // we say done.
        let bytes = unsafe { std::slice::from_raw_parts(address, wanted.bytes as usize) };
        wanted.buffer.write(0, bytes);
        self.mappings.release(wanted.address, wanted.bytes);
        true
    }

    /// A message of this process to itself.
    fn fetch_own(&mut self, wanted: &Fetch<Area>) -> bool {
        let address = wanted.address as usize as *const u8;
        // SAFETY: our own sending request's promise covers the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(address, wanted.bytes as usize) };
        wanted.buffer.write_own(0, bytes);
        true
    }

    /// A message in the memory of another process, by the kernel's leave.
    fn fetch_from(&mut self, wanted: &Fetch<Area>) -> bool {
        let port = self.ports.get(wanted.from as usize).copied().flatten();
        let pid = port.map_or(0, |port| self.segment.pid(port));
        let started = Instant::now();
        let fetched = match wanted.buffer.is_scattered() {
            true => self.fetch_scattered(pid, wanted),
            false => {
                let (into, bytes) = (wanted.buffer.at(0), wanted.bytes as usize);
                // SAFETY: the receiving request's promise covers the buffer.
                unsafe { fetch::fetch(pid, wanted.address, into, bytes) }.is_ok()
            }
        };
        self.rates.observe_fetch(wanted.bytes, started.elapsed());
        fetched
    }

    fn fetch_scattered(&mut self, pid: u32, wanted: &Fetch<Area>) -> bool {
        self.bounce.resize(BOUNCE_BYTES, 0);
        let mut done = 0;
        while done < wanted.bytes {
            let bytes = (wanted.bytes - done).min(BOUNCE_BYTES as u64) as usize;
            let (from, into) = (wanted.address + done, self.bounce.as_mut_ptr());
            // SAFETY: the bounce buffer is longer than the piece.
            if unsafe { fetch::fetch(pid, from, into, bytes) }.is_err() {
                return false;
            }
            wanted.buffer.write(done, &self.bounce[..bytes]);
            done += bytes as u64;
        }
        true
    }
}

impl Memory<Area> for UserMemory {
    #[inline(always)]
    fn write(&mut self, buffer: Area, offset: u64, bytes: &[u8]) {
        buffer.write(offset, bytes);
    }

    #[inline(always)]
    fn write_shared(&mut self, buffer: Area, offset: u64, bytes: &[u8]) {
        buffer.write_from_shared(offset, bytes);
    }

    fn write_timed(&mut self, buffer: Area, offset: u64, bytes: &[u8]) {
        let begun = Instant::now();
        buffer.write_from_shared(offset, bytes);
        let ended = Instant::now();
        // Of the piece that follows another one, the wait for it counts too: the sender's copy may
        // be what takes the time. Where they take turns on a CPU it would be others' time.
        let place = (buffer.address(), offset);
        let begun = match self.last_piece {
            Some((next, ended)) if next == place && !self.oversubscribed => ended,
            _ => begun,
        };
        self.last_piece = Some(((place.0, offset + bytes.len() as u64), ended));
        self.rates.observe_copy(bytes.len() as u64, ended - begun);
    }

    fn write_own(&mut self, buffer: Area, offset: u64, bytes: &[u8]) {
        buffer.write_own(offset, bytes);
    }

    fn show<R>(
        &mut self,
        payload: Option<Payload<Area>>,
        take: impl FnOnce(&mut Self, &[u8]) -> R,
    ) -> R {
        if let Some(payload) = payload
            && payload.buffer.is_scattered()
        {
            let mut bounce = std::mem::take(&mut self.bounce);
            bounce.resize(payload.bytes.max(BOUNCE_BYTES), 0);
            payload
                .buffer
                .read(payload.offset, &mut bounce[..payload.bytes]);
            let taken = take(self, &bounce[..payload.bytes]);
            self.bounce = bounce;
            return taken;
        }
        let bytes: &[u8] = match payload {
            // SAFETY: the sending request's promise covers the piece.
            Some(payload) if payload.bytes > 0 => unsafe {
                std::slice::from_raw_parts(payload.buffer.at(payload.offset), payload.bytes)
            },
            _ => &[],
        };
        take(self, bytes)
    }

    fn choose_fetch(&mut self) -> Option<bool> {
        self.single_copy.then(|| self.rates.choose_fetch())
    }

    fn fetch(&mut self, wanted: &Fetch<Area>) -> bool {
        match wanted {
            _ if wanted.mapped => self.fetch_mapped(wanted),
            _ if wanted.from == self.me => self.fetch_own(wanted),
            _ => self.fetch_from(wanted),
        }
    }
}
