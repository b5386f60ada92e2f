//! Completing, starting, cancelling and freeing requests (MPI 5.0 §3.7 to §3.9).
//!
//! Null and inactive requests are complete at once and have an empty status. The calls on several
//! requests differ in what they wait for and in how they report; what they have in common stands
//! first.

use oxmpi_core::any_request::{Report, first_ready, wait_ready};

use crate::argument::{FlagOut, InOut, IntegersOut, Out, StatusOut, StatusesOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request::{self, All, Ended, Messages, Taken};
use crate::stage;

/// Ends several operations one after the other; if some fail, it is MPI_ERR_IN_STATUS, and every
/// status says how its own one ended.
struct Ending<'c> {
    statuses: &'c StatusesOut,
    /// Of those that failed: where their status is, and their code.
    failed: Vec<(usize, i32)>,
    first_failure: Option<Failure>,
}

impl Ending<'_> {
    fn new(statuses: &StatusesOut) -> Ending<'_> {
        Ending {
            statuses,
            failed: Vec::new(),
            first_failure: None,
        }
    }

    /// Ends an operation, whose status is at `at`; what its handle is from now on.
    fn end(&mut self, at: usize, taken: &mut Taken) -> Handle {
        let (outcome, handle) = taken.wait();
        self.note(at, outcome);
        handle
    }

    /// An operation, whose status is at `at`, has ended.
    fn note(&mut self, at: usize, outcome: Result<Report, Failure>) {
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
    let (outcome, handle) = request::wait(request.get())?;
    request.set(handle);
    status.settle(outcome)
}

#[inline]
pub fn test(
    _: &Call,
    request: InOut<Handle>,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let tested = request::test(request.get())?;
    flag.set(tested.is_some());
    let Some((outcome, handle)) = tested else {
        return Ok(());
    };
    request.set(handle);
    status.settle(outcome)
}

#[inline]
pub fn waitall(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    statuses: StatusesOut,
) -> Result<(), Failure> {
    if requests.iter().all(|&handle| handle == request::SENT) {
        requests.fill(MPI_REQUEST_NULL);
        if statuses.are_wanted() {
            (0..requests.len()).for_each(|index| statuses.set(index, &Report::EMPTY));
        }
        return Ok(());
    }
    if let Some(messages) = Messages::of(requests) {
        return end_messages(messages, requests, &statuses);
    }
    end_all(&mut request::take_all(requests)?, requests, &statuses)
}

/// Waits for all of them and ends them.
fn end_all(all: &mut All, requests: &mut [Handle], statuses: &StatusesOut) -> Result<(), Failure> {
    all.inactive()
        .for_each(|index| statuses.set(index, &Report::EMPTY));
    let count = requests.len();
    let mut ending = Ending::new(statuses);
    for (index, taken) in all.active() {
        requests[index] = ending.end(index, taken);
    }
    ending.finish(count)
}

/// The same of messages.
#[inline]
fn end_messages(
    mut messages: Messages,
    requests: &mut [Handle],
    statuses: &StatusesOut,
) -> Result<(), Failure> {
    let wanted = statuses.are_wanted();
    let count = requests.len();
    if wanted && !messages.is_every_one(requests) {
        (0..count).for_each(|index| statuses.set(index, &Report::EMPTY));
    }
    let failed = messages.complete_all(requests, |index, report| {
        if wanted {
            statuses.set(index, report);
        }
    });
    if failed.is_empty() {
        return Ok(());
    }
    let mut ending = Ending::new(statuses);
    for ended in failed {
        ending.note(ended.place, ended.outcome);
    }
    ending.finish(count)
}

pub fn testall(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    flag: FlagOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    if let Some(messages) = Messages::of(requests) {
        let is_over = messages.are_over();
        flag.set(is_over);
        return match is_over {
            true => end_messages(messages, requests, &statuses),
            false => Ok(()),
        };
    }
    let mut all = request::take_all(requests)?;
    let is_over = all.find_ready() == all.active().count();
    flag.set(is_over);
    if !is_over {
        return Ok(());
    }
    end_all(&mut all, requests, &statuses)
}

