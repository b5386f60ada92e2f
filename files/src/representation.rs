//! Data representations (MPI 5.0 §14.5): how values lie in the file.
//!
//! "native" and "internal" are the bytes of memory. "external32" is big endian with fixed lengths.
//! A program can register others, whose conversions are its own functions. A representation in
//! which values have other lengths also has other types in the file: [`Representation::in_file`]
//! builds them anew from the same constructor, with the file's lengths of the basic types; byte
//! displacements that the program gave stay as they are, as the standard says of types that are
//! not portable.

use std::sync::{Arc, Mutex, PoisonError};

use oxmpi_core::buffer::Buffer;
use oxmpi_core::{ErrorKind, FileError, FileFault};
use oxmpi_datatypes::datatype::{Basic, Constructor, Datatype, ExternalError};

use crate::failure::fault;

/// The functions of a representation that the program registered.
pub trait Conversion: Send + Sync {
    /// Bytes that one element of a predefined type takes in the file.
    fn extent(&self, datatype: &Datatype) -> Result<i64, ErrorKind>;
    /// Whether values are converted when they are read; if not, the file has the native form.
    fn reads(&self) -> bool;
    /// Whether values are converted when they are written.
    fn writes(&self) -> bool;
    /// Converts `count` elements from the file's bytes into the program's buffer.
    ///
    /// # Safety
    /// `user` is the address of `count` elements, which may be written; `file` of their form in
    /// the file.
    unsafe fn read(
        &self,
        user: *mut u8,
        datatype: &Datatype,
        count: u64,
        file: *const u8,
    ) -> Result<(), ErrorKind>;
    /// Converts `count` elements of the program's buffer into the file's bytes.
    ///
    /// # Safety
    /// As [`Conversion::read`], the other way.
    unsafe fn write(
        &self,
        user: *const u8,
        datatype: &Datatype,
        count: u64,
        file: *mut u8,
    ) -> Result<(), ErrorKind>;
}

/// How values lie in a file.
#[derive(Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As this library likes it, which is as in memory.
    Internal,
    /// As every machine reads it.
    External32,
    /// As functions of the program say, with the name they were registered under.
    Registered(Arc<str>, Arc<dyn Conversion>),
}

static REGISTERED: Mutex<Vec<Representation>> = Mutex::new(Vec::new());

/// MPI_MAX_DATAREP_STRING of the standard ABI.
const NAME_MAX: usize = 128;

/// Adds a representation (MPI_Register_datarep).
pub fn register(name: &str, conversion: Arc<dyn Conversion>) -> Result<(), FileError> {
    let refuse = |kind, why: String| Err(fault(kind, "cannot register a representation for", why));
    if name.is_empty() || name.len() >= NAME_MAX {
        let why = format!(
            "its name has {} bytes; 1 to {} are allowed",
            name.len(),
            NAME_MAX - 1
        );
        return refuse(FileFault::Argument, why);
    }
    if representation(name).is_ok() {
        let why = format!("there is a representation '{name}' already");
        return refuse(FileFault::RepresentationExists, why);
    }
    let mut all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(Representation::Registered(name.into(), conversion));
    Ok(())
}

/// The representation of a name.
pub fn representation(name: &str) -> Result<Representation, FileError> {
    match name {
        "native" => return Ok(Representation::Native),
        "internal" => return Ok(Representation::Internal),
        "external32" => return Ok(Representation::External32),
        _ => {}
    }
    let all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().find(|known| known.name() == name);
    found.cloned().ok_or_else(|| {
        let why = format!(
            "there is no data representation '{name}'; the names are native, internal, external32 \
             and those of MPI_Register_datarep"
        );
        fault(FileFault::NoRepresentation, "cannot set the view of", why)
    })
}

