//! Completing, starting, cancelling and freeing requests (MPI 5.0 §3.7 to §3.9).
//!
//! Null and inactive requests are complete at once and have an empty status. The calls on several requests differ in what they wait for
//! and in how they report; what they have in common stands first.

use std::cell::Cell;

use oxmpi_core::operation::{Operation, Report, wait_ready};

use crate::argument::{FlagOut, InOut, IntegersOut, Out, StatusOut, StatusesOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request::{self, Taken};
use crate::stage;

/// Those of the requests that a call can complete, with their places.
fn active(all: &mut [Option<Taken>]) -> Vec<(usize, &mut Taken)> {
    let taken = all.iter_mut().enumerate();
    taken
        .filter_map(|(index, taken)| Some((index, taken.as_mut()?)))
        .filter(|(_, taken)| taken.is_active())
        .collect()
}

/// Waits until one of them is ready, and tells which.
fn wait_for_one(active: &mut [(usize, &mut Taken)]) -> Result<Option<usize>, Failure> {
    let mut operations: Vec<&mut Operation> = active
        .iter_mut()
        .map(|(_, taken)| taken.operation())
        .collect();
    Ok(wait_ready(&mut operations)?)
}

/// The places, in `active`, of those that are ready now.
fn ready_now(active: &mut [(usize, &mut Taken)]) -> Vec<usize> {
    stage::progress();
    let looked = active.iter_mut().enumerate();
    looked
        .filter_map(|(at, (_, taken))| taken.operation().is_ready().then_some(at))
        .collect()
}

/// Ends several operations that are ready; the failures make it MPI_ERR_IN_STATUS. `place` tells where a status belongs.
fn conclude_all<'t>(
    ready: impl Iterator<Item = (usize, &'t mut Taken)>,
    handles: &mut [Handle],
    statuses: &StatusesOut,
    mut place: impl FnMut(usize) -> usize,
) -> Result<(), Failure> {
    let mut first_failure: Option<Failure> = None;
    let mut ended = Vec::new();
    for (index, taken) in ready {
        let (outcome, handle) = taken.wait();
        handles[index] = handle;
        let at = place(index);
        match outcome {
            Ok(report) => {
                statuses.set(at, &report);
                ended.push((at, MPI_SUCCESS));
            }
            Err(failure) => {
                statuses.set(at, &Report::EMPTY);
                ended.push((at, failure.code()));
                first_failure.get_or_insert(failure);
            }
        }
    }
    let Some(failure) = first_failure else {
        return Ok(());
    };
    for (at, code) in ended {
        statuses.set_error(at, code);
    }
    Err(in_status(&failure))
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
    status.set(&outcome?);
    Ok(())
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
    status.set(&outcome?);
    Ok(())
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
    let mut all = request::take_all(requests)?;
    for (index, taken) in all.iter().enumerate() {
        if !taken.as_ref().is_some_and(Taken::is_active) {
            statuses.set(index, &Report::EMPTY);
        }
    }
    conclude_all(active(&mut all).into_iter(), requests, &statuses, |index| {
        index
    })
}

thread_local! {
    /// Room for the messages of one MPI_Waitall, so that none is made for each.
    static MESSAGES: Cell<Vec<request::Simple>> = const { Cell::new(Vec::new()) };
}

/// Waits for requests that are nothing but contiguous messages; `None` if there is another kind among them.
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
        let mut message = Operation::Receive(comm, id);
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
    let mut active = active(&mut all);
    let is_over = ready_now(&mut active).len() == active.len();
    flag.set(is_over);
    if !is_over {
        return Ok(());
    }
    let places: Vec<usize> = active.iter().map(|(index, _)| *index).collect();
    for index in (0..requests.len()).filter(|index| !places.contains(index)) {
        statuses.set(index, &Report::EMPTY);
    }
    conclude_all(active.into_iter(), requests, &statuses, |index| index)
}

