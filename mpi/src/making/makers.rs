//! Communicators made by some processes only, while the others know nothing of it: messages in a
//! context for that purpose.
//!
//! A [`Makers`] is the list of those who make one: the first of them leads, and what it says goes
//! down a tree. The program's tag keeps makings apart that go on at once in different threads (MPI
//! 5.0 §7.4.2, MPI_COMM_CREATE_GROUP).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use oxmpi_engine::{Content, Envelope, Mode, Pattern, Request};

use super::Foundation;
use crate::communicator::{Comm, Context, check_tag, hosts_of};
use crate::error::{CommunicatorError, ErrorKind};
use crate::group::Group;
use crate::process::Process;
use crate::status::TAG_MAX;
use oxmpi_datatypes::plain::{Plain, bytes, bytes_mut};

/// Set in tags of messages between the leaders of an intercommunicator's groups; programs' tags are
/// below.
pub(super) const LEADERS: i32 = TAG_MAX + 1;

/// Those who make a communicator together.
pub(super) struct Makers<'a> {
    pub(super) process: &'a Arc<Process>,
    pub(super) group: &'a Group,
    /// This process's rank in the group.
    pub(super) rank: u32,
    context: u64,
    tag: i32,
}

impl<'a> Makers<'a> {
    /// Members of a communicator, which may make others at the same time with other tags.
    fn within(comm: &'a Comm, group: &'a Group, tag: i32) -> Result<Self, ErrorKind> {
        comm.check_contains(group)?;
        check_tag(tag)?;
        Ok(Makers {
            process: &comm.process,
            group,
            rank: rank_in(group, &comm.process)?,
            context: comm.context(Context::Making),
            tag,
        })
    }

    /// Processes that have no communicator in common. The context is one that MPI_COMM_SELF, which
    /// nobody shares, cannot need.
    pub(super) fn of_strangers(
        process: &'a Arc<Process>,
        group: &'a Group,
        tag: &[u8],
    ) -> Result<Self, ErrorKind> {
        let mut hasher = DefaultHasher::new();
        (tag, group.processes()).hash(&mut hasher);
        Ok(Makers {
            process,
            group,
            rank: rank_in(group, process)?,
            context: Context::Making.of(process.numbers.this()),
            tag: (hasher.finish() % TAG_MAX as u64) as i32,
        })
    }

    /// Brings the leader's values to all members, down a binomial tree.
    pub(super) fn tell<T: Plain>(&self, data: &mut [T]) -> Result<(), ErrorKind> {
        let (rank, size) = (self.rank, self.group.size());
        let processes = self.group.processes();
        // A rank's parent lacks its lowest bit; its children have one more, lower bit.
        let low = match rank {
            0 => size.next_power_of_two(),
            _ => 1 << rank.trailing_zeros(),
        };
        if rank != 0 {
            let from = processes[(rank - low) as usize];
            let pattern = Pattern {
                context: self.context,
                source: Some(from),
                tag: Some(self.tag),
                signature: 0,
            };
            let (address, capacity) = (bytes_mut(data).as_mut_ptr(), size_of_val(data) as u64);
            // SAFETY: `data` is borrowed until the call, which waits, is over.
            unsafe {
                self.process
                    .engine
                    .recv(Some(from), pattern, address, capacity)?
            };
        }
        let mut bit = low / 2;
        while bit > 0 {
            if rank + bit < size {
                let envelope = Envelope {
                    context: self.context,
                    source: self.process.rank(),
                    tag: self.tag,
                    content: Content::new(size_of_val(data) as u64, 0),
                };
                let to = processes[(rank + bit) as usize];
                let address = bytes(data).as_ptr();
                // SAFETY: as above.
                unsafe {
                    self.process
                        .engine
                        .send(to, envelope, address, Mode::Standard)?
                };
            }
            bit /= 2;
        }
        Ok(())
    }

    /// The communicator of all makers.
    fn found(&self) -> Result<Comm, ErrorKind> {
        let one_host = hosts_of(self.process, self.group).is_none();
        let boards = self.group.size() > 1 && one_host;
        let mut foundation = [match self.rank {
            0 => Foundation::choose(self.process, boards),
            _ => Foundation::default(),
        }];
        self.tell(&mut foundation)?;
        foundation[0].build(self.process, self.rank, self.group.clone())
    }
}

fn rank_in(group: &Group, process: &Process) -> Result<u32, CommunicatorError> {
    let (process, size) = (process.rank(), group.size());
    group
        .rank_of(process)
        .ok_or(CommunicatorError::NotInGroup { process, size })
}

impl Comm {
    /// A communicator of the processes in `group`, in its order. Only these call, all with the same
    /// tag; `None` for a process that calls without being one of them.
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Comm>, ErrorKind> {
        if self.is_inter() {
            let call = "MPI_Comm_create_group";
            return Err(CommunicatorError::IsInter { call }.into());
        }
        if !group.contains(self.process.rank()) {
            return Ok(None);
        }
        Makers::within(self, group, tag)?.found().map(Some)
    }

    /// Sends to a rank of this communicator, in the context for making others.
    pub(super) fn begin_making_send(
        &self,
        data: &[u8],
        dest: u32,
        tag: i32,
    ) -> Result<Making<'_>, ErrorKind> {
        let data = data.to_vec();
        let envelope = Envelope {
            context: self.context(Context::Making),
            source: self.rank,
            tag,
            content: Content::new(data.len() as u64, 0),
        };
        let process = self.process_of(dest);
        let engine = &self.process.engine;
        // SAFETY: the data lives in `Making`, which waits for the end of the message when it is
        // dropped.
        let request = unsafe { engine.isend(process, envelope, data.as_ptr(), Mode::Standard)? };
        Ok(Making {
            comm: self,
            request: Some(request),
            _data: data,
        })
    }

    /// Receives a message of any length from a rank of this communicator, in the context for making
    /// others.
    pub(super) fn making_receive(&self, source: u32, tag: i32) -> Result<Vec<u8>, ErrorKind> {
        let pattern = Pattern {
            context: self.context(Context::Making),
            source: Some(source),
            tag: Some(tag),
            signature: 0,
        };
        let engine = &self.process.engine;
        let claim = engine.claim_wait(Some(self.process_of(source)), pattern)?;
        let length = claim.envelope.bytes();
        let mut data = crate::buffer::memory(length)?;
        // SAFETY: the data lives until the wait below is over.
        let request = unsafe { engine.irecv_claimed(claim, data.as_mut_ptr(), length) };
        engine.wait(request)?;
        Ok(data)
    }
}

/// A message on its way, with its data.
pub(super) struct Making<'a> {
    comm: &'a Comm,
    request: Option<Request>,
    _data: Vec<u8>,
}

impl Making<'_> {
    pub(super) fn wait(mut self) -> Result<(), ErrorKind> {
        if let Some(request) = self.request.take() {
            self.comm.process.engine.wait(request)?;
        }
        Ok(())
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            let engine = &self.comm.process.engine;
            engine.cancel(request);
            // Whoever gave up has another error to report.
            let _ = engine.wait(request);
        }
    }
}

/// A communicator of the processes in `group`, in its order, without an older one: its members call
/// with the same string tag (MPI 5.0 §7.4.2, MPI_COMM_CREATE_FROM_GROUP).
pub fn create_from_group(
    process: &Arc<Process>,
    group: &Group,
    tag: &[u8],
) -> Result<Comm, ErrorKind> {
    Makers::of_strangers(process, group, tag)?.found()
}
