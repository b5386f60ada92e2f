//! The receiver's side: a task that hears the introduction, takes the parcels of each start and
//! tells what has arrived.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use oxmpi_engine::{Request, RequestId};

use super::parcels::{INTRODUCTION_BYTES, Parcels};
use super::tag_of;
use crate::any_request::{AnyRequest, Partitions, Pending, Report, Sender};
use crate::buffer::Buffer;
use crate::communicator::{Comm, check_tag};
use crate::error::ErrorKind;
use crate::process::Task;
use crate::process::background::Work;

impl Comm {
    /// A partitioned receive of `partitions` equal parts, to be started.
    pub fn partitioned_receive_init(
        self: &Arc<Self>,
        buffer: Buffer,
        partitions: u64,
        source: Option<u32>,
        tag: i32,
    ) -> Result<AnyRequest, ErrorKind> {
        check_tag(tag)?;
        let mut introduction = None;
        if let Some(source) = source {
            self.check_rank("source", source)?;
            let mut said = Box::new([0; INTRODUCTION_BYTES]);
            let (from, pattern) = self.partitioned_pattern(source, tag);
            // SAFETY: the box lives with the operation, which waits for the request or takes it
            // back.
            let request = unsafe {
                let (engine, bytes) = (&self.process.engine, said.len() as u64);
                engine.irecv(Some(from), pattern, said.as_mut_ptr(), bytes)?
            };
            introduction = Some((request, said));
        }
        let bytes = buffer.bytes();
        let arrivals = Arc::<Arrivals>::default();
        let work = Receiving {
            comm: self.clone(),
            buffer,
            source: source.map(|rank| (rank, tag)),
            introduction,
            channel: 0,
            arrivals: arrivals.clone(),
            under_way: Vec::new(),
            is_begun: false,
            bytes: 0,
            failed: None,
            outcome: None,
        };
        Ok(AnyRequest::other(Receive(Arc::new(Arriving {
            comm: self.clone(),
            partitions,
            bytes,
            arrivals,
            task: Task::new(work),
            is_active: AtomicBool::new(false),
        }))))
    }
}

/// The request of a partitioned receive.
struct Receive(Arc<Arriving>);

/// What the request and the threads that ask for partitions share.
struct Arriving {
    comm: Arc<Comm>,
    partitions: u64,
    bytes: u64,
    arrivals: Arc<Arrivals>,
    task: Arc<Task<Receiving>>,
    is_active: AtomicBool,
}

/// Which parcels are there, once the sender has introduced itself.
type Arrivals = OnceLock<(Parcels, Box<[AtomicBool]>)>;

impl Arriving {
    fn is_over(&self) -> bool {
        !self.is_active.load(Ordering::Relaxed) || self.task.is_over()
    }

    /// Whether all parcels are there that have bytes of a partition.
    fn has_arrived(&self, partition: u64) -> bool {
        let Some((parcels, arrived)) = self.arrivals.get() else {
            return false;
        };
        let each = self.bytes / self.partitions;
        let parcels = parcels.with_bytes(&(partition * each..(partition + 1) * each));
        // Acquire: pairs with the Release in `take`. The data are there too.
        parcels.is_some_and(|mut parcels| {
            parcels.all(|parcel| arrived[parcel as usize].load(Ordering::Acquire))
        })
    }
}

/// What goes on behind it.
struct Receiving {
    comm: Arc<Comm>,
    buffer: Buffer,
    /// From whom, under which tag.
    source: Option<(u32, i32)>,
    /// The introduction, until it has come.
    introduction: Option<(Request, Box<[u8; INTRODUCTION_BYTES]>)>,
    channel: u32,
    arrivals: Arc<Arrivals>,
    /// Parcels that have not come.
    under_way: Vec<(u32, AnyRequest)>,
    /// The parcels of this start are awaited.
    is_begun: bool,
    /// What has come in this start.
    bytes: u64,
    /// Why the first parcel failed that did.
    failed: Option<ErrorKind>,
    outcome: Option<Result<Report, ErrorKind>>,
}

impl Receiving {
    /// As far as it goes without waiting; the outcome when it is over.
    fn advance(&mut self) -> Result<Option<Report>, ErrorKind> {
        let Some((source, tag)) = self.source else {
            return Ok(Some(Report::NOBODY));
        };
        if !self.hear(source)? {
            return Ok(None);
        }
        if !self.is_begun {
            self.begin(source)?;
        }
        self.take();
        if !self.under_way.is_empty() {
            return Ok(None);
        }
        self.is_begun = false;
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(Some(Report {
                sender: Sender::Rank(source),
                tag: Some(tag),
                bytes: self.bytes,
                cancelled: false,
            })),
        }
    }

    /// Whether the sender has introduced itself.
    fn hear(&mut self, from: u32) -> Result<bool, ErrorKind> {
        let Some((request, said)) = &self.introduction else {
            return Ok(true);
        };
        if self.comm.process.engine.test_or_fail(*request)?.is_none() {
            return Ok(false);
        }
        let unheard_of = ErrorKind::PartitionedIntroduction { from };
        let (channel, parcels) = Parcels::hear(said).ok_or(unheard_of)?;
        self.introduction = None;
        self.channel = channel;
        let arrived = (0..parcels.count()).map(|_| AtomicBool::new(false));
        let first = self.arrivals.set((parcels, arrived.collect()));
        assert!(first.is_ok(), "there is one introduction");
        Ok(true)
    }

    /// Awaits the parcels of a start.
    fn begin(&mut self, source: u32) -> Result<(), ErrorKind> {
        let (parcels, arrived) = self.arrivals.get().expect("the introduction has come");
        self.bytes = 0;
        self.is_begun = true;
        for parcel in 0..parcels.count() {
            arrived[parcel as usize].store(false, Ordering::Relaxed);
            let tag = tag_of(self.channel, parcel);
            let (from, pattern) = self.comm.partitioned_pattern(source, tag);
            let part = self.buffer.part(parcels.bytes_of(parcel));
            let operation = self.comm.irecv_on(Some(from), pattern, &part)?;
            self.under_way.push((parcel, operation));
        }
        Ok(())
    }

    /// Takes the parcels that have come.
    fn take(&mut self) {
        let (_, arrived) = self.arrivals.get().expect("the introduction has come");
        let (bytes, failed) = (&mut self.bytes, &mut self.failed);
        self.under_way.retain_mut(|(parcel, operation)| {
            if !operation.is_settled() {
                return true;
            }
            match operation.conclude() {
                Ok(report) => {
                    *bytes += report.bytes;
                    arrived[*parcel as usize].store(true, Ordering::Release);
                }
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
            false
        });
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

    fn abandon(&mut self) {
        self.0.task.end(|work| {
            for (_, mut operation) in work.under_way.drain(..) {
                operation.abandon();
            }
            work.outcome = Some(Err(ErrorKind::RequestFailed));
        });
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_active(&self) -> bool {
        self.0.is_active.load(Ordering::Relaxed)
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        if self.0.is_active.load(Ordering::Relaxed) {
            return Err(ErrorKind::AlreadyActive);
        }
        // Nothing of this start is there yet, though the task may post its receives only later.
        if let Some((_, arrived)) = self.0.arrivals.get() {
            let arrived = arrived.iter();
            arrived.for_each(|parcel| parcel.store(false, Ordering::Relaxed));
        }
        self.0.task.begin();
        self.0.is_active.store(true, Ordering::Relaxed);
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
        Ok(self.is_over() || self.has_arrived(partition))
    }
}
