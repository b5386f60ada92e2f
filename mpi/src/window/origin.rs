//! Requests to targets whose memory is not mapped here: batches, what is under way, flushes.
//!
//! A *stream* leads to each such target. Requests are appended to its batch, short data with them;
//! the batch leaves when a thread of this process waits for anything or synchronises, when it is
//! full, or when long data needs the target's answer soon. Long data is a message of its own out of
//! the program's buffer, and what a target answers is received straight into the program's buffer.
//! A flush is one more request, which the target answers when everything before it is done: one
//! round trip, however much it covers.
//!
//! The stream is locked while a thread waits for it, so that two threads which flush both find
//! everything done when they return. The service only tries to take this lock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use oxmpi_engine::{Content, Envelope, Mode, Pattern};
use oxmpi_windows::batch::Batch;
use oxmpi_windows::message::{HEAD_BYTES, Kind, REFUSAL_BYTES, Refusal, Request};

use super::LockKind;
use super::memory::{Core, DATA, REQUESTS};
use super::request::Answered;
use crate::any_request::{AnyRequest, Report};
use crate::buffer::Buffer;
use crate::error::ErrorKind;

/// Data up to this length travels with its request: twice copied, but no second message.
const INLINE_MAX: u64 = 2048;
/// Data up to this length is a word or a few.
const FEW_BYTES: usize = 64;
/// Tags are counted round; the next bit tells answers from data.
const TAG_MASK: u32 = 0x1fff_ffff;
/// The bit in the tags of answers: two ranks that are each other's target send both to each other.
pub(super) const ANSWER: u32 = TAG_MASK + 1;

/// The streams to all targets.
pub(super) struct Origin {
    streams: Box<[Mutex<Stream>]>,
    tags: AtomicU32,
    /// 1 from the first use of a stream on. It is not taken back by a flush: another thread that
    /// flushes meanwhile has to wait for the same streams.
    used: AtomicU32,
    /// 1: a stream has been used since all batches were sent.
    held: AtomicU32,
}

#[derive(Default)]
struct Stream {
    batch: Batch,
    under_way: Vec<UnderWay>,
}

/// A message that moves.
struct UnderWay {
    request: AnyRequest,
    wants: Wants,
}

/// What a message is for.
enum Wants {
    /// Data or a batch leaves.
    Nothing,
    /// The answer to a flush or an unlock.
    Confirmation(Box<[u8; REFUSAL_BYTES]>),
}

/// What an operation accesses at the target.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub target: u32,
    pub displacement: i64,
    pub bytes: u64,
    /// Empty if it is one block.
    pub layout: &'a [u8],
}

impl Origin {
    pub(super) fn new(size: u32) -> Origin {
        Origin {
            streams: (0..size).map(|_| Mutex::default()).collect(),
            tags: AtomicU32::new(0),
            used: AtomicU32::new(0),
            held: AtomicU32::new(0),
        }
    }

