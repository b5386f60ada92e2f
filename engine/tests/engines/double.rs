//! A double of the driver /dev/o2g in user space: the driver's own core, a thread that reads the
//! sockets in place of the protocol handler, and memory that both sides map.
//!
//! It is here because a test on any machine must reach every path of the kernel home; what the
//! module itself does is tested in a guest (`cargo xtask kernel test`).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use o2g::{Area, CancelError, FreeError, RecordError, RecordView, RegisterError};
use oxmpi_net::tcp::{Cancel, Driver, Put, PutError};
use oxmpi_o2g_core::{Area as Written, Core, PutError as Refused, Reply, Step};
use oxmpi_wire::o2g::{Desk, Done, Entry, NO_BUFFER, PAGE_BYTES};

/// Few and small, so that tests meet the limits.
const ENTRIES: u32 = 64;
const DUMP_BYTES: u64 = 128 << 10;
const READ_BYTES: usize = 32 << 10;

/// The double.
pub struct Double {
    area: Area,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Counts up whenever there are records.
    event: OwnedFd,
    stop: AtomicBool,
    /// The reader looks at a desk or writes an answer: as the socket's lock, it keeps the process
    /// from writing.
    answering: AtomicBool,
}

struct State {
    core: Core,
    sockets: Vec<Socket>,
    /// Addresses of the entries' memory, by slot.
    buffers: HashMap<u32, u64>,
    puts: u32,
    map: Mapping,
}

struct Socket {
    fd: OwnedFd,
    name: u32,
    index: u32,
    /// Read and not used.
    bytes: Vec<u8>,
    stopped: bool,
    /// How the stream ended, if it has and the core does not know.
    end: Option<u32>,
    over: bool,
}

/// Memory of the file that both sides map.
struct Mapping(*mut u8, usize);

// SAFETY: whoever has the state's lock uses it.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with the same length.
        unsafe { libc::munmap(self.0.cast(), self.1) };
    }
}

impl Double {
    pub fn new(size: u32) -> Double {
        let flags = (ENTRIES as usize * size_of::<Done>()).next_multiple_of(PAGE_BYTES);
        let desks = (size as usize * size_of::<Desk>()).next_multiple_of(PAGE_BYTES);
        let bytes = PAGE_BYTES + flags + desks + DUMP_BYTES as usize;
        // SAFETY: new descriptors are ours; a mapping of the file's length, which nobody but the
        // core writes.
        let (event, file, map) = unsafe {
            let event = OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK));
            let file = OwnedFd::from_raw_fd(libc::memfd_create(c"o2g".as_ptr(), 0));
            assert_eq!(libc::ftruncate(file.as_raw_fd(), bytes as i64), 0);
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let fd = file.as_raw_fd();
            let at = libc::mmap(std::ptr::null_mut(), bytes, both, libc::MAP_SHARED, fd, 0);
            assert_ne!(at, libc::MAP_FAILED);
            (event, file, Mapping(at.cast(), bytes))
        };
        let mut core = Core::new(size, ENTRIES).unwrap();
        // SAFETY: four parts of the mapping, zeroed, which outlives the core in the state's order
        // of fields.
        let written = unsafe {
            let flags_at = map.0.add(PAGE_BYTES);
            let desks_at = flags_at.add(flags);
            let dump_at = desks_at.add(desks);
            Written::new(
                map.0, flags_at, ENTRIES, desks_at, size, dump_at, DUMP_BYTES,
            )
        };
        core.set_area(written.unwrap()).unwrap();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                core,
                sockets: Vec::new(),
                buffers: HashMap::new(),
                puts: 0,
                map,
            }),
            event,
            stop: AtomicBool::new(false),
            answering: AtomicBool::new(false),
        });
        let reader = Arc::clone(&shared);
        Double {
            area: Area::map(file.as_fd(), ENTRIES, size, DUMP_BYTES).unwrap(),
            shared,
            thread: Some(std::thread::spawn(move || reader.run())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Shared {
    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let mut state = self.state.lock().unwrap();
            let State {
                core,
                sockets,
                buffers,
                map,
                ..
            } = &mut *state;
            assert!(!map.0.is_null());
            let mut happened = false;
            for socket in sockets.iter_mut() {
                happened |= socket.read(core, buffers);
                self.answering.store(true, Ordering::SeqCst);
                socket.answer(core);
                self.answering.store(false, Ordering::SeqCst);
            }
            if core.is_readable() && happened {
                let one = 1u64;
                // SAFETY: eight bytes of a local.
                unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
            }
            drop(state);
            match happened {
                true => std::thread::yield_now(),
                false => std::thread::sleep(Duration::from_micros(30)),
            }
        }
    }
}

impl Socket {
    /// One run of the reader. Whether anything was read.
    fn read(&mut self, core: &mut Core, buffers: &HashMap<u32, u64>) -> bool {
        if self.over || self.stopped && core.is_stopped(self.index) {
            return false;
        }
        self.stopped = false;
        let mut happened = !self.bytes.is_empty();
        if self.bytes.is_empty() && self.end.is_none() {
            happened |= self.receive();
        }
        core.begin(self.index, true);
        let mut used = 0;
        while used < self.bytes.len() {
            let answer = core.feed(self.index, &self.bytes[used..]);
            used += answer.consumed;
            match answer.step {
                Step::Done => break,
                Step::Place {
                    slot,
                    offset,
                    bytes,
                } => {
                    // SAFETY: who put the entry promised that its memory stays until it is over.
                    unsafe {
                        let to = (buffers[&slot] + offset) as *mut u8;
                        std::ptr::copy_nonoverlapping(self.bytes[used..].as_ptr(), to, bytes);
                    }
                    used += bytes;
                    core.placed(self.index, 0);
                }
                Step::Stop => {
                    self.stopped = true;
                    break;
                }
                Step::Thread => core.begin(self.index, false),
                Step::Broken => {
                    self.over = true;
                    break;
                }
            }
        }
        self.bytes.drain(..used);
        if self.bytes.is_empty()
            && let Some(error) = self.end
        {
            self.over = core.end(self.index, error);
            self.stopped = !self.over;
            happened = true;
        }
        happened
    }

