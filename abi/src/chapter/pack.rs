//! Packing and unpacking (MPI 5.0 §5.2, §5.3).
//!
//! The native form is the bytes of the elements in the order of the typemap, without anything else:
//! a packed message is also what a message of these elements is, as the standard demands. So sizes
//! are exact, and the communicator plays no part.

use std::ffi::{CStr, c_void};

use oxmpi_datatypes::datatype::Datatype;

use super::point::buffer;
use crate::argument::{CountOut, Out, Position, constant};
use crate::call::Call;
use crate::constant::{MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TRUNCATE};
use crate::failure::Failure;
use crate::object::{Communicator, Type};

/// MPI_Pack.
pub fn pack(
    _call: &Call,
    inbuf: *const c_void,
    incount: i64,
    datatype: &Type,
    outbuf: *mut c_void,
    outsize: i64,
    position: Position,
    _comm: &Communicator,
) -> Result<(), Failure> {
    let data = buffer(inbuf, incount, datatype)?;
    let packed = Packed::new("outbuf", outbuf, outsize, position)?;
    let bytes = packed.holds(data.bytes())?;
    if bytes > 0 {
        // SAFETY: the range lies in the packed memory, which the program vouches for and which is
        // not that of the data.
        data.pack_into(unsafe { std::slice::from_raw_parts_mut(packed.address, bytes) });
    }
    packed.advance(bytes)
}

/// MPI_Unpack.
pub fn unpack(
    _call: &Call,
    inbuf: *const c_void,
    insize: i64,
    position: Position,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &Type,
    _comm: &Communicator,
) -> Result<(), Failure> {
    let data = buffer(outbuf, outcount, datatype)?;
    let packed = Packed::new("inbuf", inbuf.cast_mut(), insize, position)?;
    let bytes = packed.holds(data.bytes())?;
    if bytes > 0 {
        // SAFETY: as in `pack`.
        data.unpack(unsafe { std::slice::from_raw_parts(packed.address, bytes) });
    }
    packed.advance(bytes)
}

/// MPI_Pack_size.
pub fn pack_size(
    _call: &Call,
    incount: i64,
    datatype: &Type,
    _comm: &Communicator,
    size: CountOut,
) -> Result<(), Failure> {
    let bytes = (datatype.size() as i64).checked_mul(incount);
    size.set(bytes.ok_or_else(|| too_many(incount))?);
    Ok(())
}

/// MPI_Pack_external.
pub fn pack_external(
    _call: &Call,
    datarep: &CStr,
    inbuf: *const c_void,
    incount: i64,
    datatype: &Type,
    outbuf: *mut c_void,
    outsize: i64,
    position: Position,
) -> Result<(), Failure> {
    is_external32(datarep)?;
    let data = Span::new(inbuf.cast_mut().cast(), incount, datatype)?;
    let packed = Packed::new("outbuf", outbuf, outsize, position)?;
    let bytes = packed.holds(datatype.external_size(incount as u64)?)?;
    if bytes > 0 {
        // SAFETY: the layout names only bytes that the program vouches for, and no others are read.
        let memory = unsafe { std::slice::from_raw_parts(data.first, data.bytes) };
        // SAFETY: the range lies in the packed memory, which the program vouches for and which is
        // not that of the data.
        let out = unsafe { std::slice::from_raw_parts_mut(packed.address, bytes) };
        datatype.pack_external(incount as u64, memory, data.origin, out)?;
    }
    packed.advance(bytes)
}

/// MPI_Unpack_external.
pub fn unpack_external(
    _call: &Call,
    datarep: &CStr,
    inbuf: *const c_void,
    insize: i64,
    position: Position,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &Type,
) -> Result<(), Failure> {
    is_external32(datarep)?;
    let data = Span::new(outbuf.cast(), outcount, datatype)?;
    let packed = Packed::new("inbuf", inbuf.cast_mut(), insize, position)?;
    let bytes = packed.holds(datatype.external_size(outcount as u64)?)?;
    if bytes > 0 {
        // SAFETY: the layout names only bytes that the program vouches for, and no others are
        // written.
        let memory = unsafe { std::slice::from_raw_parts_mut(data.first, data.bytes) };
        // SAFETY: the range lies in the packed memory, which the program vouches for and which is
        // not that of the data.
        let external = unsafe { std::slice::from_raw_parts(packed.address, bytes) };
        datatype.unpack_external(external, outcount as u64, memory, data.origin)?;
    }
    packed.advance(bytes)
}