impl Representation {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(name, _) => name,
        }
    }

    /// Whether the bytes of memory are those of the file. Without a function to convert they are, so
    /// a registered representation that has none is native, whatever its extents are.
    pub fn is_plain(&self) -> bool {
        match self {
            Representation::Native | Representation::Internal => true,
            Representation::External32 => false,
            Representation::Registered(_, conversion) => {
                !conversion.reads() && !conversion.writes()
            }
        }
    }

    /// Whether converting calls functions of the program.
    pub(crate) fn calls_program(&self) -> bool {
        matches!(self, Representation::Registered(..)) && !self.is_plain()
    }

    /// The type that takes the place of a datatype in the file.
    pub fn in_file(&self, datatype: &Datatype) -> Result<Datatype, FileError> {
        if self.is_plain() {
            return Ok(datatype.clone());
        }
        let there = self.rebuilt(datatype)?;
        there.commit();
        Ok(there)
    }

    /// The extent of a datatype in the file. A registered representation tells it by its function
    /// even if nothing is converted (MPI 5.0 section 14.5.1).
    pub fn extent_in_file(&self, datatype: &Datatype) -> Result<i64, FileError> {
        match self {
            Representation::Registered(..) => Ok(self.rebuilt(datatype)?.extent()),
            _ => Ok(self.in_file(datatype)?.extent()),
        }
    }

    fn rebuilt(&self, datatype: &Datatype) -> Result<Datatype, FileError> {
        use Constructor as C;
        let of = |of: &Datatype| self.rebuilt(of);
        let built = match datatype.constructor() {
            C::Named(_)
            | C::F90Real { .. }
            | C::F90Complex { .. }
            | C::F90Integer { .. }
            | C::ValueIndex { .. } => {
                let bytes = self.basic_bytes(datatype)?;
                Datatype::contiguous(bytes as i64, &Datatype::named(Basic::Byte))
            }
            C::Dup(inner) => return of(inner),
            C::Contiguous { count, of: inner } => Datatype::contiguous(*count, &of(inner)?),
            C::Vector {
                count,
                blocklength,
                stride,
                of: inner,
            } => Datatype::vector(*count, *blocklength, *stride, &of(inner)?),
            C::Hvector {
                count,
                blocklength,
                stride,
                of: inner,
            } => Datatype::hvector(*count, *blocklength, *stride, &of(inner)?),
            C::Indexed {
                blocklengths,
                displacements,
                of: inner,
            } => Datatype::indexed(blocklengths, displacements, &of(inner)?),
            C::Hindexed {
                blocklengths,
                displacements,
                of: inner,
            } => Datatype::hindexed(blocklengths, displacements, &of(inner)?),
            C::IndexedBlock {
                blocklength,
                displacements,
                of: inner,
            } => Datatype::indexed_block(*blocklength, displacements, &of(inner)?),
            C::HindexedBlock {
                blocklength,
                displacements,
                of: inner,
            } => Datatype::hindexed_block(*blocklength, displacements, &of(inner)?),
            C::Struct {
                blocklengths,
                displacements,
                of: inner,
            } => {
                let inner: Result<Vec<_>, _> = inner.iter().map(of).collect();
                Datatype::structure(blocklengths, displacements, &inner?)
            }
            C::Subarray {
                sizes,
                subsizes,
                starts,
                order,
                of: inner,
            } => Datatype::subarray(sizes, subsizes, starts, *order, &of(inner)?),
            C::Darray {
                arguments,
                of: inner,
            } => Datatype::darray(arguments.clone(), &of(inner)?),
            C::Resized {
                lb,
                extent,
                of: inner,
            } => Datatype::resized(&of(inner)?, *lb, *extent),
        };
        built.map_err(|error| {
            let why = format!("a type cannot be built in '{}': {error}", self.name());
            fault(FileFault::Conversion, "cannot convert for", why)
        })
    }

    /// Bytes that an element of a type without parts takes in the file.
    fn basic_bytes(&self, datatype: &Datatype) -> Result<u64, FileError> {
        let wrong = |why: String| fault(FileFault::Conversion, "cannot convert for", why);
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.size()),
            Representation::External32 => datatype
                .external_size(1)
                .map_err(|error| wrong(error.to_string())),
            Representation::Registered(name, conversion) => {
                let extent = conversion
                    .extent(datatype)
                    .map_err(|error| wrong(error.to_string()))?;
                u64::try_from(extent).map_err(|_| {
                    wrong(format!(
                        "'{name}' says that an element has {extent} bytes in the file"
                    ))
                })
            }
        }
    }
}

