//! A device that writes each frame that passes to a file which Wireshark opens:
//! `OXMPI_NET_PCAP=prefix`. `docs/oxmpi.lua` takes the frames apart there.
//!
//! The file is pcapng with an interface of link type Ethernet. Around a frame stands what the
//! network puts there (`envelope`): for raw Ethernet the real header, for UDP headers of Ethernet,
//! IP and UDP made up from the addresses. Frames that leave in one call are still recorded one by
//! one. The file holds the messages, so only its owner may read it. It is complete up to the last
//! second, and up to the last frame when the process sleeps or ends.

mod envelope;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oxmpi_trust::{Access, FileError};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use super::{Address, Batch, Counters, Device};

/// What a process that is killed may lose of its capture.
const UNWRITTEN_MAX: Duration = Duration::from_secs(1);

/// Bytes gathered before they are written: some 40 full frames, or 700 short ones, a call.
const GATHERED_BYTES: usize = 64 << 10;

/// Time stamps count powers of ten of a second: nanoseconds.
const NANOSECONDS: u8 = 9;

/// The direction in the flags of a packet (pcapng, option `epb_flags`).
#[derive(Clone, Copy)]
enum Direction {
    In = 1,
    Out = 2,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be made.
    #[error(
        "cannot write the capture {}: {source}; OXMPI_NET_PCAP=prefix names files prefix.RANK.DEVICE.pcapng in a folder that exists and is yours to write in",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Something else lies under the file's name.
    #[error("cannot write the capture: {0}")]
    Found(FileError),
}

/// A capture around a device.
pub struct Pcap {
    device: Box<dyn Device>,
    own: Address,
    path: PathBuf,
    /// None after it could not be written to.
    writer: Option<PcapNgWriter<BufWriter<File>>>,
    /// Since when something waits to be written.
    unwritten: Option<Instant>,
    packet: Vec<u8>,
    frame: Vec<u8>,
}

impl Pcap {
    /// Records a device's frames. `own` is where others reach the device: the source of what it
    /// sends. A file that is there is overwritten.
    pub fn create(
        device: Box<dyn Device>,
        path: &Path,
        own: Address,
    ) -> Result<Pcap, CaptureError> {
        let failed = |source| CaptureError::Create {
            path: path.to_owned(),
            source,
        };
        let file = oxmpi_trust::create(path, Access::Private).map_err(|error| match error {
            FileError::System { source, .. } => failed(source),
            error => CaptureError::Found(error),
        })?;
        let mut writer = begin(file, &device.describe())
            .map_err(io_error)
            .map_err(failed)?;
        // A disk that is full or a share that is gone shows now rather than later.
        writer.get_mut().flush().map_err(failed)?;
        Ok(Pcap {
            device,
            own,
            path: path.to_owned(),
            writer: Some(writer),
            unwritten: None,
            packet: Vec::new(),
            frame: Vec::new(),
        })
    }

    /// Records `self.frame`.
    fn record(&mut self, direction: Direction, other: Address) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let (from, to) = match direction {
            Direction::In => (other, self.own),
            Direction::Out => (self.own, other),
        };
        self.packet.clear();
        envelope::write(&from, &to, &self.frame, &mut self.packet);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: since_1970.unwrap_or_default(),
            original_len: self.packet.len() as u32,
            data: Cow::Borrowed(&self.packet),
            options: vec![EnhancedPacketOption::Flags(direction as u32)],
        };
        let outcome = writer.write_pcapng_block(block).map(drop).map_err(io_error);
        self.check(outcome);
        if self.unwritten.is_none() {
            self.unwritten = Some(Instant::now());
        }
    }

    fn flush(&mut self) {
        self.unwritten = None;
        if let Some(writer) = &mut self.writer {
            let outcome = writer.get_mut().flush();
            self.check(outcome);
        }
    }

    /// The job matters more than its capture: what cannot be written any more is said once.
    fn check(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            let path = self.path.display();
            eprintln!("oxmpi: the capture {path} ends here, the job goes on: {error}");
            // What is still gathered would fail again when it is dropped; that is not said a second
            // time.
            self.writer = None;
        }
    }
}

fn begin(file: File, description: &str) -> Result<PcapNgWriter<BufWriter<File>>, PcapError> {
    let file = BufWriter::with_capacity(GATHERED_BYTES, file);
    let mut writer = PcapNgWriter::new(file)?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed("oxmpi")),
            InterfaceDescriptionOption::IfDescription(Cow::Borrowed(description)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    })?;
    Ok(writer)
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl Drop for Pcap {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Device for Pcap {
    fn describe(&self) -> String {
        format!(
            "{}, captured in {}",
            self.device.describe(),
            self.path.display()
        )
    }

    fn frame_bytes_max(&self) -> usize {
        self.device.frame_bytes_max()
    }

    fn batch_max(&self) -> (usize, usize) {
        self.device.batch_max()
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let taken = self.device.send(to, batch)?;
        for frame in 0..taken {
            batch.copy_frame(frame, &mut self.frame);
            self.record(Direction::Out, *to);
        }
        Ok(taken)
    }

    fn poll(&mut self) -> bool {
        if self
            .unwritten
            .is_some_and(|since| since.elapsed() >= UNWRITTEN_MAX)
        {
            self.flush();
        }
        if !self.device.poll() {
            return false;
        }
        self.frame.clear();
        self.frame.extend_from_slice(self.device.frame());
        self.record(Direction::In, self.device.sender());
        true
    }

    fn frame(&self) -> &[u8] {
        self.device.frame()
    }

    fn sender(&self) -> Address {
        self.device.sender()
    }

    fn backlog(&self, high: usize) -> usize {
        self.device.backlog(high)
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn fd(&self) -> RawFd {
        self.device.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        if self.unwritten.is_some() {
            self.flush();
        }
        self.device.prepare_sleep()
    }

    fn nap_max(&self) -> Option<Duration> {
        self.device.nap_max()
    }

    fn learn(&mut self, addresses: &[Address]) {
        self.device.learn(addresses);
    }

    fn refused(&mut self) -> Option<Address> {
        self.device.refused()
    }

    fn counters(&self) -> Counters {
        self.device.counters()
    }
}

#[cfg(test)]
mod tests;