    fn stream(&self, target: u32) -> MutexGuard<'_, Stream> {
        let stream = &self.streams[target as usize];
        stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn use_stream(&self, core: &Core, target: u32) -> MutexGuard<'_, Stream> {
        self.used.store(1, Ordering::Relaxed);
        let stream = self.stream(target);
        // Under the lock: a thread that misses the batch below finds the lock taken.
        self.held.store(1, Ordering::Release);
        // The service sends what is held back.
        core.comm.process.background.rouse();
        stream
    }

    /// Whether a batch may wait for more.
    pub(super) fn holds_back(&self) -> bool {
        self.held.load(Ordering::Acquire) != 0
    }

    fn tag(&self) -> u32 {
        self.tags.fetch_add(1, Ordering::Relaxed) & TAG_MASK
    }

    /// Asks the target to take data: a put or an accumulation. The request is over when `origin`
    /// may be used again.
    pub(super) fn give(
        &self,
        core: &Arc<Core>,
        kind: Kind,
        access: Access<'_>,
        origin: &Buffer,
    ) -> Result<AnyRequest, ErrorKind> {
        let stream = &mut *self.use_stream(core, access.target);
        stream.make_room(core, self, access.target)?;
        stream.batch.owe();
        self.send_with_data(stream, core, kind, self.tag(), access, origin)
    }

    /// Asks the target for data: a get, or a fetch that takes data too. The request is over when
    /// the answer has arrived.
    pub(super) fn take(
        &self,
        core: &Arc<Core>,
        kind: Kind,
        access: Access<'_>,
        origin: Option<&Buffer>,
        result: &Buffer,
    ) -> Result<AnyRequest, ErrorKind> {
        let stream = &mut *self.use_stream(core, access.target);
        stream.make_room(core, self, access.target)?;
        let tag = self.tag();
        let answer = receive(core, access.target, tag, result)?;
        let answer = Answered::new(
            answer,
            core.clone(),
            access.target,
            access.displacement,
            result.bytes(),
        );
        match origin {
            None => {
                let request = access.request(kind, tag, None);
                stream.append(core, access.target, &request)?;
                if access.bytes > INLINE_MAX {
                    stream.send(core, access.target)?;
                }
            }
            Some(origin) => {
                let sent = self.send_with_data(stream, core, kind, tag, access, origin)?;
                stream.keep(sent, Wants::Nothing);
            }
        }
        Ok(AnyRequest::other(answer))
    }

    /// Keeps an operation that the next flush completes.
    pub(super) fn keep(&self, core: &Core, target: u32, operation: AnyRequest) {
        if !matches!(operation, AnyRequest::Over(_)) {
            self.use_stream(core, target)
                .keep(operation, Wants::Nothing);
        }
    }

    /// The operation has a request of its own: its data must move without a flush, and a flush must
    /// still wait for it.
    pub(super) fn hurry(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let stream = &mut *self.use_stream(core, target);
        stream.batch.owe();
        stream.send(core, target)
    }

    fn send_with_data(
        &self,
        stream: &mut Stream,
        core: &Arc<Core>,
        kind: Kind,
        tag: u32,
        access: Access<'_>,
        origin: &Buffer,
    ) -> Result<AnyRequest, ErrorKind> {
        let target = access.target;
        if origin.bytes() <= INLINE_MAX {
            let length = origin.bytes() as usize;
            // Most are a few words, and clearing the larger room would be most of their cost.
            let (mut few, mut many);
            let short: &mut [u8] = if length <= FEW_BYTES {
                few = [0; FEW_BYTES];
                &mut few[..length]
            } else {
                many = [0; INLINE_MAX as usize];
                &mut many[..length]
            };
            origin.pack_into(short);
            stream.append(core, target, &access.request(kind, tag, Some(short)))?;
            return Ok(AnyRequest::Over(Report::EMPTY));
        }
        stream.append(core, target, &access.request(kind, tag, None))?;
        stream.send(core, target)?;
        let envelope = envelope(core, DATA, tag, origin.bytes());
        let process = core.part(target).process;
        core.comm
            .isend_on(process, envelope, origin, Mode::Standard)
    }

    /// Asks for the target's lock; the target does nothing that comes later before it has it.
    pub(super) fn lock(
        &self,
        core: &Arc<Core>,
        target: u32,
        kind: LockKind,
    ) -> Result<(), ErrorKind> {
        let stream = &mut *self.use_stream(core, target);
        match stream.batch.lock(kind) {
            true => stream.send(core, target),
            false => Ok(()),
        }
    }

    /// Completes everything, gives the target's lock back and begins to wait for that.
    fn begin_unlock(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let stream = &mut *self.stream(target);
        match stream.batch.unlock() {
            true => stream.confirm(core, self, target, Kind::Unlock),
            false => Ok(()),
        }
    }

    fn begin_flush(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let stream = &mut *self.stream(target);
        match stream.batch.is_owed() {
            true => stream.confirm(core, self, target, Kind::Flush),
            false => stream.send_unless_only_lock(core, target),
        }
    }

    fn end(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        self.stream(target).wait(core, self, target)
    }

    pub(super) fn unlock(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        self.both(core, [target].into_iter(), Origin::begin_unlock)
    }

    /// Sends the batches that wait for more, and waits for nothing. What was begun must come to its
    /// end also if the program never flushes this target but waits for what follows from it
    /// (MPI 5.0 §12.7.3). A stream that another thread uses is left for the next time.
    #[inline]
    pub(super) fn push(&self, core: &Arc<Core>) {
        if self.held.load(Ordering::Relaxed) != 0 {
            self.push_held(core);
        }
    }

    #[cold]
    fn push_held(&self, core: &Arc<Core>) {
        self.held.store(0, Ordering::SeqCst);
        for (target, stream) in self.streams.iter().enumerate() {
            let mut stream = match stream.try_lock() {
                Ok(stream) => stream,
                Err(TryLockError::Poisoned(stream)) => stream.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    self.held.store(1, Ordering::Relaxed);
                    continue;
                }
            };
            // A target that is lost is an error of the flush, which asks it too.
            let _ = stream.send_unless_only_lock(core, target as u32);
        }
    }

    /// Completes everything that was asked of a target.
    pub(super) fn flush(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        self.both(core, [target].into_iter(), Origin::begin_flush)
    }

    /// Completes everything that was asked of any target, in parallel.
    pub(super) fn flush_all(&self, core: &Arc<Core>) -> Result<(), ErrorKind> {
        if self.used.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.both(core, 0..self.streams.len() as u32, Origin::begin_flush)
    }

    /// Gives back the locks of these targets, in parallel.
    pub(super) fn unlock_all(
        &self,
        core: &Arc<Core>,
        targets: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), ErrorKind> {
        self.both(core, targets, Origin::begin_unlock)
    }

    /// Begins with all targets before it waits for the first; the first error is told.
    fn both(
        &self,
        core: &Arc<Core>,
        targets: impl Iterator<Item = u32> + Clone,
        begin: impl Fn(&Origin, &Arc<Core>, u32) -> Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        let mut outcome = Ok(());
        for target in targets.clone() {
            outcome = outcome.and(begin(self, core, target));
        }
        for target in targets {
            let ended = self.end(core, target);
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Completes everything that concerns the buffers of this process.
    pub(super) fn flush_local(&self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let stream = &mut *self.stream(target);
        if stream.under_way.is_empty() {
            return Ok(());
        }
        stream.send(core, target)?;
        stream.wait(core, self, target)
    }

    /// [`Origin::flush_local`] for all targets.
    pub(super) fn flush_local_all(&self, core: &Arc<Core>) -> Result<(), ErrorKind> {
        if self.used.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let mut targets = 0..self.streams.len() as u32;
        targets.try_for_each(|target| self.flush_local(core, target))
    }

    /// Tells the service of a rank that a lock for which it waits may be free.
    pub(super) fn poke(core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let mut batch = Vec::with_capacity(HEAD_BYTES);
        Request::bare(Kind::Poke, 0).encode(&mut batch);
        let envelope = envelope(core, REQUESTS, 0, batch.len() as u64);
        let process = core.part(target).process;
        let poke = core
            .comm
            .isend_packed(process, envelope, batch, Mode::Standard)?;
        poke.detach();
        Ok(())
    }
}

impl Stream {
    fn append(
        &mut self,
        core: &Arc<Core>,
        target: u32,
        request: &Request<'_>,
    ) -> Result<(), ErrorKind> {
        match self.batch.append(request) {
            true => self.send(core, target),
            false => Ok(()),
        }
    }

    /// Sends the batch, if there is one.
    fn send(&mut self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        let Some(batch) = self.batch.depart() else {
            return Ok(());
        };
        let envelope = envelope(core, REQUESTS, 0, batch.len() as u64);
        let process = core.part(target).process;
        // SAFETY: the batch is valid, and has been read when the call returns.
        let sent = unsafe {
            core.engine()
                .send_now(process, &envelope, batch.as_ptr(), Mode::Standard)
        };
        if sent {
            self.batch.clear();
            return Ok(());
        }
        let batch = self.batch.take();
        let request = core
            .comm
            .isend_packed(process, envelope, batch, Mode::Standard)?;
        self.keep(request, Wants::Nothing);
        Ok(())
    }

    fn send_unless_only_lock(&mut self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        match self.batch.may_leave() {
            true => self.send(core, target),
            false => Ok(()),
        }
    }

    /// Sends what there is, and asks the target to answer when it is done.
    fn confirm(
        &mut self,
        core: &Arc<Core>,
        origin: &Origin,
        target: u32,
        kind: Kind,
    ) -> Result<(), ErrorKind> {
        let tag = origin.tag();
        let mut room = Box::new([0; REFUSAL_BYTES]);
        // SAFETY: the room is kept with the request until it is over.
        let buffer = unsafe { Buffer::raw(room.as_mut_ptr(), REFUSAL_BYTES as u64) };
        let request = receive(core, target, tag, &buffer)?;
        self.keep(request, Wants::Confirmation(room));
        self.batch.ask(kind, tag);
        self.send(core, target)?;
        self.batch.asked();
        Ok(())
    }

    fn keep(&mut self, request: AnyRequest, wants: Wants) {
        if !matches!(request, AnyRequest::Over(_)) {
            self.under_way.push(UnderWay { request, wants });
        }
    }

    /// Keeps the number of operations under way within bounds.
    fn make_room(
        &mut self,
        core: &Arc<Core>,
        origin: &Origin,
        target: u32,
    ) -> Result<(), ErrorKind> {
        if !self.batch.must_wait(self.under_way.len()) {
            return Ok(());
        }
        self.confirm(core, origin, target, Kind::Flush)?;
        self.wait(core, origin, target)
    }

    /// Waits for everything that is under way; the first error is told. An answer without data
    /// does not say why: then the target is asked.
    fn wait(&mut self, core: &Arc<Core>, origin: &Origin, target: u32) -> Result<(), ErrorKind> {
        let outcome = self.drain(core, target);
        if let Err(ErrorKind::Window(_)) = outcome {
            let asked = self.confirm(core, origin, target, Kind::Flush);
            return asked.and(self.drain(core, target)).and(outcome);
        }
        outcome
    }

    /// Waits for everything that is under way; what the target confirms is told before any other
    /// error.
    fn drain(&mut self, core: &Arc<Core>, target: u32) -> Result<(), ErrorKind> {
        // Another thread may have begun an operation since: its answer is among those awaited, and
        // it cannot send its request while this one holds the stream.
        let mut outcome = self.send_unless_only_lock(core, target);
        let mut confirmed = Ok(());
        for UnderWay { mut request, wants } in self.under_way.drain(..) {
            let judged = match (request.wait(), wants) {
                (Err(error), _) => Err(error),
                (Ok(report), Wants::Confirmation(room)) if report.bytes > 0 => {
                    let refusal = Err(core.refused(target, Refusal::decode(&room)));
                    confirmed = confirmed.and(refusal);
                    Ok(())
                }
                _ => Ok(()),
            };
            outcome = outcome.and(judged);
        }
        confirmed.and(outcome)
    }
}

impl<'a> Access<'a> {
    fn request<'m>(&self, kind: Kind, tag: u32, data: Option<&'m [u8]>) -> Request<'m>
    where
        'a: 'm,
    {
        Request {
            kind,
            tag,
            displacement: self.displacement,
            bytes: self.bytes,
            layout: self.layout,
            data,
        }
    }
}

fn envelope(
    core: &Arc<Core>,
    context: crate::communicator::Context,
    tag: u32,
    bytes: u64,
) -> Envelope {
    Envelope {
        context: core.comm.context(context),
        source: core.comm.rank,
        tag: tag as i32,
        content: Content::new(bytes, 0),
    }
}

/// Begins to receive what a target answers.
fn receive(
    core: &Arc<Core>,
    target: u32,
    tag: u32,
    buffer: &Buffer,
) -> Result<AnyRequest, ErrorKind> {
    let pattern = Pattern {
        context: core.comm.context(DATA),
        source: Some(target),
        tag: Some((tag | ANSWER) as i32),
        signature: 0,
    };
    let process = core.part(target).process;
    core.comm.irecv_on(Some(process), pattern, buffer)
}
