//! Opening, closing, deleting; size, group, mode, hints, atomicity (MPI 5.0 §14.2, §14.6).

use std::ffi::CStr;

use crate::argument::{FlagOut, InOut, Out};
use crate::call::Call;
use crate::chapter::group;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, File, Info, handle_for};

/// MPI_File_open.
pub fn file_open(
    _call: &Call,
    comm: &Communicator,
    filename: &CStr,
    amode: i32,
    info: Option<&Info>,
    fh: Out<Handle>,
) -> Result<(), Failure> {
    fh.set(MPI_FILE_NULL);
    let file = oxmpi_files::File::open(comm, filename.to_bytes(), amode, info)?;
    let handle = handle_for(File::new(file.clone()))?;
    // Requests of the file find its error handler by its communicator.
    file.comm().set_handle(handle.0 as u64);
    fh.set(handle);
    Ok(())
}

/// MPI_File_close.
pub fn file_close(call: &Call, fh: InOut<Handle>) -> Result<(), Failure> {
    let handle = fh.get();
    // Its own handler is responsible as long as it is there.
    let file = call.file("fh", handle)?;
    if let Err(kind) = file.close() {
        if file.is_closed() {
            // Data did not reach their server, or it could not be deleted. The object stays, because
            // its handler is called yet.
            fh.set(MPI_FILE_NULL);
        }
        return Err(Failure::from(kind).on(crate::subject::Subject::File(handle)));
    }
    File::table().remove(handle);
    fh.set(MPI_FILE_NULL);
    Ok(())
}

/// MPI_File_delete.
pub fn file_delete(_call: &Call, filename: &CStr, _info: Option<&Info>) -> Result<(), Failure> {
    Ok(oxmpi_files::delete(filename.to_bytes())?)
}

/// MPI_File_set_size.
pub fn file_set_size(_call: &Call, fh: &File, size: i64) -> Result<(), Failure> {
    Ok(fh.set_size(size)?)
}

/// MPI_File_preallocate.
pub fn file_preallocate(_call: &Call, fh: &File, size: i64) -> Result<(), Failure> {
    Ok(fh.preallocate(size)?)
}

/// MPI_File_get_size.
pub fn file_get_size(_call: &Call, fh: &File, size: Out<i64>) -> Result<(), Failure> {
    size.set(fh.size()? as i64);
    Ok(())
}

/// MPI_File_get_group.
pub fn file_get_group(_call: &Call, fh: &File, group: Out<Handle>) -> Result<(), Failure> {
    group.set(group::handle_of(fh.group().clone())?);
    Ok(())
}

/// MPI_File_get_amode.
pub fn file_get_amode(_call: &Call, fh: &File, amode: Out<i32>) -> Result<(), Failure> {
    amode.set(fh.amode().bits());
    Ok(())
}

/// MPI_File_get_info: the hints in force.
pub fn file_get_info(_call: &Call, fh: &File, info_used: Out<Handle>) -> Result<(), Failure> {
    info_used.set(handle_for(fh.info())?);
    Ok(())
}

/// MPI_File_set_info.
pub fn file_set_info(_call: &Call, fh: &File, info: Option<&Info>) -> Result<(), Failure> {
    if let Some(info) = info {
        fh.set_info(info);
    }
    Ok(())
}

/// MPI_File_get_atomicity.
pub fn file_get_atomicity(_call: &Call, fh: &File, flag: FlagOut) -> Result<(), Failure> {
    flag.set(fh.atomicity());
    Ok(())
}

/// MPI_File_set_atomicity.
pub fn file_set_atomicity(_call: &Call, fh: &File, flag: i32) -> Result<(), Failure> {
    Ok(fh.set_atomicity(flag != 0)?)
}

/// MPI_File_sync.
pub fn file_sync(_call: &Call, fh: &File) -> Result<(), Failure> {
    Ok(fh.sync()?)
}
