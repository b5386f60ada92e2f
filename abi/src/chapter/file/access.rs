//! Reading and writing (MPI 5.0 §14.4): one line for each function.

use std::ffi::c_void;

use oxmpi_datatypes::datatype::Datatype;
use oxmpi_files::{Memory, Start};

use crate::argument::{Out, StatusOut};
use crate::call::Call;
use crate::chapter::file::refusal;
use crate::chapter::point::buffer;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{File, Type};
use crate::request;

/// What the first arguments of an access describe.
fn memory(
    call: &Call,
    fh: &File,
    address: *const c_void,
    count: i64,
    datatype: &Datatype,
) -> Result<Memory, Failure> {
    // For its checks: constants are no addresses.
    let checked = buffer(address, count, datatype);
    // SAFETY: the C program vouches for the memory that its arguments name, until the access is
    // over.
    let made = checked.and_then(|_| unsafe {
        Ok(Memory::new(
            address.cast_mut().cast(),
            count as u64,
            datatype,
        )?)
    });
    made.inspect_err(|_| refusal::tell(call.name(), fh))
}

/// Functions of one form: `at` ones have an offset, `from` ones begin at a pointer.
macro_rules! accesses {
    ($(waits $at:ident $method:ident $pointer:ty;)*) => {$(
        pub fn $at(
            call: &Call,
            fh: &File,
            offset: i64,
            buf: $pointer,
            count: i64,
            datatype: &Type,
            status: StatusOut,
        ) -> Result<(), Failure> {
            status.settle(fh.$method(Start::At(offset), memory(call, fh, buf, count, datatype)?))
        }
    )*};
    ($(waits $from:ident $method:ident $start:ident $pointer:ty;)*) => {$(
        pub fn $from(
            call: &Call,
            fh: &File,
            buf: $pointer,
            count: i64,
            datatype: &Type,
            status: StatusOut,
        ) -> Result<(), Failure> {
            status.settle(fh.$method(Start::$start, memory(call, fh, buf, count, datatype)?))
        }
    )*};
    ($(begins $at:ident $method:ident $pointer:ty;)*) => {$(
        pub fn $at(
            call: &Call,
            fh: &File,
            offset: i64,
            buf: $pointer,
            count: i64,
            datatype: &Type,
            request: Out<Handle>,
        ) -> Result<(), Failure> {
            let begun = fh.$method(Start::At(offset), memory(call, fh, buf, count, datatype)?)?;
            request.set(request::of(begun)?);
            Ok(())
        }
    )*};
    ($(begins $from:ident $method:ident $start:ident $pointer:ty;)*) => {$(
        pub fn $from(
            call: &Call,
            fh: &File,
            buf: $pointer,
            count: i64,
            datatype: &Type,
            request: Out<Handle>,
        ) -> Result<(), Failure> {
            let begun = fh.$method(Start::$start, memory(call, fh, buf, count, datatype)?)?;
            request.set(request::of(begun)?);
            Ok(())
        }
    )*};
    ($(
        splits $begin:ident $end:ident $name:literal $reads:literal $start:ident $pointer:ty;
    )*) => {$(
        pub fn $begin(
            call: &Call,
            fh: &File,
            buf: $pointer,
            count: i64,
            datatype: &Type,
        ) -> Result<(), Failure> {
            let memory = memory(call, fh, buf, count, datatype)?;
            Ok(fh.begin_split($name, $reads, Start::$start, memory)?)
        }

        accesses! { ends $end $name $pointer; }
    )*};
    (ends $end:ident $name:literal $pointer:ty;) => {
        pub fn $end(
            _call: &Call,
            fh: &File,
            _buf: $pointer,
            status: StatusOut,
        ) -> Result<(), Failure> {
            status.settle(fh.end_split($name))
        }
    };
    ($(splits $begin:ident $end:ident $name:literal $reads:literal $pointer:ty;)*) => {$(
        pub fn $begin(
            call: &Call,
            fh: &File,
            offset: i64,
            buf: $pointer,
            count: i64,
            datatype: &Type,
        ) -> Result<(), Failure> {
            let memory = memory(call, fh, buf, count, datatype)?;
            Ok(fh.begin_split($name, $reads, Start::At(offset), memory)?)
        }

        accesses! { ends $end $name $pointer; }
    )*};
}

accesses! {
    waits file_read_at read *mut c_void;
    waits file_read_at_all read_all *mut c_void;
    waits file_write_at write *const c_void;
    waits file_write_at_all write_all *const c_void;
}

accesses! {
    waits file_read read Pointer *mut c_void;
    waits file_read_all read_all Pointer *mut c_void;
    waits file_read_shared read Shared *mut c_void;
    waits file_read_ordered read_all Ordered *mut c_void;
    waits file_write write Pointer *const c_void;
    waits file_write_all write_all Pointer *const c_void;
    waits file_write_shared write Shared *const c_void;
    waits file_write_ordered write_all Ordered *const c_void;
}

accesses! {
    begins file_iread_at iread *mut c_void;
    begins file_iread_at_all iread_all *mut c_void;
    begins file_iwrite_at iwrite *const c_void;
    begins file_iwrite_at_all iwrite_all *const c_void;
}

accesses! {
    begins file_iread iread Pointer *mut c_void;
    begins file_iread_all iread_all Pointer *mut c_void;
    begins file_iread_shared iread Shared *mut c_void;
    begins file_iwrite iwrite Pointer *const c_void;
    begins file_iwrite_all iwrite_all Pointer *const c_void;
    begins file_iwrite_shared iwrite Shared *const c_void;
}

accesses! {
    splits file_read_at_all_begin file_read_at_all_end "MPI_File_read_at_all" true *mut c_void;
    splits file_write_at_all_begin file_write_at_all_end "MPI_File_write_at_all" false
        *const c_void;
}

accesses! {
    splits file_read_all_begin file_read_all_end "MPI_File_read_all" true Pointer *mut c_void;
    splits file_write_all_begin file_write_all_end "MPI_File_write_all" false Pointer
        *const c_void;
    splits file_read_ordered_begin file_read_ordered_end "MPI_File_read_ordered" true Ordered
        *mut c_void;
    splits file_write_ordered_begin file_write_ordered_end "MPI_File_write_ordered" false Ordered
        *const c_void;
}
