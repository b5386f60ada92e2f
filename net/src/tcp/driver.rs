//! The driver as the device uses it: a trait, so that tests can put a double over the driver's own
//! core in its place.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

pub use o2g::{Cancel, Put, PutError};
use o2g::{CancelError, Device, FreeError, RecordError, RecordView, RegisterError};
use oxmpi_wire::o2g::{Done, Entry};

use super::Progress;

/// Receives that the driver may have at once: more wait for their message in this process. A slot
/// costs the kernel some 300 bytes.
pub const ENTRIES: u32 = 16_384;

/// Room for messages that nobody awaits yet. It has to hold what arrives while this process does
/// not look, a few milliseconds at several GB/s.
const DUMP_BYTES: u64 = 8 << 20;
/// The variable that says otherwise.
pub const DUMP: &str = oxmpi_settings::DUMP_BYTES.name;

/// What the device asks of /dev/o2g. `docs/o2g.md` explains the requests.
pub trait Driver: Send {
    /// Readable when there is a record.
    fn fd(&self) -> RawFd;

    /// Hands over a connected socket of which `early` has been read.
    fn register(
        &mut self,
        socket: BorrowedFd<'_>,
        name: u32,
        desk: u32,
        early: &[u8],
    ) -> Result<(), RegisterError>;

    /// The device is about to write to the socket of a desk.
    fn begin_writing(&self, desk: u32);

    /// What was written there ends with a packet.
    fn end_writing(&mut self, desk: u32) -> Result<(), FreeError>;

    /// Takes a socket back, if it is there: nothing of it is placed any more.
    fn forget(&mut self, name: u32);

    /// Posts a receive.
    ///
    /// # Safety
    /// As [`Device::put_entry`].
    #[allow(unsafe_code)]
    unsafe fn put(&mut self, entry: &Entry) -> Result<Put, PutError>;

    /// Takes a receive back.
    fn cancel(&mut self, cookie: u64) -> Result<Cancel, CancelError>;

    /// How the entry of a slot is.
    fn done(&self, slot: u32) -> Done;

    /// The next record.
    fn peek(&self) -> Result<Option<RecordView<'_>>, RecordError>;

    /// Everything before a record's end has been taken.
    fn advance_to(&mut self, position: u64) -> Result<(), FreeError>;

    /// There was no record: the driver is told to go on if it stopped.
    fn go_on(&mut self) -> Result<(), FreeError>;

    /// What has been taken.
    fn tail(&self) -> u64;

    /// What has arrived.
    fn head(&self) -> u64;
}

