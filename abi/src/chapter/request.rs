//! Completing, starting, cancelling and freeing requests (MPI 5.0 §3.7 to §3.9).
//!
//! Null and inactive requests are complete at once and have an empty status. The calls on several
//! requests differ in what they wait for and in how they report; what they have in common stands
//! first.

use std::cell::Cell;

use oxmpi_core::any_request::{AnyRequest, Report, first_ready, wait_ready};

use crate::argument::{FlagOut, InOut, IntegersOut, Out, StatusOut, StatusesOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request::{self, All, Taken};
use crate::stage;

/// Ends several operations one after the other; if some fail, it is MPI_ERR_IN_STATUS, and every
/// status says how its own one ended.
struct Ending<'c> {
    handles: &'c mut [Handle],
    statuses: &'c StatusesOut,
    /// Of those that failed: where their status is, and their code.
    failed: Vec<(usize, i32)>,
    first_failure: Option<Failure>,
}

impl Ending<'_> {
    fn new<'c>(handles: &'c mut [Handle], statuses: &'c StatusesOut) -> Ending<'c> {
        Ending {
            handles,
            statuses,
            failed: Vec::new(),
            first_failure: None,
        }
    }

    /// Ends the operation of the request at `index`, whose status is at `at`.
    fn end(&mut self, index: usize, at: usize, taken: &mut Taken) {
        let (outcome, handle) = taken.wait();
        self.handles[index] = handle;
        match outcome {
            Ok(report) => self.statuses.set(at, &report),
            Err(failure) => {
                self.statuses.set(at, failure.report());
                self.failed.push((at, failure.code()));
                self.first_failure.get_or_insert(failure);
            }
        }
    }

    /// The outcome of the call, of whose statuses the first `count` are in use.
    fn finish(self, count: usize) -> Result<(), Failure> {
        let Some(failure) = self.first_failure else {
            return Ok(());
        };
        (0..count).for_each(|at| self.statuses.set_error(at, MPI_SUCCESS));
        for (at, code) in self.failed {
            self.statuses.set_error(at, code);
        }
        Err(in_status(&failure))
    }
}

/// The failure of a call on several requests, of which this one failed first.
fn in_status(failure: &Failure) -> Failure {
    let text = format!(
        "at least one operation failed, the first because {}",
        failure.text()
    );
    let in_status = Failure::new(MPI_ERR_IN_STATUS, text);
    match failure.subject() {
        Some(subject) => in_status.on(subject),
        None => in_status,
    }
}

#[inline]
pub fn wait(_: &Call, request: InOut<Handle>, status: StatusOut) -> Result<(), Failure> {
    let taken = request::take(request.get())?;
    let Some(mut taken) = taken.filter(Taken::is_active) else {
        status.set(&Report::EMPTY);
        return Ok(());
    };
    let (outcome, handle) = taken.wait();
    request.set(handle);
    status.settle(outcome)
}

pub fn test(
    _: &Call,
    request: InOut<Handle>,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let taken = request::take(request.get())?;
    let Some(mut taken) = taken.filter(Taken::is_active) else {
        flag.set(true);
        status.set(&Report::EMPTY);
        return Ok(());
    };
    if !taken.operation().is_ready() {
        stage::progress();
        if !taken.operation().is_ready() {
            flag.set(false);
            return Ok(());
        }
    }
    let (outcome, handle) = taken.conclude();
    request.set(handle);
    flag.set(true);
    status.settle(outcome)
}

#[inline]
pub fn waitall(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    statuses: StatusesOut,
) -> Result<(), Failure> {
    if let Some(outcome) = wait_for_messages(requests, &statuses) {
        return outcome;
    }
    end_all(&mut request::take_all(requests)?, requests, &statuses)
}

/// Waits for all of them and ends them.
fn end_all(all: &mut All, requests: &mut [Handle], statuses: &StatusesOut) -> Result<(), Failure> {
    all.inactive()
        .for_each(|index| statuses.set(index, &Report::EMPTY));
    let count = requests.len();
    let mut ending = Ending::new(requests, statuses);
    all.active()
        .for_each(|(index, taken)| ending.end(index, index, taken));
    ending.finish(count)
}

