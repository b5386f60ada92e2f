//! Matched messages as C programs know them: set aside by a probe, received by the one call that
//! names them.

use std::sync::Mutex;

use oxmpi_core::Claimed;

use super::handle_for;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};

/// What an `MPI_Message` stands for, until it is received.
pub struct Message(Mutex<Option<Claimed>>);

impl Message {
    /// Gives a message a handle; what a matched probe of the null process finds is
    /// MPI_MESSAGE_NO_PROC.
    pub fn of(claimed: Option<Claimed>) -> Result<Handle, Failure> {
        match claimed {
            Some(claimed) => handle_for(Message(Mutex::new(Some(claimed)))),
            None => Ok(MPI_MESSAGE_NO_PROC),
        }
    }

    /// The message behind a handle, which is used up; none for MPI_MESSAGE_NO_PROC.
    pub fn take(handle: Handle) -> Result<Option<Claimed>, Failure> {
        if handle == MPI_MESSAGE_NO_PROC {
            return Ok(None);
        }
        let table = Message::table();
        let found = table.get(handle).and_then(|message| {
            let mut claimed = message
                .0
                .lock()
                .expect("nothing panics while it holds this lock");
            claimed.take()
        });
        table.remove(handle);
        found.map(Some).ok_or_else(|| {
            let text =
                format!("the message {handle} is not one: it was received, or never was set aside");
            Failure::new(MPI_ERR_REQUEST, text)
        })
    }
}