/// The driver cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// It is not there, or not for us.
    #[error("--progress kernel: {0}")]
    Open(#[from] o2g::OpenError),
    /// It has another version, or no memory.
    #[error("--progress kernel: {0}")]
    Init(#[from] o2g::InitError),
    /// No memory.
    #[error("--progress kernel: {0}; {DUMP} says how large the dump area is")]
    Dump(#[from] o2g::DumpAreaError),
    /// A setting.
    #[error(transparent)]
    Bytes(#[from] oxmpi_settings::SettingError),
    /// The network is another.
    #[error(
        "--progress {0}: it is about TCP connections, and this job uses another network; say --net tcp, or nothing"
    )]
    Network(Progress),
    /// It would read what only this process can decrypt.
    #[error(
        "--progress {0} and --encrypt contradict each other: connections are read inside the kernel then, which cannot decrypt them; leave one of them out"
    )]
    Encrypted(Progress),
    /// Nobody would hear of what it brings.
    #[error("--progress: what the kernel reads cannot be waited for: {0}")]
    Watch(std::io::Error),
    /// There is no io_uring for us.
    #[error("--progress uring: {0}; --progress user needs nothing of the kind")]
    Ring(#[from] super::RingError),
    /// There are no BPF programs on sockets for us.
    #[error("--progress bpf: {0}; --progress user needs nothing of the kind")]
    Bpf(#[from] super::BpfError),
}

/// Whether this process could use the driver, and why not.
pub fn find_driver() -> Result<(), o2g::OpenError> {
    Device::open().map(drop)
}

/// As [`find_driver`], in a few words.
pub fn describe_driver() -> String {
    match find_driver() {
        Ok(()) => format!("the driver {} can be used (--progress kernel)", o2g::PATH),
        Err(o2g::OpenError::Missing) => format!("no driver {} here", o2g::PATH),
        Err(o2g::OpenError::Permission) => {
            format!("the driver {} is not for this user", o2g::PATH)
        }
        Err(o2g::OpenError::System(error)) => format!("the driver {}: {error}", o2g::PATH),
    }
}

/// Room for what arrives while nobody looks.
pub(super) fn dump_bytes() -> Result<u64, DriverError> {
    let bytes = oxmpi_settings::DUMP_BYTES.read().bytes()?;
    Ok(bytes.unwrap_or(DUMP_BYTES))
}

/// Opens /dev/o2g for a process of a job of `size`.
pub(super) fn open(size: u32) -> Result<Box<dyn Driver>, DriverError> {
    let bytes = dump_bytes()?;
    let mut device = Device::open()?;
    // A connection to each other process, and one of them may be made anew before the old one is
    // forgotten.
    device.init(size, ENTRIES)?;
    device.set_dump_area(bytes)?;
    Ok(Box::new(device))
}

impl Driver for Device {
    fn fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }

    fn register(
        &mut self,
        socket: BorrowedFd<'_>,
        name: u32,
        desk: u32,
        early: &[u8],
    ) -> Result<(), RegisterError> {
        self.register_socket_at(socket, name, desk, early)
    }

    fn begin_writing(&self, desk: u32) {
        Device::begin_writing(self, desk);
    }

    fn end_writing(&mut self, desk: u32) -> Result<(), FreeError> {
        Device::end_writing(self, desk)
    }

    fn forget(&mut self, name: u32) {
        // What it does not know it does not read.
        let _ = self.forget_socket(name);
    }

    #[allow(unsafe_code)]
    unsafe fn put(&mut self, entry: &Entry) -> Result<Put, PutError> {
        // SAFETY: the caller's promise.
        unsafe { self.put_entry(entry) }
    }

    fn cancel(&mut self, cookie: u64) -> Result<Cancel, CancelError> {
        self.cancel_entry(cookie)
    }

    fn done(&self, slot: u32) -> Done {
        Device::done(self, slot)
    }

    fn peek(&self) -> Result<Option<RecordView<'_>>, RecordError> {
        Device::peek(self)
    }

    fn advance_to(&mut self, position: u64) -> Result<(), FreeError> {
        Device::advance_to(self, position)
    }

    fn go_on(&mut self) -> Result<(), FreeError> {
        Device::go_on(self)
    }

    fn tail(&self) -> u64 {
        Device::tail(self)
    }

    fn head(&self) -> u64 {
        Device::head(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_wire::o2g::{DUMP_BYTES_MAX, DUMP_BYTES_MIN};

    #[test]
    fn a_dump_area_is_a_power_of_two() {
        let bytes = |value| {
            let given = oxmpi_settings::DUMP_BYTES.read_from(|_| Some(value));
            given
                .bytes()
                .map_err(|error| DriverError::from(error).to_string())
        };
        assert_eq!(bytes(""), Ok(Some(DUMP_BYTES)));
        assert_eq!(bytes("65536"), Ok(Some(65536)));
        for value in ["65537", "32768", "x", "2147483648"] {
            assert_eq!(
                bytes(value).unwrap_err(),
                format!(
                    "OXMPI_DUMP_BYTES={value:?} makes no sense: \
                     expected a power of two from {DUMP_BYTES_MIN} to {DUMP_BYTES_MAX}"
                )
            );
        }
    }
}