thread_local! {
    /// Room for the messages of one MPI_Waitall, so that none is made for each.
    static MESSAGES: Cell<Vec<request::Simple>> = const { Cell::new(Vec::new()) };
}

/// Waits for requests that are nothing but contiguous messages; `None` if there is another kind
/// among them.
#[inline]
fn wait_for_messages(
    requests: &mut [Handle],
    statuses: &StatusesOut,
) -> Option<Result<(), Failure>> {
    let mut messages = MESSAGES.take();
    let are_taken = request::take_simple(requests, &mut messages);
    let outcome = are_taken.then(|| wait_for_taken(requests.len(), &mut messages, statuses));
    messages.clear();
    MESSAGES.set(messages);
    outcome
}

fn wait_for_taken(
    count: usize,
    messages: &mut Vec<request::Simple>,
    statuses: &StatusesOut,
) -> Result<(), Failure> {
    let wanted = statuses.are_wanted();
    if wanted {
        (0..count).for_each(|index| statuses.set(index, &Report::EMPTY));
    }
    let mut failures: Vec<(usize, Failure)> = Vec::new();
    for (index, comm, id) in messages.drain(..) {
        if !wanted {
            if let Err(kind) = comm.wait_quietly(id) {
                failures.push((index, request::failed(kind, Some(&comm))));
            }
            continue;
        }
        let mut message = AnyRequest::Receive(comm, id);
        match message.wait() {
            Ok(report) => statuses.set(index, &report),
            Err(kind) => failures.push((index, request::failed(kind, message.comm()))),
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    (0..count).for_each(|index| statuses.set_error(index, MPI_SUCCESS));
    for (index, failure) in &failures {
        statuses.set(*index, failure.report());
        statuses.set_error(*index, failure.code());
    }
    Err(in_status(&failures[0].1))
}

pub fn testall(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    flag: FlagOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    let is_over = all.find_ready() == all.active().count();
    flag.set(is_over);
    if !is_over {
        return Ok(());
    }
    end_all(&mut all, requests, &statuses)
}

/// Ends the one operation that was found, and tells its index.
fn conclude_one(
    (index, taken): (usize, &mut Taken),
    requests: &mut [Handle],
    indx: &Out<i32>,
    status: &StatusOut,
) -> Result<(), Failure> {
    let (outcome, handle) = taken.conclude();
    requests[index] = handle;
    indx.set(index as i32);
    status.settle(outcome)
}

pub fn waitany(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    indx: Out<i32>,
    status: StatusOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    match wait_ready(&mut all)? {
        Some(index) => conclude_one((index, all.at(index)), requests, &indx, &status),
        None => {
            indx.set(MPI_UNDEFINED);
            status.set(&Report::EMPTY);
            Ok(())
        }
    }
}

pub fn testany(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    indx: Out<i32>,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    let first = first_ready(&mut all);
    let is_any_active = first.is_some() || all.is_any_active();
    flag.set(first.is_some() || !is_any_active);
    match first {
        Some(index) => conclude_one((index, all.at(index)), requests, &indx, &status),
        None => {
            indx.set(MPI_UNDEFINED);
            if !is_any_active {
                status.set(&Report::EMPTY);
            }
            Ok(())
        }
    }
}

/// Ends those that are ready and lists them, in the order in which their messages were matched.
fn conclude_some(
    all: &mut All,
    requests: &mut [Handle],
    (outcount, indices, statuses): (Out<i32>, IntegersOut, StatusesOut),
) -> Result<(), Failure> {
    if !all.is_any_active() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let count = all.find_ready();
    outcount.set(count as i32);
    let mut ending = Ending::new(requests, &statuses);
    for listed in 0..count {
        let index = all.ready(listed);
        indices.set(listed, index as i64);
        ending.end(index, listed, all.at(index));
    }
    ending.finish(count)
}

pub fn waitsome(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    wait_ready(&mut all)?;
    conclude_some(&mut all, requests, (outcount, indices, statuses))
}

pub fn testsome(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    conclude_some(&mut all, requests, (outcount, indices, statuses))
}

pub fn start(_: &Call, request: InOut<Handle>) -> Result<(), Failure> {
    start_one(request.get())
}

fn start_one(handle: Handle) -> Result<(), Failure> {
    let Some(mut taken) = request::take(handle)? else {
        return Err(Failure::new(
            MPI_ERR_REQUEST,
            "MPI_REQUEST_NULL cannot be started",
        ));
    };
    let operation = taken.operation();
    let started = operation.start();
    started.map_err(|kind| request::failed(kind, operation.comm()))
}

pub fn startall(_: &Call, _: usize, requests: &mut [Handle]) -> Result<(), Failure> {
    requests.iter().try_for_each(|&handle| start_one(handle))
}

pub fn cancel(_: &Call, request: InOut<Handle>) -> Result<(), Failure> {
    let Some(mut taken) = request::take(request.get())? else {
        return Err(Failure::new(
            MPI_ERR_REQUEST,
            "MPI_REQUEST_NULL cannot be cancelled",
        ));
    };
    let operation = taken.operation();
    let cancelled = operation.cancel();
    cancelled.map_err(|kind| request::failed(kind, operation.comm()))
}

pub fn request_free(_: &Call, request: InOut<Handle>) -> Result<(), Failure> {
    let Some(taken) = request::take(request.get())? else {
        return Err(Failure::new(
            MPI_ERR_REQUEST,
            "MPI_REQUEST_NULL cannot be freed",
        ));
    };
    taken.free();
    request.set(MPI_REQUEST_NULL);
    Ok(())
}

/// What a request that stays would report; none if it is not over.
fn peek(taken: Option<&mut Taken>) -> Result<Option<Report>, Failure> {
    let Some(taken) = taken.filter(|taken| taken.is_active()) else {
        return Ok(Some(Report::EMPTY));
    };
    if !taken.operation().is_ready() {
        return Ok(None);
    }
    peek_ready(taken).map(Some)
}

/// The same of one that is ready.
fn peek_ready(taken: &mut Taken) -> Result<Report, Failure> {
    let operation = taken.operation();
    let outcome = operation.peek();
    outcome.map_err(|kind| request::failed(kind, operation.comm()))
}

pub fn request_get_status(
    _: &Call,
    request: Handle,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    stage::progress();
    let report = peek(request::take(request)?.as_mut())?;
    flag.set(report.is_some());
    if let Some(report) = report {
        status.set(&report);
    }
    Ok(())
}

pub fn request_get_status_any(
    _: &Call,
    _: usize,
    requests: &[Handle],
    indx: Out<i32>,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    if let Some(index) = first_ready(&mut all) {
        indx.set(index as i32);
        flag.set(true);
        return status.settle(peek_ready(all.at(index)));
    }
    let is_any_active = all.is_any_active();
    indx.set(MPI_UNDEFINED);
    flag.set(!is_any_active);
    if !is_any_active {
        status.set(&Report::EMPTY);
    }
    Ok(())
}

pub fn request_get_status_all(
    _: &Call,
    _: usize,
    requests: &[Handle],
    flag: FlagOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    let is_over = all.find_ready() == all.active().count();
    flag.set(is_over);
    if !is_over {
        return Ok(());
    }
    all.inactive()
        .for_each(|index| statuses.set(index, &Report::EMPTY));
    for (index, taken) in all.active() {
        statuses.set(index, &peek_ready(taken)?);
    }
    Ok(())
}

pub fn request_get_status_some(
    _: &Call,
    _: usize,
    requests: &[Handle],
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    if !all.is_any_active() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let count = all.find_ready();
    for listed in 0..count {
        let index = all.ready(listed);
        indices.set(listed, index as i64);
        statuses.set(listed, &peek_ready(all.at(index))?);
    }
    outcount.set(count as i32);
    Ok(())
}
