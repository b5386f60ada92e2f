//! Partitioned messages: many threads fill one message piece by piece (MPI 5.0 §4).
//!
//! Both sides are introduced once: the sender's init call sends its channel number under the message's tag, and introductions
//! match in the order of the init calls, as the standard demands. Every start then sends one message on that channel, as soon as the
//! last partition is ready. Introductions and channels have a context of their own: no other receive can see them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::{Envelope, Mode, Pattern, Request, RequestId};

use crate::buffer::Buffer;
use crate::communicator::check_tag;
use crate::communicator::{Comm, Context};
use crate::error::ErrorKind;
use crate::operation::{Operation, Partitions, Pending, Report};
use crate::process::Task;
use crate::process::background::Work;

/// Tags of data messages: this bit, and the channel. Introductions have the program's tag, which never has the bit.
const CHANNEL: i32 = 1 << 30;

/// The channels that a process has opened: their numbers tell its partitioned sends apart.
static CHANNELS: AtomicU32 = AtomicU32::new(0);

impl Comm {
    /// A partitioned send of `partitions` equal parts, to be started.
    pub fn partitioned_send_init(
        self: &Arc<Self>,
        buffer: Buffer,
        partitions: u64,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<Operation, ErrorKind> {
        check_tag(tag)?;
        let channel = (CHANNELS.fetch_add(1, Ordering::Relaxed) & (CHANNEL as u32 - 1)) as i32;
        if let Some(dest) = dest {
            self.check_rank("dest", dest)?;
            let envelope = self.partitioned(tag, 4);
            let introduction = channel.to_ne_bytes().to_vec();
            let process = self.process_of(dest);
            self.isend_packed(process, envelope, introduction, Mode::Standard)?
                .detach();
        }
        let filling = Filling {
            is_ready: vec![false; partitions as usize],
            missing: partitions,
            state: State::Inactive,
        };
        let parts = Parts {
            comm: self.clone(),
            buffer,
            dest,
            tag: CHANNEL | channel,
            is_sent: AtomicBool::new(false),
            progress: Mutex::new(filling),
        };
        Ok(Operation::other(Send {
            parts: Arc::new(parts),
            watches: AtomicBool::new(false),
        }))
    }

    /// A partitioned receive of `partitions` equal parts, to be started.
    pub fn partitioned_receive_init(
        self: &Arc<Self>,
        buffer: Buffer,
        partitions: u64,
        source: Option<u32>,
        tag: i32,
    ) -> Result<Operation, ErrorKind> {
        check_tag(tag)?;
        let mut introduction = None;
        if let Some(source) = source {
            self.check_rank("source", source)?;
            let mut channel = Box::new([0u8; 4]);
            let (from, pattern) = self.partitioned_pattern(source, tag);
            // SAFETY: the box lives with the operation, which waits for the request or takes it back.
            let request = unsafe {
                let engine = &self.process.engine;
                engine.irecv(Some(from), pattern, channel.as_mut_ptr(), 4)?
            };
            introduction = Some((request, channel));
        }
        let work = Receiving {
            comm: self.clone(),
            buffer,
            source,
            introduction,
            channel: None,
            data: None,
            outcome: None,
        };
        Ok(Operation::other(Receive(Arc::new(Arriving {
            comm: self.clone(),
            partitions,
            task: Task::new(work),
            is_active: AtomicBool::new(false),
        }))))
    }

    fn partitioned(&self, tag: i32, bytes: u64) -> Envelope {
        Envelope {
            context: self.context(Context::Partitioned),
            source: self.rank,
            tag,
            bytes,
        }
    }

    fn partitioned_pattern(&self, source: u32, tag: i32) -> (u32, Pattern) {
        let pattern = Pattern {
            context: self.context(Context::Partitioned),
            source: Some(source),
            tag: Some(tag),
        };
        (self.process_of(source), pattern)
    }
}

/// Where a partitioned send stands.
enum State {
    Inactive,
    /// Some partitions are not ready yet.
    Filling,
    /// All were, and the message is on its way.
    Sent(Operation),
}

/// The request of a partitioned send.
struct Send {
    parts: Arc<Parts>,
    /// Whoever waits has seen that the message was sent, and watches it.
    watches: AtomicBool,
}

/// What the request and the threads that call partitions ready share.
struct Parts {
    comm: Arc<Comm>,
    buffer: Buffer,
    dest: Option<u32>,
    tag: i32,
    is_sent: AtomicBool,
    progress: Mutex<Filling>,
}

struct Filling {
    is_ready: Vec<bool>,
    missing: u64,
    state: State,
}

// SAFETY: the buffer is only read, when the message is sent, and its maker's promise covers any thread.
unsafe impl Sync for Parts {}

impl Parts {
    fn progress(&self) -> MutexGuard<'_, Filling> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, progress: &mut Filling) -> Result<(), ErrorKind> {
        let operation = match self.dest {
            None => Operation::Over(Report::EMPTY),
            Some(dest) => {
                let envelope = self.comm.partitioned(self.tag, self.buffer.bytes());
                let process = self.comm.process_of(dest);
                self.comm
                    .isend_on(process, envelope, &self.buffer, Mode::Standard)?
            }
        };
        progress.state = State::Sent(operation);
        self.is_sent.store(true, Ordering::Release);
        Ok(())
    }
}

