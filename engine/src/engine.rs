//! The engine as the layers above see it.
//!
//! Every method may be called by any thread at any time; one lock guards the handler, and a call
//! that need not wait holds it for some tens of nanoseconds. A send that left in the call that
//! began it needs no request: its [`Request`] says so itself.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::task::Waker;
use std::time::Instant;

use oxmpi_matching::Pattern;
use oxmpi_wire::Envelope;

use crate::boards::Boards;
use crate::error::{EngineError, Fault};
use crate::progress::{
    Area, Background, Condition, Driver, Extents, Guard, Handler, Learned, Outside, Receive,
    Shared, Transport, Work, comes_true_soon,
};
use crate::protocol::{
    Claim, Completion, Counters, Failure, Limits, Mode, Notice, Outcome, Protocol, RequestId,
    Source,
};

/// One process's engine.
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    pub(crate) size: u32,
    pub(crate) host: String,
    /// The host of every process.
    pub(crate) hosts: RwLock<Vec<u32>>,
    /// Sizes for processes that are introduced; `None` without a network.
    pub(crate) limits: Option<Limits>,
    pub(crate) host_count: u32,
    pub(crate) job_nonce: u32,
    pub(crate) extents: Arc<Extents>,
    pub(crate) boards: Boards,
    /// When it was made: times are told from here.
    pub(crate) started: Instant,
}

/// An operation that was begun.
#[derive(Debug, Clone, Copy)]
pub enum Request {
    /// It is over already.
    Over(Completion),
    /// It goes on.
    Pending(RequestId),
}

