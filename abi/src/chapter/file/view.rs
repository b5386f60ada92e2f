//! Views and pointers (MPI 5.0 §14.3, §14.4.3, §14.5.1).

use std::ffi::CStr;

use oxmpi_files::{View, Whence, representation};

use crate::argument::{Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{File, Info, Type};

/// MPI_File_set_view.
pub fn file_set_view(
    _call: &Call,
    fh: &File,
    disp: i64,
    etype: &Type,
    filetype: &Type,
    datarep: &CStr,
    info: Option<&Info>,
) -> Result<(), Failure> {
    for (name, datatype) in [("etype", etype), ("filetype", filetype)] {
        if !datatype.is_committed() {
            fh.refuse_view();
            let text = format!("the {name} is not committed; call MPI_Type_commit first");
            return Err(Failure::new(MPI_ERR_TYPE, text));
        }
    }
    let disp = (disp != MPI_DISPLACEMENT_CURRENT as i64).then_some(disp);
    let make = |disp| {
        let representation = representation(&datarep.to_string_lossy())?;
        View::new(disp, etype, filetype, representation)
    };
    Ok(fh.set_view(disp, make, info)?)
}

/// MPI_File_get_view.
pub fn file_get_view(
    _call: &Call,
    fh: &File,
    disp: Out<i64>,
    etype: Out<Handle>,
    filetype: Out<Handle>,
    datarep: TextOut,
) -> Result<(), Failure> {
    let view = fh.view();
    etype.set(Type::handle_of(view.etype().clone())?);
    filetype.set(Type::handle_of(view.filetype().clone())?);
    disp.set(view.disp() as i64);
    datarep.set(view.representation().name());
    Ok(())
}

/// MPI_File_get_type_extent.
pub fn file_get_type_extent(
    _call: &Call,
    fh: &File,
    datatype: &Type,
    extent: Out<i64>,
) -> Result<(), Failure> {
    extent.set(fh.type_extent(datatype)?);
    Ok(())
}

/// MPI_File_get_byte_offset.
pub fn file_get_byte_offset(
    _call: &Call,
    fh: &File,
    offset: i64,
    disp: Out<i64>,
) -> Result<(), Failure> {
    disp.set(fh.byte_offset(offset)? as i64);
    Ok(())
}

/// MPI_File_get_position.
pub fn file_get_position(_call: &Call, fh: &File, offset: Out<i64>) -> Result<(), Failure> {
    offset.set(fh.position()? as i64);
    Ok(())
}

/// MPI_File_get_position_shared.
pub fn file_get_position_shared(_call: &Call, fh: &File, offset: Out<i64>) -> Result<(), Failure> {
    offset.set(fh.shared_position()? as i64);
    Ok(())
}

/// MPI_File_seek.
pub fn file_seek(_call: &Call, fh: &File, offset: i64, whence: i32) -> Result<(), Failure> {
    Ok(fh.seek(offset, whence_of(whence)?)?)
}

/// MPI_File_seek_shared.
pub fn file_seek_shared(_call: &Call, fh: &File, offset: i64, whence: i32) -> Result<(), Failure> {
    let whence = whence_of(whence).inspect_err(|_| fh.refuse_seek_shared())?;
    Ok(fh.seek_shared(offset, whence)?)
}

fn whence_of(whence: i32) -> Result<Whence, Failure> {
    Ok(match whence {
        MPI_SEEK_SET => Whence::Set,
        MPI_SEEK_CUR => Whence::Current,
        MPI_SEEK_END => Whence::End,
        _ => {
            let text = format!(
                "whence is {whence}, which is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END"
            );
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
    })
}
