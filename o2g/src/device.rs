//! A context of the driver: the requests, each with its errors, and the memory that is read without
//! them.
//!
//! Above it `net` hands over its connections and receives; below it `sys` does the calls. Requests
//! take `&self`, so that several threads may put and cancel; records are taken by one (`&mut
//! self`), and a view of one borrows the device, so that memory is not given back while it is read.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use oxmpi_wire::o2g::{
    Counters, Done, DumpArea, EARLY_BYTES_MAX, Entry, FREE, Init, PAGE_BYTES, Register, VERSION,
};

use crate::error::Foreign;
use crate::sys::{self, Area, Argument, Plain, desks_bytes, flags_bytes};
use crate::{
    CancelError, CountError, DumpAreaError, DumperError, ForgetError, FreeError, InitError,
    OpenError, PATH, PutError, RecordError, RecordView, RegisterError, WaitError, request,
};

/// An open file of the driver. Dropping it restores the sockets and lets go all memory.
pub struct Device {
    fd: OwnedFd,
    n_entries: u32,
    n_socks: u32,
    area: Option<Area>,
}

/// What became of an entry that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It waits for its message.
    Posted,
    /// A message that it would accept has just arrived: its record is in the dump area. Take the
    /// records, then put it again if none of them was for it.
    Again,
}

/// What became of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The entry is gone, and its memory is not written any more.
    Cancelled,
    /// Its message is arriving, or has arrived: the records say so.
    Again,
    /// There is no entry of that name.
    Unknown,
}

impl Device {
    /// Opens the driver.
    pub fn open() -> Result<Device, OpenError> {
        Device::open_path(PATH)
    }

