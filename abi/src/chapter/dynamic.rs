//! Dynamic processes (MPI 5.0 §11.7-11.9). In this release no process is started by another, and
//! the table answers for the rest.

use super::communicator;
use crate::argument::{InOut, Out};
use crate::call::Call;
use crate::constant::MPI_COMM_NULL;
use crate::failure::Failure;
use crate::handle::Handle;

/// MPI_Comm_get_parent: nobody has been spawned.
pub fn comm_get_parent(_call: &Call, parent: Out<Handle>) -> Result<(), Failure> {
    parent.set(MPI_COMM_NULL);
    Ok(())
}

/// MPI_Comm_disconnect: as freeing, after all members have come so far.
pub fn comm_disconnect(call: &Call, comm: InOut<Handle>) -> Result<(), Failure> {
    let handle = comm.get();
    communicator::check_freeable(call, handle)?;
    call.comm("comm", handle)?.disconnect()?;
    communicator::comm_free(call, comm)
}