impl Pending for Send {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.parts.comm)
    }

    fn is_ready(&mut self) -> bool {
        match &mut self.parts.progress().state {
            State::Inactive => true,
            State::Filling => false,
            State::Sent(operation) => operation.is_ready(),
        }
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        let progress = self.parts.progress();
        if let State::Sent(operation) = &progress.state {
            operation.watch(requests);
            self.watches.store(true, Ordering::Relaxed);
        }
    }

    fn is_departing(&self) -> bool {
        let progress = self.parts.progress();
        matches!(&progress.state, State::Sent(operation) if operation.is_departing())
    }

    /// The last partition became ready while somebody waits: there is something to watch now.
    fn is_noted(&self) -> bool {
        self.parts.is_sent.load(Ordering::Acquire) && !self.watches.load(Ordering::Relaxed)
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let state = std::mem::replace(&mut self.parts.progress().state, State::Inactive);
        match state {
            State::Sent(mut operation) => operation.conclude(),
            State::Inactive | State::Filling => Ok(Report::EMPTY),
        }
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        Some(Ok(Report::EMPTY))
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::NotCancellable {
            what: "a partitioned send",
        })
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_active(&self) -> bool {
        !matches!(self.parts.progress().state, State::Inactive)
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        let mut progress = self.parts.progress();
        if !matches!(progress.state, State::Inactive) {
            return Err(ErrorKind::AlreadyActive);
        }
        progress.is_ready.fill(false);
        progress.missing = progress.is_ready.len() as u64;
        progress.state = State::Filling;
        self.parts.is_sent.store(false, Ordering::Relaxed);
        self.watches.store(false, Ordering::Relaxed);
        if progress.missing == 0 {
            self.parts.send(&mut progress)?;
        }
        Ok(())
    }

    fn partitions(&self) -> Option<Arc<dyn Partitions>> {
        Some(self.parts.clone())
    }
}

impl Partitions for Parts {
    fn ready(&self, first: u64, last: u64) -> Result<(), ErrorKind> {
        let mut progress = self.progress();
        let partitions = progress.is_ready.len() as u64;
        if first > last || last >= partitions {
            return Err(ErrorKind::Partition {
                first,
                last,
                partitions,
            });
        }
        if !matches!(progress.state, State::Filling) {
            return Err(ErrorKind::PartitionedInactive);
        }
        for partition in first..=last {
            let is_ready = &mut progress.is_ready[partition as usize];
            if std::mem::replace(is_ready, true) {
                return Err(ErrorKind::PartitionTwice { partition });
            }
            progress.missing -= 1;
        }
        if progress.missing == 0 {
            self.send(&mut progress)?;
            drop(progress);
            self.comm.process.engine.rouse();
        }
        Ok(())
    }