impl Engine {
    /// This process's number.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.shared.rank
    }

    /// Processes of the job.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// CPUs the job may use on this host, as its launcher counted them: the same number in every
    /// process.
    pub fn usable_cpus(&self) -> u32 {
        self.shared.segment.usable_cpus()
    }

    /// This host's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The number of a process's host: the same in every process.
    pub fn host_of(&self, process: u32) -> u32 {
        self.known_hosts()[process as usize]
    }

    pub(crate) fn known_hosts(&self) -> RwLockReadGuard<'_, Vec<u32>> {
        self.hosts.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job's number among all jobs: random, and the same in all of its processes.
    pub fn job_nonce(&self) -> u32 {
        self.job_nonce
    }

    /// Hosts of the job.
    pub fn hosts(&self) -> u32 {
        self.host_count
    }

    /// Begins a send of `envelope.bytes()` bytes at `data`.
    ///
    /// # Safety
    /// `data` must stay valid and unchanged until the request is over.
    ///
    /// # Panics
    /// When `to` is not a process of the job; layers above check ranks.
    #[inline(always)]
    pub unsafe fn isend(
        &self,
        to: u32,
        envelope: Envelope,
        data: impl Into<Area>,
        mode: Mode,
    ) -> Result<Request, EngineError> {
        let mut handler = self.shared.enter();
        // SAFETY: the caller's promise.
        let begun = unsafe { Self::begin_send(&mut handler, to, envelope, data, mode) };
        self.shared.leave(&mut handler);
        begun
    }

    /// Sends a message that can leave at once; false, and nothing has happened, if it cannot. The
    /// answer is one bit in a register: an outcome in memory would have to wait for the stores to
    /// the ring that come before it.
    ///
    /// # Safety
    /// `data` must be valid for reading `envelope.bytes()` bytes.
    #[inline(always)]
    pub unsafe fn send_now(
        &self,
        to: u32,
        envelope: &Envelope,
        data: impl Into<Area>,
        mode: Mode,
    ) -> bool {
        let mut handler = self.shared.enter();
        let mut sent = false;
        if handler.broken.is_none()
            && let Some(header) = handler.protocol.eager_now(to, envelope, mode)
        {
            let buffer: Area = data.into();
            // What goes wrong here goes wrong again in the general way, which tells.
            sent = match to == handler.rank {
                true => handler.send_to_self(&header, buffer),
                false => matches!(handler.send_now(to, &header, buffer), Ok(true)),
            };
        } else if handler.broken.is_none() && to != handler.rank {
            sent = handler.send_pieces(to, envelope, mode, data.into());
        }
        self.shared.leave(&mut handler);
        sent
    }

    /// Sends and waits until the buffer can be used again.
    ///
    /// # Safety
    /// `data` must be valid for reading `envelope.bytes()` bytes.
    #[inline(always)]
    pub unsafe fn send(
        &self,
        to: u32,
        envelope: Envelope,
        data: impl Into<Area>,
        mode: Mode,
    ) -> Result<(), EngineError> {
        let mut handler = self.shared.enter();
        // SAFETY: the caller's promise, and we wait below.
        match unsafe { Self::begin_send(&mut handler, to, envelope, data, mode) } {
            Ok(Request::Over(_)) => {
                self.shared.leave(&mut handler);
                Ok(())
            }
            Ok(Request::Pending(id)) => self.finish(&mut handler, id).map(|_| ()),
            Err(error) => {
                self.shared.leave(&mut handler);
                Err(error)
            }
        }
    }

    /// # Safety
    /// As [`Engine::isend`].
    #[inline(always)]
    unsafe fn begin_send(
        handler: &mut Handler,
        to: u32,
        envelope: Envelope,
        data: impl Into<Area>,
        mode: Mode,
    ) -> Result<Request, EngineError> {
        if let Some(broken) = &handler.broken {
            return Err(broken.clone());
        }
        let buffer: Area = data.into();
        if let Some(header) = handler.protocol.eager_now(to, &envelope, mode) {
            let sent = match to == handler.rank {
                true => Ok(handler.send_to_self(&header, buffer)),
                false => handler.send_now(to, &header, buffer),
            };
            match sent {
                Ok(true) => return Ok(Request::Over(left_at_once(&envelope))),
                Ok(false) => {}
                Err(error) => return Err(handler.break_for_memory(&error)),
            }
        } else if to != handler.rank && handler.send_pieces(to, &envelope, mode, buffer) {
            return Ok(Request::Over(left_at_once(&envelope)));
        }
        Self::begin_slow_send(handler, to, envelope, buffer, mode)
    }

    /// A send that cannot leave at once.
    #[inline(never)]
    fn begin_slow_send(
        handler: &mut Handler,
        to: u32,
        envelope: Envelope,
        buffer: Area,
        mode: Mode,
    ) -> Result<Request, EngineError> {
        let address = buffer.address();
        // The receiver can read one block by itself, no matter in whose memory.
        let readable = handler.places().port(to).is_some() && !buffer.is_scattered();
        let mut source = Source {
            buffer,
            address,
            mapped: false,
            fetchable: readable && (handler.memory.single_copy || to == handler.rank),
        };
        if handler.extents.exist()
            && readable
            && let Some(offset) = handler.extents.find(address, envelope.bytes())
        {
            source = Source {
                buffer,
                address: offset,
                mapped: true,
                fetchable: false,
            };
        }
        match handler.protocol.send(to, envelope, source, mode) {
            Ok(id) => {
                handler.flush();
                Ok(Request::Pending(id))
            }
            Err(failure) => Err(handler.explain(failure)),
        }
    }

    /// Begins a receive. `from` is the process it can only come from, if there is one.
    ///
    /// # Safety
    /// `data` must stay valid for writing `capacity` bytes, and untouched by others, until the
    /// request is over.
    #[inline(always)]
    pub unsafe fn irecv(
        &self,
        from: Option<u32>,
        pattern: Pattern,
        data: impl Into<Area>,
        capacity: u64,
    ) -> Result<Request, EngineError> {
        // SAFETY: the caller's promise.
        let id = unsafe { self.post(from, pattern, data, capacity) };
        Ok(Request::Pending(id))
    }

    /// As [`Engine::irecv`]; a receive is always a request at first, and its id fits a register.
    ///
    /// # Safety
    /// As [`Engine::irecv`].
    #[inline(always)]
    pub unsafe fn post(
        &self,
        from: Option<u32>,
        pattern: Pattern,
        data: impl Into<Area>,
        capacity: u64,
    ) -> RequestId {
        let mut handler = self.shared.enter();
        let buffer: Area = data.into();
        let id = Self::begin_receive(&mut handler, from, pattern, buffer, capacity);
        self.shared.leave(&mut handler);
        id
    }

    /// Receives.
    ///
    /// # Safety
    /// `data` must be valid for writing `capacity` bytes.
    #[inline(always)]
    pub unsafe fn recv(
        &self,
        from: Option<u32>,
        pattern: Pattern,
        data: impl Into<Area>,
        capacity: u64,
    ) -> Result<Completion, EngineError> {
        let mut handler = self.shared.enter();
        let buffer: Area = data.into();
        if let Some(from) = from
            && handler.protocol.may_take_directly(&pattern)
            && from != handler.rank
            && let Some(port) = handler.places().port(from)
        {
            let looks = if handler.waiters.inside > 0 {
                1
            } else {
                handler.policy.direct_looks()
            };
            for _ in 0..looks {
                if handler.port().has_arrival() {
                    if let Some(completion) =
                        handler.receive_directly(from, port, &pattern, buffer, capacity)
                    {
                        self.shared.leave(&mut handler);
                        return Ok(completion);
                    }
                    break;
                }
                std::hint::spin_loop();
                if self.shared.is_wanted() {
                    break;
                }
            }
        }
        let id = Self::begin_receive(&mut handler, from, pattern, buffer, capacity);
        self.finish(&mut handler, id)
    }

    #[inline(always)]
    fn begin_receive(
        handler: &mut Handler,
        from: Option<u32>,
        pattern: Pattern,
        buffer: Area,
        capacity: u64,
    ) -> RequestId {
        let (id, posted) = handler.protocol.post(from, pattern, buffer, capacity);
        handler.settle_posted(posted, buffer);
        if handler.has_entries() && handler.places().may_be_remote(from) {
            let receive = Receive {
                id,
                pattern,
                buffer,
                capacity,
            };
            handler.hand_over(receive);
        }
        id
    }

    /// Whether a receive's bytes may be scattered. The kernel's driver places messages in one
    /// block.
    pub fn receives_scattered(&self) -> bool {
        !self.shared.enter().has_entries()
    }

    /// Waits for a request and frees it.
    #[inline(always)]
    fn finish(&self, handler: &mut Guard<'_>, id: RequestId) -> Result<Completion, EngineError> {
        let outcome = if handler.protocol.is_complete(id) {
            self.outcome(handler, id)
        } else {
            let mut is_settled = |handler: &mut Handler| handler.protocol.is_settled(id);
            self.shared
                .wait(handler, Some(id), &mut is_settled)
                .and_then(|()| self.outcome(handler, id))
        };
        self.shared.leave(handler);
        outcome
    }

    /// The outcome of a request that is settled.
    #[inline(always)]
    pub(crate) fn outcome(
        &self,
        handler: &mut Handler,
        id: RequestId,
    ) -> Result<Completion, EngineError> {
        match handler.protocol.take(id) {
            Some(Ok(completion)) => Ok(completion),
            Some(Outcome::Err(failure)) => Err(handler.explain(failure)),
            None => self.stranded_outcome(handler, id),
        }
    }

    #[cold]
    fn stranded_outcome(
        &self,
        handler: &mut Handler,
        id: RequestId,
    ) -> Result<Completion, EngineError> {
        handler.fail_stranded(id);
        match handler.protocol.take(id) {
            Some(Err(failure)) => Err(handler.explain(failure)),
            Some(Ok(completion)) => Ok(completion),
            None => Err(Fault::UnknownRequest { rank: self.rank() }.into()),
        }
    }

    /// Waits until the request is over; it is gone then.
    #[inline(always)]
    pub fn wait(&self, request: Request) -> Result<Completion, EngineError> {
        match request {
            Request::Over(completion) => Ok(completion),
            Request::Pending(id) => self.finish(&mut self.shared.enter(), id),
        }
    }

    /// Waits until the request is over, for callers who do not care what came; it is gone then.
    #[inline(always)]
    pub fn wait_quietly(&self, id: RequestId) -> Result<(), EngineError> {
        self.finish(&mut self.shared.enter(), id).map(|_| ())
    }

    /// The outcome if the request is over (it is gone then); `None` if it is not.
    #[inline(always)]
    pub fn test(&self, request: Request) -> Result<Option<Completion>, EngineError> {
        let over = |handler: &Handler, id| handler.protocol.is_complete(id);
        self.shared.vain.told(self.test_if(request, over))
    }

    /// As [`Engine::test`], for work that cannot be taken back: a request fails that only a process
    /// which has finalised could end.
    #[inline(always)]
    pub fn test_or_fail(&self, request: Request) -> Result<Option<Completion>, EngineError> {
        self.test_if(request, |handler, id| handler.protocol.is_settled(id))
    }

    #[inline(always)]
    fn test_if(
        &self,
        request: Request,
        is_over: impl Fn(&Handler, RequestId) -> bool,
    ) -> Result<Option<Completion>, EngineError> {
        let id = match request {
            Request::Over(completion) => return Ok(Some(completion)),
            Request::Pending(id) => id,
        };
        let mut handler = self.shared.enter();
        if !is_over(&handler, id) {
            handler.progress(Some(id));
        }
        let outcome = if is_over(&handler, id) {
            self.outcome(&mut handler, id).map(Some)
        } else {
            handler.broken.clone().map_or(Ok(None), Err)
        };
        self.shared.leave(&mut handler);
        outcome
    }

    /// Whether the request is over; it stays.
    pub fn is_complete(&self, request: Request) -> bool {
        self.is(request, Protocol::is_complete)
    }

    /// Whether [`Engine::wait`] would return at once: the request is over, or only a process that
    /// has finalised could end it.
    pub fn is_settled(&self, request: Request) -> bool {
        self.is(request, Protocol::is_settled)
    }

    #[inline(always)]
    fn is(&self, request: Request, ended: impl Fn(&Protocol<Area>, RequestId) -> bool) -> bool {
        let Request::Pending(id) = request else {
            return true;
        };
        let mut handler = self.shared.enter();
        if !ended(&handler.protocol, id) {
            handler.progress(Some(id));
        }
        let is = ended(&handler.protocol, id) || handler.broken.is_some();
        self.shared.leave(&mut handler);
        is
    }

    /// The outcome of a request that is over; it stays.
    pub fn peek(&self, id: RequestId) -> Result<Completion, EngineError> {
        let mut handler = self.shared.enter();
        let outcome = match handler.protocol.outcome(id) {
            Some(Ok(completion)) => Ok(completion),
            Some(Err(failure)) => Err(handler.explain(failure)),
            None => {
                let unknown = || Fault::UnknownRequest { rank: self.rank() }.into();
                Err(handler.broken.clone().unwrap_or_else(unknown))
            }
        };
        self.shared.leave(&mut handler);
        outcome
    }

    /// Whether a driver thread may run the handler, and step background work.
    pub fn has_driver(&self) -> bool {
        self.shared.driver.is_enabled()
    }

    /// Has the driver take over at once: a future of background work waits, and its executor sleeps
    /// elsewhere. False when there is no driver.
    pub fn hurry(&self) -> bool {
        Driver::hurry(&self.shared)
    }

    /// Makes threads that wait in [`Engine::wait_for`] ask again.
    pub fn rouse(&self) {
        let mut handler = self.shared.enter();
        handler.waiters.news = true;
        self.shared.leave(&mut handler);
    }

    /// Takes what has arrived and sends what is due, without waiting.
    pub fn progress(&self) {
        let mut handler = self.shared.enter();
        handler.progress(None);
        self.shared.leave(&mut handler);
    }

    /// Work of the layer above that waiting threads, or the driver, run while it is active; set
    /// once.
    pub fn set_background(&self, work: Arc<dyn Background>) {
        self.shared.set_background(work);
    }

    /// What there is of such work now. The driver may say so only from inside a step of the work.
    pub fn set_background_work(&self, work: Work) {
        self.shared.set_background_work(work);
    }

    /// Asks to end a request early; waiting for it then tells whether it was.
    pub fn cancel(&self, request: Request) {
        if let Request::Pending(id) = request {
            let mut handler = self.shared.enter();
            handler.progress(None);
            if handler.recall(id) {
                handler.protocol.cancel(id);
            }
            handler.waiters.news = true;
            handler.flush();
            self.shared.leave(&mut handler);
        }
    }

    /// Receives a claimed message.
    ///
    /// # Safety
    /// As [`Engine::irecv`].
    pub unsafe fn irecv_claimed(
        &self,
        claim: Claim,
        data: impl Into<Area>,
        capacity: u64,
    ) -> Request {
        let mut handler = self.shared.enter();
        let buffer: Area = data.into();
        let (id, posted) = handler.protocol.receive_claim(claim, buffer, capacity);
        handler.settle_posted(posted, buffer);
        self.shared.leave(&mut handler);
        Request::Pending(id)
    }

    /// Wakes `waker` when the request is over. False if it is already.
    pub fn set_waker(&self, request: Request, waker: &Waker) -> bool {
        let Request::Pending(id) = request else {
            return false;
        };
        let mut handler = self.shared.enter();
        handler.progress(Some(id));
        if handler.protocol.is_complete(id) || handler.broken.is_some() {
            self.shared.leave(&mut handler);
            return false;
        }
        match handler
            .waiters
            .wakers
            .iter_mut()
            .find(|(known, _)| *known == id)
        {
            Some((_, known)) => known.clone_from(waker),
            None => handler.waiters.wakers.push((id, waker.clone())),
        }
        self.shared.leave(&mut handler);
        if !Driver::hurry(&self.shared) && self.known_hosts().len() > 1 {
            // Nobody looks for it while the executor sleeps, so it must not.
            waker.wake_by_ref();
        }
        true
    }

    /// Waits for a condition outside the engine that depends on processes `members`, and reaps
    /// meanwhile. Fails when one of them dies, or when [`Condition::awaited`] has finalised.
    #[inline(always)]
    pub fn wait_until<C: Condition + ?Sized>(
        &self,
        condition: &mut C,
        members: &[u32],
    ) -> Result<(), EngineError> {
        let mut goal = Outside {
            condition,
            members,
            lost: None,
        };
        let mut handler = self.shared.enter();
        // Most conditions of ranks that run are about to come true. A wary thread goes the long way,
        // which learns whether spinning pays, and so does one beside which others may come in: it
        // offers them the lock meanwhile.
        if handler.policy.is_calm()
            && !self.shared.may_be_shared()
            && comes_true_soon(|| goal.condition.is_met())
        {
            self.shared.leave(&mut handler);
            return Ok(());
        }
        let waited = self.shared.wait(&mut handler, None, &mut goal);
        let lost = goal
            .lost
            .map(|peer| handler.explain(Failure::PeerDied { peer }));
        self.shared.leave(&mut handler);
        waited?;
        lost.map_or(Ok(()), Err)
    }

    /// Only these processes send messages in a context: when another dies, receives from anybody
    /// there go on. Without this every death ends them.
    pub fn set_members(&self, context: u64, members: Arc<[u32]>) {
        self.shared.enter().protocol.set_members(context, members);
    }

    /// What is done in a context needs all of these processes: when one dies, every receive there
    /// fails that has no message yet, also those from others, which may have given up for the same
    /// reason.
    pub fn bind_members(&self, context: u64, members: Arc<[u32]>) {
        self.shared.enter().protocol.bind_members(context, members);
    }

    /// A context is not used any more.
    pub fn forget_members(&self, context: u64) {
        self.shared.enter().protocol.forget_members(context);
    }

    /// Asks whether this process is the first of its host to make a remark to people, by the
    /// remark's number; may be asked from anywhere.
    pub fn remarks(&self) -> impl Fn(u32) -> bool + Send + Sync + 'static {
        let segment = Arc::clone(&self.shared.segment);
        move |remark| segment.remark_first(remark)
    }

    /// Who is told of messages whose sender and receiver disagree on what the data is.
    pub fn set_notice(&self, notice: Notice) {
        self.shared.enter().protocol.set_notice(notice);
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.shared.enter().protocol.counters()
    }

    /// What the device that reaches other hosts has counted; `None` without one.
    pub fn network_counters(&self) -> Option<oxmpi_net::transport::Counters> {
        let handler = self.shared.enter();
        handler
            .ways
            .remote
            .as_ref()
            .map(|remote| remote.net.counters())
    }

    /// How this process talks to the others.
    pub fn transport(&self) -> Transport {
        self.shared.enter().transport()
    }

    /// What this process has learned about copying on its machine.
    pub fn learned(&self) -> Learned {
        self.shared.enter().learned()
    }

    /// The job is to end: recorded for the launcher, which ends every process. True if no process
    /// has asked for it before.
    pub fn set_abort(&self, code: i32) -> bool {
        self.shared.segment.set_abort(self.shared.port, code)
    }
}

/// The end of a send that was over in the call that began it.
#[inline(always)]
fn left_at_once(envelope: &Envelope) -> Completion {
    Completion {
        source: envelope.source,
        tag: envelope.tag,
        bytes: envelope.bytes(),
        cancelled: false,
        signature: envelope.signature(),
    }
}