/// MPI_Pack_external_size.
pub fn pack_external_size(
    _call: &Call,
    datarep: &CStr,
    incount: i64,
    datatype: &Type,
    size: Out<i64>,
) -> Result<(), Failure> {
    is_external32(datarep)?;
    let bytes = datatype.external_size(incount as u64)?;
    size.set(i64::try_from(bytes).map_err(|_| too_many(incount))?);
    Ok(())
}

/// There is one external representation. The class for unknown ones of files does not apply here:
/// it is MPI_FILE_SET_VIEW's.
fn is_external32(datarep: &CStr) -> Result<(), Failure> {
    if datarep.to_bytes() == b"external32" {
        return Ok(());
    }
    let text = format!("datarep is {datarep:?}, and the only one is \"external32\"");
    Err(Failure::new(MPI_ERR_ARG, text))
}

#[cold]
fn too_many(count: i64) -> Failure {
    let text =
        format!("incount is {count}, and the size of so many elements does not fit in 64 bits");
    Failure::new(MPI_ERR_COUNT, text)
}

/// The packed side: where the next bytes go to or come from, and how many there are.
struct Packed {
    argument: &'static str,
    /// The memory at the position.
    address: *mut u8,
    size: i64,
    begin: i64,
    position: Position,
}

impl Packed {
    #[inline]
    fn new(
        argument: &'static str,
        memory: *mut c_void,
        size: i64,
        position: Position,
    ) -> Result<Packed, Failure> {
        if let Some(name) = constant(memory.addr()) {
            let text = format!("{argument} is {name}, which is no memory for packed data");
            return Err(Failure::new(MPI_ERR_BUFFER, text));
        }
        let begin = position.get();
        if begin < 0 || begin > size {
            let text =
                format!("position is {begin}, which is not in a packed memory of {size} bytes");
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
        Ok(Packed {
            argument,
            address: memory.cast::<u8>().wrapping_offset(begin as isize),
            size,
            begin,
            position,
        })
    }

    /// Checks that so many bytes lie between the position and the end.
    #[inline]
    fn holds(&self, bytes: u64) -> Result<usize, Failure> {
        if bytes > (self.size - self.begin) as u64 {
            return Err(self.too_short(bytes));
        }
        if bytes > 0 && self.address.addr() == self.begin as usize {
            let text = format!(
                "{} is a null pointer, but {bytes} bytes are to be there",
                self.argument
            );
            return Err(Failure::new(MPI_ERR_BUFFER, text));
        }
        Ok(bytes as usize)
    }

    #[cold]
    fn too_short(&self, bytes: u64) -> Failure {
        let text = format!(
            "the elements take {bytes} bytes, but from position {} to the end of {}, which is {} bytes long, are only {}",
            self.begin,
            self.argument,
            self.size,
            self.size - self.begin
        );
        Failure::new(MPI_ERR_TRUNCATE, text)
    }

    /// Moves the position behind the bytes.
    #[inline]
    fn advance(&self, bytes: usize) -> Result<(), Failure> {
        let fits = self.position.set(self.begin + bytes as i64);
        assert!(fits, "a position inside an int's range is an int");
        Ok(())
    }
}

/// The native side as one piece of memory, from the lowest to the highest byte of the elements.
struct Span {
    first: *mut u8,
    bytes: usize,
    /// Where in it the buffer's address is; negative if it begins behind that.
    origin: i64,
}

impl Span {
    fn new(address: *mut u8, count: i64, datatype: &Datatype) -> Result<Span, Failure> {
        let data = buffer(address.cast(), count, datatype)?;
        if data.bytes() == 0 {
            return Ok(Span {
                first: std::ptr::dangling_mut(),
                bytes: 0,
                origin: 0,
            });
        }
        let last = (count - 1) * datatype.extent();
        let low = datatype.true_lb() + last.min(0);
        let high = datatype.true_ub() + last.max(0);
        Ok(Span {
            first: address.wrapping_offset(low as isize),
            bytes: (high - low) as usize,
            origin: -low,
        })
    }
}