/// Tells which one has ended and how; of none, that there was none to wait for.
fn tell_of_one(
    one: Option<(usize, Ended)>,
    requests: &mut [Handle],
    indx: &Out<i32>,
    status: &StatusOut,
) -> Result<(), Failure> {
    let Some((index, (outcome, handle))) = one else {
        indx.set(MPI_UNDEFINED);
        status.set(&Report::EMPTY);
        return Ok(());
    };
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
    let one = match request::complete_next(requests) {
        Some(next) => Some(next),
        None => wait_for_one(requests)?,
    };
    tell_of_one(one, requests, &indx, &status)
}

/// Waits for one and ends it; none if there is none to wait for.
fn wait_for_one(requests: &[Handle]) -> Result<Option<(usize, Ended)>, Failure> {
    if let Some(mut messages) = Messages::of(requests) {
        return messages.wait_any(requests);
    }
    let mut all = request::take_all(requests)?;
    let first = wait_ready(&mut all)?;
    Ok(first.map(|index| (index, all.at(index).conclude())))
}

pub fn testany(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    indx: Out<i32>,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let (one, is_any_active) = match request::complete_next(requests) {
        Some(next) => (Some(next), true),
        None => test_for_one(requests)?,
    };
    flag.set(one.is_some() || !is_any_active);
    if one.is_none() && is_any_active {
        indx.set(MPI_UNDEFINED);
        return Ok(());
    }
    tell_of_one(one, requests, &indx, &status)
}

/// Ends one that is over; and whether there is one that a call can complete.
fn test_for_one(requests: &[Handle]) -> Result<(Option<(usize, Ended)>, bool), Failure> {
    if let Some(mut messages) = Messages::of(requests) {
        let is_any_active = messages.is_any_active();
        return Ok((messages.complete_any(requests), is_any_active));
    }
    let mut all = request::take_all(requests)?;
    let first = first_ready(&mut all);
    let is_any_active = first.is_some() || all.is_any_active();
    let one = first.map(|index| (index, all.at(index).conclude()));
    Ok((one, is_any_active))
}

/// Where calls on some requests tell what they have found.
struct Completed {
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
}

impl Completed {
    /// Ends those that are ready and lists them, in the order in which their messages were matched.
    fn conclude(&self, all: &mut All, requests: &mut [Handle]) -> Result<(), Failure> {
        if !all.is_any_active() {
            self.outcount.set(MPI_UNDEFINED);
            return Ok(());
        }
        let count = all.find_ready();
        self.outcount.set(count as i32);
        let mut ending = Ending::new(&self.statuses);
        for listed in 0..count {
            let index = all.ready(listed);
            self.indices.set(listed, index as i64);
            requests[index] = ending.end(listed, all.at(index));
        }
        ending.finish(count)
    }

    /// The same of messages.
    fn complete(&self, mut messages: Messages, requests: &mut [Handle]) -> Result<(), Failure> {
        if !messages.is_any_active() {
            self.outcount.set(MPI_UNDEFINED);
            return Ok(());
        }
        let mut ending = Ending::new(&self.statuses);
        let count = messages.complete_some(requests, |listed, ended| {
            self.indices.set(listed, ended.place as i64);
            ending.note(listed, ended.outcome);
        });
        self.outcount.set(count as i32);
        ending.finish(count)
    }
}

pub fn waitsome(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let some = Completed {
        outcount,
        indices,
        statuses,
    };
    if let Some(mut messages) = Messages::of(requests) {
        messages.wait_until_ready(requests)?;
        return some.complete(messages, requests);
    }
    let mut all = request::take_all(requests)?;
    wait_ready(&mut all)?;
    some.conclude(&mut all, requests)
}

pub fn testsome(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    outcount: Out<i32>,
    indices: IntegersOut,
    statuses: StatusesOut,
) -> Result<(), Failure> {
    let some = Completed {
        outcount,
        indices,
        statuses,
    };
    if let Some(messages) = Messages::of(requests) {
        return some.complete(messages, requests);
    }
    some.conclude(&mut request::take_all(requests)?, requests)
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
    request::free(request.get())?;
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