/// Memory of the program with its type: what an access reads into or writes from.
#[derive(Clone)]
pub struct Memory {
    address: *mut u8,
    count: u64,
    datatype: Datatype,
    buffer: Buffer,
}

// SAFETY: whoever makes it promises that the memory may be used from any thread until the access is
// over, as for the buffer inside.
unsafe impl Send for Memory {}
// SAFETY: as above; it is only read through references, and the memory behind it is the access's.
unsafe impl Sync for Memory {}

impl Memory {
    /// `count` elements of `datatype` at `address`.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    pub unsafe fn new(
        address: *mut u8,
        count: u64,
        datatype: &Datatype,
    ) -> Result<Memory, ErrorKind> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::new(address, count, datatype) }?;
        Ok(Memory {
            address,
            count,
            datatype: datatype.clone(),
            buffer,
        })
    }

    /// The bytes in memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Bytes that the data takes in a file of this representation.
    pub(crate) fn bytes_in(&self, representation: &Representation) -> Result<u64, FileError> {
        if representation.is_plain() {
            return Ok(self.buffer.bytes());
        }
        let there = representation.in_file(&self.datatype)?;
        Ok(there.size() * self.count)
    }

    /// Checks that data of so many bytes in the file can be read, or written: where the program
    /// gave no function for it, they are moved as they are in memory (MPI 5.0 §14.5.3).
    pub(crate) fn check_form(
        &self,
        form: &Representation,
        bytes: u64,
        reads: bool,
    ) -> Result<(), FileError> {
        let Representation::Registered(name, conversion) = form else {
            return Ok(());
        };
        let (converts, what, action) = match reads {
            true => (conversion.reads(), "reading", "cannot read"),
            false => (conversion.writes(), "writing", "cannot write"),
        };
        let here = self.buffer.bytes();
        if converts || here == bytes {
            return Ok(());
        }
        let why = format!(
            "'{name}' has no function for {what}, so data lie in the file as in memory; but they \
             are {here} bytes in memory, and {bytes} in the file"
        );
        Err(fault(FileFault::Conversion, action, why))
    }

    /// From bytes of the file to bytes of memory, of an access that has `all` bytes in the file. In
    /// a registered representation only whole elements of the datatype count, because its functions
    /// convert no parts.
    pub(crate) fn native_bytes(&self, form: &Representation, there: u64, all: u64) -> u64 {
        if all == 0 {
            return 0;
        }
        let one = all / self.count;
        match form {
            form if form.is_plain() => there,
            Representation::External32 => {
                there / one * self.datatype.size() + self.native_part(there % one, one)
            }
            _ => there / one * self.datatype.size(),
        }
    }

    /// The same of the beginning of one element, which has `one` bytes in external32. Where values
    /// have other lengths there, those that lie whole in the file count.
    fn native_part(&self, external: u64, one: u64) -> u64 {
        if one == self.datatype.size() {
            return external;
        }
        let (mut left, mut native) = (external, 0);
        // The error only ends the walk, at the first value that is not whole.
        let _ = self.datatype.signature().try_for_each(&mut |basic, count| {
            let bytes = u64::from(basic.external_size());
            let whole = count.min(left / bytes);
            left -= whole * bytes;
            native += whole * u64::from(basic.size());
            if whole < count { Err(()) } else { Ok(()) }
        });
        native
    }

    /// The data in the file's form.
    pub(crate) fn to_file(
        &self,
        representation: &Representation,
        bytes: u64,
    ) -> Result<Vec<u8>, ErrorKind> {
        let mut file = vec![0; bytes as usize];
        match representation {
            Representation::Registered(_, conversion) if conversion.writes() => {
                // SAFETY: the maker's promise, and the memory in the file's form is as long as the
                // representation says.
                unsafe {
                    conversion.write(self.address, &self.datatype, self.count, file.as_mut_ptr())
                }?;
            }
            Representation::External32 => {
                let (memory, origin) = self.span();
                self.datatype
                    .pack_external(self.count, memory, origin, &mut file)
                    .map_err(|error| external("cannot write", &error))?;
            }
            _ => self.buffer.pack_into(&mut file),
        }
        Ok(file)
    }

    /// Puts what was read, in the file's form, where it belongs; `bytes` is all that was asked for.
    pub(crate) fn take_from_file(
        &self,
        representation: &Representation,
        file: &[u8],
        bytes: u64,
    ) -> Result<(), ErrorKind> {
        if bytes == 0 {
            return Ok(());
        }
        let whole = file.len() as u64 / (bytes / self.count);
        match representation {
            Representation::Registered(_, conversion) if conversion.reads() => {
                // SAFETY: as in `to_file`.
                unsafe { conversion.read(self.address, &self.datatype, whole, file.as_ptr()) }
            }
            Representation::External32 => {
                let (memory, origin) = self.span();
                self.datatype
                    .unpack_external(file, whole, memory, origin)
                    .map_err(|error| external("cannot read", &error))?;
                let one = bytes / self.count;
                self.take_rest(&file[(whole * one) as usize..], whole, one)
            }
            _ => {
                self.buffer.unpack(file);
                Ok(())
            }
        }
    }

    /// Puts the beginning of an element, which has `one` bytes in external32, where it belongs: the
    /// file ended inside of it.
    fn take_rest(&self, file: &[u8], whole: u64, one: u64) -> Result<(), ErrorKind> {
        if file.is_empty() {
            return Ok(());
        }
        let mut padded = file.to_vec();
        padded.resize(one as usize, 0);
        let (low, high) = (self.datatype.true_lb(), self.datatype.true_ub());
        let mut memory = vec![0; (high - low) as usize];
        self.datatype
            .unpack_external(&padded, 1, &mut memory, -low)
            .map_err(|error| external("cannot read", &error))?;
        // SAFETY: the vector holds every byte that one element names, and outlives the buffer.
        let element = unsafe {
            let origin = memory.as_mut_ptr().wrapping_offset(-low as isize);
            Buffer::new(origin, 1, &self.datatype)
        }?;
        let mut native = vec![0; self.datatype.size() as usize];
        element.pack_into(&mut native);
        let begin = whole * self.datatype.size();
        let some = self.native_part(file.len() as u64, one);
        let part = self.buffer.part(begin..begin + some);
        part.unpack(&native[..some as usize]);
        Ok(())
    }

    /// The memory from the lowest to the highest byte of the elements, and where in it the address
    /// points.
    #[allow(clippy::mut_from_ref)] // The promise of the maker is for the memory, not for this.
    fn span(&self) -> (&mut [u8], i64) {
        let last = (self.count as i64 - 1).max(0) * self.datatype.extent();
        let low = self.datatype.true_lb() + last.min(0);
        let high = self.datatype.true_ub() + last.max(0);
        if self.buffer.bytes() == 0 {
            return (&mut [], 0);
        }
        // SAFETY: every byte that the type names is valid by the maker's promise, and no other one
        // is touched.
        let memory = unsafe {
            std::slice::from_raw_parts_mut(
                self.address.wrapping_offset(low as isize),
                (high - low) as usize,
            )
        };
        (memory, -low)
    }
}

#[cold]
fn external(action: &'static str, error: &ExternalError) -> ErrorKind {
    Box::new(fault(FileFault::Conversion, action, error.to_string())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_in_the_file_have_the_lengths_of_the_file() {
        let long = Datatype::named(Basic::Long);
        let vector = Datatype::vector(3, 2, 4, &long).unwrap();
        let there = Representation::External32.in_file(&vector).unwrap();
        assert_eq!((vector.size(), vector.extent()), (48, 80));
        assert_eq!((there.size(), there.extent()), (24, 40));
        let same = Representation::Native.in_file(&vector).unwrap();
        assert_eq!(same, vector);
    }
}
