//! Arguments that are refused on one process of a collective call.
//!
//! The others have made the same call and wait: this process takes part in the first exchange all
//! the same and says that it refuses, so that all fail.

use oxmpi_files::Start;

use crate::call::Call;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, File};

/// Tells the processes behind `given`, a file or (for MPI_File_open) a communicator, that this one
/// refuses the call; returns the failure. Where `given` is no object there are no others to tell.
#[cold]
pub fn refused(call: &Call, given: Handle, failure: Failure) -> Failure {
    let name = call.name();
    if name == "MPI_File_open" {
        if let Some(comm) = Communicator::table().get(given) {
            oxmpi_files::File::refuse_open(&comm);
        }
        return failure;
    }
    if let Some(file) = File::table().get(given) {
        tell(name, &file);
    }
    failure
}

/// Tells the other processes of a collective call of this name; other calls concern none.
#[cold]
pub(super) fn tell(name: &str, file: &File) {
    if name == "MPI_File_set_view" {
        return file.refuse_view();
    }
    if !name.contains("_all") && !name.contains("_ordered") {
        return;
    }
    let start = match name.contains("_ordered") {
        true => Start::Ordered,
        false => Start::Pointer,
    };
    let is_begun = name.contains("_begin") || name.contains("File_i");
    file.refuse_all(name.contains("read"), start, is_begun);
}