    fn open_path(path: &str) -> Result<Device, OpenError> {
        let fd = sys::open(path).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => OpenError::Missing,
            Some(libc::EACCES | libc::EPERM) => OpenError::Permission,
            _ => OpenError::System(error),
        })?;
        Ok(Device {
            fd,
            n_entries: 0,
            n_socks: 0,
            area: None,
        })
    }

    /// Makes room for that many sockets and entries. Once, first of all.
    pub fn init(&mut self, n_socks: u32, n_entries: u32) -> Result<(), InitError> {
        let mut argument = Init {
            version: VERSION,
            n_socks,
            n_entries,
            reserved: 0,
        };
        self.ask(request::INIT, &mut argument)
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                libc::EPROTO | libc::EPROTONOSUPPORT | libc::ENOTTY => InitError::Version,
                libc::EINVAL => InitError::Range { n_socks, n_entries },
                libc::EBUSY => InitError::Twice,
                libc::ENOMEM => InitError::Memory { n_socks, n_entries },
                libc::EAGAIN => InitError::Threads,
                _ => InitError::System(io::Error::from_raw_os_error(errno)),
            })?;
        self.n_entries = n_entries;
        self.n_socks = n_socks;
        Ok(())
    }

    /// Makes and maps the memory that records, unexpected messages and flags are in. Once, after
    /// `init`.
    pub fn set_dump_area(&mut self, bytes: u64) -> Result<(), DumpAreaError> {
        let mut argument = DumpArea {
            bytes,
            map_bytes: 0,
        };
        self.ask(request::SET_DUMP_AREA, &mut argument)
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                libc::EINVAL => DumpAreaError::Bytes { bytes },
                libc::EBUSY | libc::EEXIST => DumpAreaError::Twice,
                libc::ENOMEM => DumpAreaError::Memory { bytes },
                _ => DumpAreaError::System {
                    bytes,
                    source: io::Error::from_raw_os_error(errno),
                },
            })?;
        let (map_bytes, expected) = (
            argument.map_bytes,
            (PAGE_BYTES + flags_bytes(self.n_entries) + desks_bytes(self.n_socks)) as u64 + bytes,
        );
        if map_bytes != expected {
            return Err(DumpAreaError::Layout {
                map_bytes,
                expected,
            });
        }
        let area = Area::map(self.fd.as_fd(), self.n_entries, self.n_socks, bytes)
            .map_err(|source| DumpAreaError::Map { bytes, source })?;
        self.area = Some(area);
        Ok(())
    }

    /// Hands over a connected TCP socket: everything that arrives is read by the driver from now
    /// on. `early` is what the caller has read of it already. The caller still writes to it and
    /// closes it; it must not read it.
    pub fn register_socket(
        &self,
        socket: BorrowedFd<'_>,
        rank: u32,
        early: &[u8],
    ) -> Result<(), RegisterError> {
        self.register_socket_at(socket, rank, 0, early)
    }

    /// The same for one to which the driver [answers](oxmpi_wire::o2g::ANSWER): at this desk the
    /// caller tells whether it is within a packet ([`begin_writing`](Self::begin_writing)).
    pub fn register_socket_at(
        &self,
        socket: BorrowedFd<'_>,
        rank: u32,
        desk: u32,
        early: &[u8],
    ) -> Result<(), RegisterError> {
        if early.len() > EARLY_BYTES_MAX as usize {
            let bytes = early.len();
            return Err(RegisterError::Early { rank, bytes });
        }
        let fd = socket.as_raw_fd();
        let mut argument = Register {
            fd,
            rank,
            early: early.as_ptr() as u64,
            early_bytes: early.len() as u32,
            desk,
        };
        self.ask(request::REGISTER_SOCKET, &mut argument)
            .map_err(|errno| register_error(fd, rank, errno))
    }

    /// Gives the socket of that rank back: it is read by the process again. An entry whose message
    /// was arriving there ends with an error.
    pub fn forget_socket(&self, rank: u32) -> Result<(), ForgetError> {
        self.tell(request::FORGET_SOCKET, rank)
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                libc::ENOENT => ForgetError::Unknown { rank },
                _ => ForgetError::System {
                    rank,
                    source: io::Error::from_raw_os_error(errno),
                },
            })
    }

    /// Starts threads that copy what the protocol handler cannot.
    pub fn start_dumper_thread(&self, threads: u32) -> Result<(), DumperError> {
        self.tell(request::START_DUMPER_THREAD, threads)
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                libc::EINVAL | libc::EBUSY => DumperError::Range { threads },
                libc::EAGAIN => DumperError::Threads { threads },
                _ => DumperError::System {
                    threads,
                    source: io::Error::from_raw_os_error(errno),
                },
            })
    }

    /// The caller is about to write to the socket of this desk.
    pub fn begin_writing(&self, desk: u32) {
        if let Some(area) = &self.area {
            area.begin_writing(desk);
        }
    }

    /// What the caller wrote ends with a packet; not to be called while a packet has left in part.
    /// If the driver has waited for that to write an answer, it is told.
    pub fn end_writing(&self, desk: u32) -> Result<(), FreeError> {
        match &self.area {
            Some(area) if area.end_writing(desk) => self.give_answers(),
            _ => Ok(()),
        }
    }

    /// Has the driver look whether it can write answers now.
    pub fn give_answers(&self) -> Result<(), FreeError> {
        self.tell(request::GIVE_ANSWERS, 0)
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                _ => FreeError::System {
                    tail: self.tail(),
                    source: io::Error::from_raw_os_error(errno),
                },
            })
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// The memory that the entry names is the caller's, and until the entry is [done](Self::done),
    /// cancelled or the device dropped nobody relies on what is in it, and it serves no other
    /// purpose.
    #[allow(unsafe_code)]
    pub unsafe fn put_entry(&self, entry: &Entry) -> Result<Put, PutError> {
        match self.ask(request::PUT_ENTRY, &mut { *entry }) {
            Ok(()) => Ok(Put::Posted),
            Err(libc::EAGAIN) => Ok(Put::Again),
            Err(errno) => Err(put_error(entry, self.n_entries, errno)),
        }
    }

    /// Takes an entry back.
    pub fn cancel_entry(&self, cookie: u64) -> Result<Cancel, CancelError> {
        match self.ask(request::CANCEL_ENTRY, &mut { cookie }) {
            Ok(()) => Ok(Cancel::Cancelled),
            Err(libc::EAGAIN) => Ok(Cancel::Again),
            Err(libc::ENOENT) => Ok(Cancel::Unknown),
            Err(libc::EPERM) => Err(Foreign.into()),
            Err(errno) => Err(CancelError::System {
                cookie,
                source: io::Error::from_raw_os_error(errno),
            }),
        }
    }

    /// Tells the driver what has been taken of the dump area, so that it goes on reading.
    /// [`advance`](Self::advance) does it when it is due.
    pub fn free_entry(&self, tail: u64) -> Result<(), FreeError> {
        self.ask(request::FREE_ENTRY, &mut { tail })
            .map_err(|errno| match errno {
                libc::EPERM => Foreign.into(),
                libc::EINVAL => FreeError::Tail { tail },
                _ => FreeError::System {
                    tail,
                    source: io::Error::from_raw_os_error(errno),
                },
            })
    }

    /// What has been counted, in this context and in the whole module.
    pub fn counters(&self) -> Result<Counters, CountError> {
        let mut counters = Counters::default();
        match self.ask(request::COUNTERS, &mut counters) {
            Ok(()) => Ok(counters),
            Err(libc::EPERM) => Err(Foreign.into()),
            Err(errno) => Err(CountError::System(io::Error::from_raw_os_error(errno))),
        }
    }

    /// The state of a slot's entry, by one load: `FREE`, `WAITING`, `MATCHED` or `DONE` of
    /// `oxmpi_wire::o2g`.
    pub fn state(&self, slot: u32) -> u32 {
        self.area.as_ref().map_or(FREE, |area| area.state(slot))
    }

    /// How a slot's entry is. What is beside the state is of use when that is `DONE`.
    pub fn done(&self, slot: u32) -> Done {
        match &self.area {
            Some(area) => area.done(slot),
            None => Done::default(),
        }
    }

    /// The next record, without a system call. It stays until [`advance`](Self::advance).
    pub fn peek(&self) -> Result<Option<RecordView<'_>>, RecordError> {
        match &self.area {
            Some(area) => area.peek(),
            None => Ok(None),
        }
    }

    /// The record that [`peek`](Self::peek) shows has been taken, and its memory is the kernel's
    /// again. Nothing happens if there is none.
    pub fn advance(&mut self) -> Result<(), FreeError> {
        if let Some(view) = self.peek()? {
            let end = view.end();
            self.advance_to(end)?;
        }
        Ok(())
    }

    /// The same for all records before `position`, the [`end`](RecordView::end) of one that was
    /// seen.
    pub fn advance_to(&mut self, position: u64) -> Result<(), FreeError> {
        let Some(area) = &mut self.area else {
            return Err(FreeError::Tail { tail: position });
        };
        area.advance_to(position)?;
        if area.is_stopped() && area.is_mostly_free() {
            return self.free_entry(position);
        }
        Ok(())
    }

    /// Tells the driver to go on if it stopped. Call it when there is no record and before
    /// sleeping: [`advance`](Self::advance) asks only once much has been taken, and may have looked
    /// a moment too early.
    pub fn go_on(&self) -> Result<(), FreeError> {
        match &self.area {
            Some(area) if area.is_stopped_for_certain() => self.free_entry(area.tail()),
            _ => Ok(()),
        }
    }

    /// What has been taken of the dump area: [`Entry::tail`] of an entry that is put now.
    pub fn tail(&self) -> u64 {
        self.area.as_ref().map_or(0, Area::tail)
    }

    /// Where the next record will begin: what has arrived by now is before it.
    pub fn head(&self) -> u64 {
        self.area.as_ref().map_or(0, Area::head)
    }

    /// Sleeps until there is a record, or the time (`None`: any) is over, or a signal comes.
    /// Whether there is a record.
    pub fn wait(&self, time: Option<Duration>) -> Result<bool, WaitError> {
        // Rounded up: a wait that ends early would spin.
        let time_ms = time.map_or(-1, |time| {
            i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
        });
        match sys::poll(&self.fd, time_ms) {
            Ok(ready) => Ok(ready),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(WaitError(error)),
        }
    }

    fn ask<T: Plain>(&self, number: u32, structure: &mut T) -> Result<(), i32> {
        sys::request(&self.fd, number, Argument::Structure(structure))
    }

    fn tell(&self, number: u32, argument: u32) -> Result<(), i32> {
        sys::request(&self.fd, number, Argument::<u64>::Number(argument.into()))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn register_error(fd: i32, rank: u32, errno: i32) -> RegisterError {
    let source = io::Error::from_raw_os_error(errno);
    match errno {
        libc::EPERM => Foreign.into(),
        libc::EBADF
        | libc::ENOTSOCK
        | libc::EOPNOTSUPP
        | libc::EPROTONOSUPPORT
        | libc::EPROTOTYPE
        | libc::ESOCKTNOSUPPORT
        | libc::EAFNOSUPPORT
        | libc::ENOTCONN => RegisterError::Socket { fd, rank, source },
        libc::EBUSY => RegisterError::Busy { fd, rank },
        libc::EEXIST => RegisterError::Rank { rank },
        libc::ENOSPC => RegisterError::Full { rank },
        libc::EINVAL => RegisterError::Order { rank },
        _ => RegisterError::System { fd, rank, source },
    }
}

fn put_error(entry: &Entry, n_entries: u32, errno: i32) -> PutError {
    let Entry {
        cookie,
        flags,
        address,
        bytes,
        tail,
        ..
    } = *entry;
    match errno {
        libc::EPERM => Foreign.into(),
        libc::EBUSY => PutError::Busy {
            slot: cookie as u32,
            cookie,
        },
        libc::ENOSPC => PutError::Full { cookie },
        libc::EFAULT => PutError::Memory {
            cookie,
            address,
            bytes,
        },
        libc::EINVAL => PutError::Invalid {
            cookie,
            n_entries,
            flags,
            address,
            bytes,
            tail,
        },
        _ => PutError::System {
            cookie,
            source: io::Error::from_raw_os_error(errno),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_an_error_that_says_what_to_do() {
        let error = Device::open_path("/dev/no such driver").err().unwrap();
        assert!(matches!(error, OpenError::Missing), "{error}");
        assert_eq!(
            error.to_string(),
            "/dev/o2g does not exist: the driver is not loaded; load it as root: insmod o2g.ko (docs/o2g.md says how it is built)"
        );
    }

    #[test]
    fn errors_carry_their_values() {
        let entry = Entry {
            cookie: 0x7_0000_0003,
            address: 0x1000,
            bytes: 64,
            ..Entry::default()
        };
        assert_eq!(
            put_error(&entry, 8, libc::EBUSY).to_string(),
            "slot 3 has an entry already (cookie 0x700000003 was to be put there)"
        );
        assert_eq!(
            put_error(&entry, 8, libc::EFAULT).to_string(),
            "the buffer of entry 0x700000003, 64 bytes from 0x1000 on, is not memory that this process can write"
        );
        assert_eq!(
            register_error(5, 2, libc::ENOTSOCK).to_string(),
            "descriptor 5 (rank 2) is no connected TCP socket: Socket operation on non-socket (os error 88)"
        );
        assert_eq!(
            register_error(5, 2, libc::EEXIST).to_string(),
            "rank 2 has a socket already: forget_socket it first"
        );
    }
}
