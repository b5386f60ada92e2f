//! The sender's side: a parcel leaves when the last of its partitions is ready.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::{Mode, RequestId};

use super::parcels::Parcels;
use super::tag_of;
use crate::any_request::{AnyRequest, Partitions, Pending, Report};
use crate::buffer::Buffer;
use crate::communicator::{Comm, check_tag};
use crate::error::ErrorKind;

/// Numbers that channels of this process have taken: they tell the parcels of its partitioned sends
/// apart.
static CHANNELS: AtomicU32 = AtomicU32::new(0);

impl Comm {
    /// A partitioned send of `partitions` equal parts, to be started.
    pub fn partitioned_send_init(
        self: &Arc<Self>,
        buffer: Buffer,
        partitions: u64,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<AnyRequest, ErrorKind> {
        check_tag(tag)?;
        let parcels = Parcels::new(partitions, buffer.bytes());
        let channel = CHANNELS.fetch_add(parcels.count().max(1), Ordering::Relaxed);
        if let Some(dest) = dest {
            self.check_rank("dest", dest)?;
            let introduction = parcels.introduce(channel).to_vec();
            let envelope = self.partitioned(tag, introduction.len() as u64);
            let process = self.process_of(dest);
            self.isend_packed(process, envelope, introduction, Mode::Standard)?
                .detach();
        }
        let filling = Filling {
            is_active: false,
            is_ready: vec![false; partitions as usize],
            missing: vec![0; parcels.count() as usize],
            unsent: 0,
            sent: Vec::with_capacity(parcels.count() as usize),
            failed: None,
        };
        let parts = Parts {
            comm: self.clone(),
            buffer,
            dest,
            parcels,
            channel,
            is_sent: AtomicBool::new(false),
            filling: Mutex::new(filling),
        };
        Ok(AnyRequest::other(Send {
            parts: Arc::new(parts),
            watches: AtomicBool::new(false),
        }))
    }
}

/// The request of a partitioned send.
struct Send {
    parts: Arc<Parts>,
    /// Whoever waits has seen that all parcels were sent, and watches them.
    watches: AtomicBool,
}

/// What the request and the threads that call partitions ready share.
struct Parts {
    comm: Arc<Comm>,
    buffer: Buffer,
    dest: Option<u32>,
    parcels: Parcels,
    channel: u32,
    /// All parcels are on their way.
    is_sent: AtomicBool,
    filling: Mutex<Filling>,
}

struct Filling {
    is_active: bool,
    /// By partition.
    is_ready: Vec<bool>,
    /// By parcel: its partitions that are not ready.
    missing: Vec<u64>,
    /// Parcels that were not sent.
    unsent: u32,
    /// Parcels on their way.
    sent: Vec<AnyRequest>,
    /// Why the first parcel failed that did.
    failed: Option<ErrorKind>,
}

// SAFETY: the buffer is only read, when parcels are sent, and its maker's promise covers any
// thread.
unsafe impl Sync for Parts {}

impl Parts {
    fn filling(&self) -> MutexGuard<'_, Filling> {
        self.filling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, filling: &mut Filling, parcel: u32) -> Result<(), ErrorKind> {
        filling.unsent -= 1;
        if let Some(dest) = self.dest {
            let part = self.buffer.part(self.parcels.bytes_of(parcel));
            let tag = tag_of(self.channel, parcel);
            let envelope = self.comm.partitioned(tag, part.bytes());
            let process = self.comm.process_of(dest);
            let sent = self
                .comm
                .isend_on(process, envelope, &part, Mode::Standard)?;
            filling.sent.push(sent);
        }
        Ok(())
    }
}

impl Filling {
    /// Whether no parcel is under way; lets go of those that have ended.
    fn settle(&mut self) -> bool {
        while let Some(parcel) = self.sent.last_mut() {
            if !parcel.is_ready() {
                return false;
            }
            if let Err(error) = parcel.conclude() {
                self.failed.get_or_insert(error);
            }
            self.sent.pop();
        }
        true
    }
}

impl Pending for Send {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.parts.comm)
    }

    fn is_ready(&mut self) -> bool {
        let mut filling = self.parts.filling();
        !filling.is_active || filling.unsent == 0 && filling.settle()
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        let filling = self.parts.filling();
        if filling.is_active && filling.unsent == 0 {
            // One is enough: the others are looked at when it has ended.
            if let Some(parcel) = filling.sent.last() {
                parcel.watch(requests);
            }
            self.watches.store(true, Ordering::Relaxed);
        }
    }

    fn is_departing(&self) -> bool {
        let filling = self.parts.filling();
        filling.sent.iter().any(AnyRequest::is_departing)
    }

    /// The last partition became ready while somebody waits: there is something to watch now.
    fn is_noted(&self) -> bool {
        self.parts.is_sent.load(Ordering::Acquire) && !self.watches.load(Ordering::Relaxed)
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let mut filling = self.parts.filling();
        filling.is_active = false;
        filling.failed.take().map_or(Ok(Report::EMPTY), Err)
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        Some(Ok(Report::EMPTY))
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::NotCancellable {
            what: "a partitioned send",
        })
    }

    /// Parcels that were not sent never are; those on their way are taken back where it is not too
    /// late.
    fn abandon(&mut self) {
        let mut filling = self.parts.filling();
        filling.unsent = 0;
        for parcel in &mut filling.sent {
            parcel.abandon();
        }
        filling.sent.clear();
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_active(&self) -> bool {
        self.parts.filling().is_active
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        let mut filling = self.parts.filling();
        if filling.is_active {
            return Err(ErrorKind::AlreadyActive);
        }
        let parcels = &self.parts.parcels;
        filling.is_ready.fill(false);
        for parcel in 0..parcels.count() {
            let partitions = parcels.partitions_of(parcel);
            filling.missing[parcel as usize] = partitions.end - partitions.start;
        }
        filling.unsent = parcels.count();
        filling.is_active = true;
        let is_sent = filling.unsent == 0;
        self.parts.is_sent.store(is_sent, Ordering::Relaxed);
        self.watches.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn partitions(&self) -> Option<Arc<dyn Partitions>> {
        Some(self.parts.clone())
    }
}

impl Partitions for Parts {
    fn ready(&self, first: u64, last: u64) -> Result<(), ErrorKind> {
        let mut filling = self.filling();
        let partitions = self.parcels.partitions();
        if first > last || last >= partitions {
            return Err(ErrorKind::Partition {
                first,
                last,
                partitions,
            });
        }
        if !filling.is_active || filling.unsent == 0 {
            return Err(ErrorKind::PartitionedInactive);
        }
        for partition in first..=last {
            if std::mem::replace(&mut filling.is_ready[partition as usize], true) {
                return Err(ErrorKind::PartitionTwice { partition });
            }
            let parcel = self.parcels.parcel_of(partition);
            let missing = &mut filling.missing[parcel as usize];
            *missing -= 1;
            if *missing == 0 {
                self.send(&mut filling, parcel)?;
            }
        }
        if filling.unsent == 0 {
            self.is_sent.store(true, Ordering::Release);
            drop(filling);
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
