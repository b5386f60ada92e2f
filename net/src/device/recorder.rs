//! For tests: a device that remembers what it was given and shows what it was told to.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

use super::{Address, Batch, Counters, Device};

/// What a [`Recorder`] and its test share.
#[derive(Default)]
pub(crate) struct Record {
    /// Frames by batch.
    pub sent: Vec<(Address, Vec<Vec<u8>>)>,
    /// Frames to be shown.
    pub arriving: VecDeque<(Address, Vec<u8>)>,
    /// Frames that are taken before the device is full.
    pub room: Option<usize>,
    /// Sends fail with this.
    pub broken: Option<io::ErrorKind>,
}

impl Record {
    /// All frames, whatever their batches.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        self.sent
            .iter()
            .flat_map(|(_, frames)| frames.clone())
            .collect()
    }
}

/// The device.
pub(crate) struct Recorder {
    pub record: Arc<Mutex<Record>>,
    shown: Option<(Address, Vec<u8>)>,
    /// Something that can be waited for; it never has anything to say.
    socket: UnixDatagram,
}

impl Recorder {
    /// A device and its record.
    pub fn pair() -> (Box<dyn Device>, Arc<Mutex<Record>>) {
        let record = Arc::new(Mutex::new(Record::default()));
        let device = Recorder {
            record: record.clone(),
            shown: None,
            socket: UnixDatagram::unbound().unwrap(),
        };
        (Box::new(device), record)
    }
}

/// A batch of frames that live as long as the program.
#[allow(unsafe_code)]
pub(super) fn batch_of(frames: impl IntoIterator<Item = Vec<u8>>) -> Batch {
    let mut batch = Batch::new();
    for frame in frames {
        // Two pieces, as a header and a payload are.
        for piece in frame.leak().chunks(2) {
            // SAFETY: leaked memory stays.
            unsafe { batch.push(piece.as_ptr(), piece.len()) };
        }
        batch.end_frame();
    }
    batch
}

impl Device for Recorder {
    fn describe(&self) -> String {
        "recorder".into()
    }

    fn frame_bytes_max(&self) -> usize {
        1500
    }

    fn batch_max(&self) -> (usize, usize) {
        (64, 65_000)
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let mut record = self.record.lock().unwrap();
        if let Some(kind) = record.broken {
            return Err(kind.into());
        }
        let taken = record
            .room
            .map_or(batch.len(), |room| room.min(batch.len()));
        record.room = record.room.map(|room| room - taken);
        let mut frames = vec![Vec::new(); taken];
        for (frame, bytes) in frames.iter_mut().enumerate() {
            batch.copy_frame(frame, bytes);
        }
        if taken > 0 {
            record.sent.push((*to, frames));
        }
        Ok(taken)
    }

    fn poll(&mut self) -> bool {
        self.shown = self.record.lock().unwrap().arriving.pop_front();
        self.shown.is_some()
    }

    fn frame(&self) -> &[u8] {
        &self.shown.as_ref().expect("poll said true").1
    }

    fn sender(&self) -> Address {
        self.shown.as_ref().expect("poll said true").0
    }

    fn backlog(&self, high: usize) -> usize {
        self.record.lock().unwrap().arriving.len().min(high)
    }

    fn room(&self) -> usize {
        100
    }

    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.record.lock().unwrap().arriving.is_empty()
    }

    fn counters(&self) -> Counters {
        Counters {
            frames_out: self.record.lock().unwrap().frames().len() as u64,
            ..Counters::default()
        }
    }
}