/// Ends the one operation that was found, and tells its index.
fn conclude_one(
    (index, taken): &mut (usize, &mut Taken),
    requests: &mut [Handle],
    indx: &Out<i32>,
    status: &StatusOut,
) -> Result<(), Failure> {
    let (outcome, handle) = taken.conclude();
    requests[*index] = handle;
    indx.set(*index as i32);
    status.set(&outcome?);
    Ok(())
}

pub fn waitany(
    _: &Call,
    _: usize,
    requests: &mut [Handle],
    indx: Out<i32>,
    status: StatusOut,
) -> Result<(), Failure> {
    let mut all = request::take_all(requests)?;
    let mut active = active(&mut all);
    match wait_for_one(&mut active)? {
        Some(at) => conclude_one(&mut active[at], requests, &indx, &status),
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
    let mut active = active(&mut all);
    let first = ready_now(&mut active).first().copied();
    flag.set(first.is_some() || active.is_empty());
    match first {
        Some(at) => conclude_one(&mut active[at], requests, &indx, &status),
        None => {
            indx.set(MPI_UNDEFINED);
            if active.is_empty() {
                status.set(&Report::EMPTY);
            }
            Ok(())
        }
    }
}

/// Ends those that are ready and lists them.
fn conclude_some(
    mut active: Vec<(usize, &mut Taken)>,
    requests: &mut [Handle],
    (outcount, indices, statuses): (Out<i32>, IntegersOut, StatusesOut),
) -> Result<(), Failure> {
    if active.is_empty() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let ready = ready_now(&mut active);
    outcount.set(ready.len() as i32);
    let mut listed = 0;
    let chosen = active.into_iter().enumerate();
    let chosen = chosen
        .filter(|(at, _)| ready.contains(at))
        .map(|(_, taken)| taken);
    conclude_all(chosen, requests, &statuses, |index| {
        indices.set(listed, index as i64);
        listed += 1;
        listed - 1
    })
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
    let mut active = active(&mut all);
    wait_for_one(&mut active)?;
    conclude_some(active, requests, (outcount, indices, statuses))
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
    let active = active(&mut all);
    conclude_some(active, requests, (outcount, indices, statuses))
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
fn peek(taken: &mut Option<Taken>) -> Result<Option<Report>, Failure> {
    let Some(taken) = taken.as_mut().filter(|taken| taken.is_active()) else {
        return Ok(Some(Report::EMPTY));
    };
    let operation = taken.operation();
    if !operation.is_ready() {
        return Ok(None);
    }
    let outcome = operation.peek();
    outcome
        .map(Some)
        .map_err(|kind| request::failed(kind, operation.comm()))
}

pub fn request_get_status(
    _: &Call,
    request: Handle,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    stage::progress();
    let report = peek(&mut request::take(request)?)?;
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
    stage::progress();
    let mut all = request::take_all(requests)?;
    let mut is_any_active = false;
    for (index, taken) in all.iter_mut().enumerate() {
        if !taken.as_ref().is_some_and(Taken::is_active) {
            continue;
        }
        is_any_active = true;
        if let Some(report) = peek(taken)? {
            indx.set(index as i32);
            flag.set(true);
            status.set(&report);
            return Ok(());
        }
    }
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
    stage::progress();
    let mut all = request::take_all(requests)?;
    let mut reports = Vec::with_capacity(all.len());
    for taken in &mut all {
        match peek(taken)? {
            Some(report) => reports.push(report),
            None => {
                flag.set(false);
                return Ok(());
            }
        }
    }
    flag.set(true);
    for (index, report) in reports.iter().enumerate() {
        statuses.set(index, report);
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
    stage::progress();
    let mut all = request::take_all(requests)?;
    let mut listed = 0;
    let mut is_any_active = false;
    for (index, taken) in all.iter_mut().enumerate() {
        if !taken.as_ref().is_some_and(Taken::is_active) {
            continue;
        }
        is_any_active = true;
        if let Some(report) = peek(taken)? {
            indices.set(listed, index as i64);
            statuses.set(listed, &report);
            listed += 1;
        }
    }
    outcount.set(if is_any_active {
        listed as i32
    } else {
        MPI_UNDEFINED
    });
    Ok(())
}