    /// Writes the answers that can be written.
    fn answer(&mut self, core: &mut Core) {
        while !self.over
            && let Reply::Now(answer) = core.answer(self.index)
        {
            let mut left = &answer[..];
            while !left.is_empty() {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                // SAFETY: pointer and length describe the slice.
                let sent = unsafe {
                    libc::send(self.fd.as_raw_fd(), left.as_ptr().cast(), left.len(), flags)
                };
                match usize::try_from(sent) {
                    Ok(sent) => left = &left[sent..],
                    Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => {
                        std::thread::yield_now();
                    }
                    // The connection is over, which its reader will see.
                    Err(_) => return,
                }
            }
            core.answered(self.index);
        }
    }

    fn receive(&mut self) -> bool {
        self.bytes.resize(READ_BYTES, 0);
        // SAFETY: the vector has as many bytes.
        let read = unsafe {
            let to = self.bytes.as_mut_ptr().cast();
            libc::recv(self.fd.as_raw_fd(), to, READ_BYTES, libc::MSG_DONTWAIT)
        };
        let error = io::Error::last_os_error();
        self.bytes.truncate(read.max(0) as usize);
        match read {
            0 => self.end = Some(0),
            -1 if error.kind() == io::ErrorKind::WouldBlock => return false,
            -1 => self.end = error.raw_os_error().map(|errno| errno as u32),
            _ => {}
        }
        true
    }
}

impl Driver for Double {
    fn fd(&self) -> RawFd {
        self.shared.event.as_raw_fd()
    }

    fn register(
        &mut self,
        socket: BorrowedFd<'_>,
        name: u32,
        desk: u32,
        early: &[u8],
    ) -> Result<(), RegisterError> {
        let mut state = self.state();
        let index = state.core.open_socket(name, desk);
        let index = index.map_err(|_| RegisterError::Full { rank: name })?;
        state.sockets.push(Socket {
            fd: socket.try_clone_to_owned().unwrap(),
            name,
            index,
            bytes: early.to_vec(),
            stopped: false,
            end: None,
            over: false,
        });
        Ok(())
    }

    fn begin_writing(&self, desk: u32) {
        self.area.begin_writing(desk);
        std::sync::atomic::fence(Ordering::SeqCst);
        while self.shared.answering.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }

    fn end_writing(&mut self, desk: u32) -> Result<(), FreeError> {
        // Who reads looks at every desk all the time.
        self.area.end_writing(desk);
        Ok(())
    }

    fn forget(&mut self, name: u32) {
        let mut state = self.state();
        if let Some(at) = state.sockets.iter().position(|socket| socket.name == name) {
            let socket = state.sockets.remove(at);
            state.core.close_socket(socket.index);
        }
    }

    unsafe fn put(&mut self, entry: &Entry) -> Result<Put, PutError> {
        let mut state = self.state();
        while let Some(slot) = state.core.next_released() {
            state.buffers.remove(&slot);
        }
        state.puts += 1;
        if state.puts.is_multiple_of(7) && entry.flags & NO_BUFFER == 0 {
            // As for memory that the kernel does not write.
            return Err(PutError::Memory {
                cookie: entry.cookie,
                address: entry.address,
                bytes: entry.bytes,
            });
        }
        // Every third cannot be pinned.
        let pinned = !state.puts.is_multiple_of(3);
        match state.core.put(entry, pinned) {
            Ok(()) => {
                let slot = entry.cookie as u32;
                state.buffers.insert(slot, entry.address);
                Ok(Put::Posted)
            }
            Err(Refused::Again) => Ok(Put::Again),
            Err(Refused::Slot { .. }) => Err(PutError::Full {
                cookie: entry.cookie,
            }),
            Err(refused) => panic!("{entry:?}: {refused}"),
        }
    }

    fn cancel(&mut self, cookie: u64) -> Result<Cancel, CancelError> {
        Ok(match self.state().core.cancel(cookie) {
            Ok(()) => Cancel::Cancelled,
            Err(oxmpi_o2g_core::CancelError::Again) => Cancel::Again,
            Err(oxmpi_o2g_core::CancelError::Unknown { .. }) => Cancel::Unknown,
        })
    }

    fn done(&self, slot: u32) -> Done {
        self.area.done(slot)
    }

    fn peek(&self) -> Result<Option<RecordView<'_>>, RecordError> {
        self.area.peek()
    }

    fn advance_to(&mut self, position: u64) -> Result<(), FreeError> {
        self.area.advance_to(position)?;
        if self.area.is_stopped() {
            self.go_on()?;
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), FreeError> {
        if self.area.is_stopped_for_certain() {
            let tail = self.area.tail();
            let mut state = self.state();
            if state.core.free_to(tail).unwrap() {
                for socket in &mut state.sockets {
                    socket.stopped = false;
                }
            }
        }
        Ok(())
    }

    fn tail(&self) -> u64 {
        self.area.tail()
    }

    fn head(&self) -> u64 {
        self.area.head()
    }
}
