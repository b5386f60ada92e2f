//! Messages of an access to files, with the memory that they use.

use std::sync::Arc;

use oxmpi_core::any_request::{AnyRequest, Report};
use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::{ErrorKind, SendMode, Source, Tag};

use crate::settle::end_of;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Messages under way, with the memory of the library's own that they use. What is left when this
/// is dropped is taken back before the memory goes.
#[derive(Default)]
pub(crate) struct Messages(pub(crate) Vec<(AnyRequest, Vec<u8>)>);

impl Messages {
    pub(crate) async fn end(&mut self) -> Result<()> {
        for entry in &mut self.0 {
            finish(entry).await?;
        }
        self.0.clear();
        Ok(())
    }
}

impl Messages {
    /// Lets go of those that are over.
    pub(crate) fn let_ended_go(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        self.0.retain_mut(|(request, _)| {
            let is_over = request.is_ready();
            if is_over {
                let ended = request.conclude().map(|_| ());
                *request = AnyRequest::Over(Report::EMPTY);
                outcome = std::mem::replace(&mut outcome, Ok(())).and(ended);
            }
            !is_over
        });
        outcome
    }
}

/// Waits for a message; from then on it is not under way any more.
pub(crate) async fn finish((request, _): &mut (AnyRequest, Vec<u8>)) -> Result<()> {
    end_of(request).await.map(|_| ())
}

impl Drop for Messages {
    fn drop(&mut self) {
        for (request, _) in &mut self.0 {
            let _ = request.cancel();
        }
        for (request, bytes) in &mut self.0 {
            // The access has failed and says why; how its messages end is of no interest. A message
            // to a process that lives and has left the access, because another one died, may
            // never be taken: it keeps its memory.
            let is_left = matches!(request, AnyRequest::Send(comm, _)
                if comm.lost_member().is_some());
            if is_left && !request.is_ready() {
                std::mem::forget(std::mem::replace(request, AnyRequest::Over(Report::EMPTY)));
                std::mem::forget(std::mem::take(bytes));
                continue;
            }
            let _ = request.wait();
        }
    }
}

fn memory(bytes: &mut [u8]) -> Buffer {
    // SAFETY: the memory is kept beside the request of the message until that is over.
    unsafe { Buffer::raw(bytes.as_mut_ptr(), bytes.len() as u64) }
}

pub(crate) fn send(
    comm: &Arc<Comm>,
    mut bytes: Vec<u8>,
    to: u32,
    tag: i32,
    all: &mut Messages,
) -> Result<()> {
    let place = memory(&mut bytes);
    let request = comm.isend_buffer(&place, Some(to), tag, SendMode::Standard)?;
    all.0.push((request, bytes));
    Ok(())
}

pub(crate) fn receive(
    comm: &Arc<Comm>,
    bytes: usize,
    from: u32,
    tag: i32,
    all: &mut Messages,
) -> Result<()> {
    let mut bytes = vec![0; bytes];
    let place = memory(&mut bytes);
    let request = comm.irecv_buffer(&place, Some(Source::Rank(from)), Tag::Is(tag))?;
    all.0.push((request, bytes));
    Ok(())
}