    fn arrived(&self, _: u64) -> Result<bool, ErrorKind> {
        Err(ErrorKind::PartitionedDirection {
            call: "MPI_Parrived",
            needs: "MPI_Precv_init",
        })
    }
}

/// The request of a partitioned receive.
struct Receive(Arc<Arriving>);

/// What the request and the threads that ask for partitions share.
struct Arriving {
    comm: Arc<Comm>,
    partitions: u64,
    task: Arc<Task<Receiving>>,
    is_active: AtomicBool,
}

impl Arriving {
    fn is_over(&self) -> bool {
        !self.is_active.load(Ordering::Relaxed) || self.task.is_over()
    }
}

/// What goes on behind it.
struct Receiving {
    comm: Arc<Comm>,
    buffer: Buffer,
    source: Option<u32>,
    /// The introduction, until it has come.
    introduction: Option<(Request, Box<[u8; 4]>)>,
    channel: Option<i32>,
    data: Option<Operation>,
    outcome: Option<Result<Report, ErrorKind>>,
}

impl Receiving {
    /// As far as it goes without waiting; the outcome when it is over.
    fn advance(&mut self) -> Result<Option<Report>, ErrorKind> {
        let Some(source) = self.source else {
            return Ok(Some(Report::NOBODY));
        };
        let engine = &self.comm.process.engine;
        if let Some((request, channel)) = &self.introduction {
            if engine.test_or_fail(*request)?.is_none() {
                return Ok(None);
            }
            self.channel = Some(i32::from_ne_bytes(**channel));
            self.introduction = None;
        }
        let channel = self.channel.expect("the introduction has come");
        if self.data.is_none() {
            let (from, pattern) = self.comm.partitioned_pattern(source, CHANNEL | channel);
            self.data = Some(self.comm.irecv_on(Some(from), pattern, &self.buffer)?);
        }
        let data = self.data.as_mut().expect("begun above");
        if !data.is_settled() {
            return Ok(None);
        }
        let report = data.conclude();
        self.data = None;
        report.map(Some)
    }
}

impl Work for Receiving {
    fn step(&mut self) -> bool {
        self.outcome = self.advance().transpose();
        self.outcome.is_some()
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if let Some((request, _)) = &self.introduction {
            // The engine must let go of the box before it is freed.
            let engine = &self.comm.process.engine;
            engine.cancel(*request);
            let _ = engine.wait(*request);
        }
    }
}

impl Pending for Receive {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.0.comm)
    }

    fn is_ready(&mut self) -> bool {
        self.0.comm.process.progress();
        self.0.is_over()
    }

    fn watch(&self, _: &mut Vec<RequestId>) {}

    fn is_noted(&self) -> bool {
        self.0.is_over()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        self.0.is_active.store(false, Ordering::Relaxed);
        let outcome = self.0.task.with(|work| work.outcome.take());
        outcome.unwrap_or(Ok(Report::EMPTY))
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        Some(Ok(Report::EMPTY))
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::NotCancellable {
            what: "a partitioned receive",
        })
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_active(&self) -> bool {
        self.0.is_active.load(Ordering::Relaxed)
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        if self.0.is_active.swap(true, Ordering::Relaxed) {
            return Err(ErrorKind::AlreadyActive);
        }
        self.0.task.begin();
        self.0.comm.process.background.start(self.0.task.clone());
        Ok(())
    }

    fn partitions(&self) -> Option<Arc<dyn Partitions>> {
        Some(self.0.clone())
    }
}

impl Partitions for Arriving {
    fn ready(&self, _: u64, _: u64) -> Result<(), ErrorKind> {
        Err(ErrorKind::PartitionedDirection {
            call: "MPI_Pready",
            needs: "MPI_Psend_init",
        })
    }

    fn arrived(&self, partition: u64) -> Result<bool, ErrorKind> {
        let partitions = self.partitions;
        if partition >= partitions {
            return Err(ErrorKind::Partition {
                first: partition,
                last: partition,
                partitions,
            });
        }
        self.comm.process.progress();
        Ok(self.is_over())
    }
}
