//! The checks of arguments, one method for each kind of parameter; what passes arrives as a type of
//! `argument` or an object.
//!
//! Which kind is checked how stands in abi/table/src/kind.rs. Only what can be told from the
//! argument alone is checked here: ranks, roots, tags and buffers are checked by the layer below,
//! which knows the communicator.

use std::ffi::{CStr, c_char, c_int};

use crate::argument::*;
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object, Pinned};
use crate::object::*;
use crate::status::Status;

/// An object from its table.
type Found<T> = Result<Pinned<'static, T>, Failure>;
/// An object that may be missing.
type FoundOrNull<T> = Result<Option<Pinned<'static, T>>, Failure>;

/// Look-ups, two for each kind of handle.
macro_rules! lookups {
    ($($find:ident $find_or_null:ident $object:ty;)*) => {
        impl Call {$(
            /// The object behind a handle; an argument of this name.
            #[inline]
            pub fn $find(&self, argument: &'static str, handle: Handle) -> Found<$object> {
                <$object>::table().get(handle).ok_or_else(|| no_object::<$object>(argument, handle))
            }

            /// The object behind a handle, or none for the null handle.
            #[inline]
            pub fn $find_or_null(&self, argument: &'static str, handle: Handle) -> FoundOrNull<$object> {
                if handle == <$object>::NULL {
                    return Ok(None);
                }
                self.$find(argument, handle).map(Some)
            }
        )*}
    };
}

lookups! {
    comm comm_or_null Communicator;
    group group_or_null Group;
    datatype datatype_or_null Type;
    op op_or_null Op;
    info info_or_null Info;
    errhandler errhandler_or_null Errhandler;
    message message_or_null Message;
    session session_or_null Session;
    win win_or_null Window;
    file file_or_null File;
}

impl Call {
    /// The datatype of a buffer. Where no element is touched, other libraries take
    /// MPI_DATATYPE_NULL, and programs rely on it; an arbitrary datatype stands in for it then.
    #[inline(always)]
    pub fn element(&self, argument: &'static str, handle: Handle, needless: bool) -> Found<Type> {
        match Type::table().get(handle) {
            Some(datatype) => Ok(datatype),
            None if needless && handle == MPI_DATATYPE_NULL => self.datatype(argument, MPI_INT),
            None => Err(no_object::<Type>(argument, handle)),
        }
    }
}

#[cold]
fn no_object<T: Object>(argument: &'static str, handle: Handle) -> Failure {
    let text = if handle == T::NULL {
        format!("{argument} is {handle}, but {} is needed", T::WHAT)
    } else {
        format!(
            "{argument} is {handle}, which is not {}: it was freed, or never was one",
            T::WHAT
        )
    };
    Failure::new(T::CLASS, text)
}

#[cold]
fn null(argument: &'static str) -> Failure {
    Failure::new(MPI_ERR_ARG, format!("{argument} is a null pointer"))
}

#[cold]
fn negative(class: i32, argument: &'static str, value: i64) -> Failure {
    Failure::new(
        class,
        format!("{argument} is {value}, and must not be negative"),
    )
}

/// Numbers.
impl Call {
    /// A count of elements.
    #[inline]
    pub fn count(&self, argument: &'static str, value: i64) -> Result<i64, Failure> {
        if value < 0 {
            return Err(negative(MPI_ERR_COUNT, argument, value));
        }
        Ok(value)
    }

    /// A size in bytes.
    pub fn size(&self, argument: &'static str, value: i64) -> Result<i64, Failure> {
        if value < 0 {
            return Err(negative(MPI_ERR_ARG, argument, value));
        }
        Ok(value)
    }

    /// The length of an array.
    #[inline]
    pub fn length(&self, argument: &'static str, value: c_int) -> Result<usize, Failure> {
        usize::try_from(value).map_err(|_| negative(MPI_ERR_ARG, argument, i64::from(value)))
    }

    /// A number of dimensions.
    pub fn dimensions(&self, argument: &'static str, value: c_int) -> Result<usize, Failure> {
        usize::try_from(value).map_err(|_| negative(MPI_ERR_DIMS, argument, i64::from(value)))
    }
}

/// Results and arrays. The pointers come from the program.
///
/// # Safety
/// Each method takes a pointer that is null or valid for what the standard says about the
/// parameter.
// What is borrowed is the memory of the program, not the name of the argument.
#[allow(clippy::missing_safety_doc, clippy::mut_from_ref)]
impl Call {
    /// Where a result goes.
    #[inline]
    pub unsafe fn out<T>(
        &self,
        argument: &'static str,
        address: *mut T,
    ) -> Result<Out<T>, Failure> {
        if address.is_null() {
            return Err(null(argument));
        }
        // SAFETY: the program vouches for the address, which is not null.
        Ok(unsafe { Out::new(address) })
    }

    /// A value to be read and written.
    #[inline]
    pub unsafe fn inout<T: Copy>(
        &self,
        argument: &'static str,
        address: *mut T,
    ) -> Result<InOut<T>, Failure> {
        if address.is_null() {
            return Err(null(argument));
        }
        // SAFETY: the program vouches for the address, which is not null.
        Ok(unsafe { InOut::new(address) })
    }

    /// Where a truth value goes.
    #[inline]
    pub unsafe fn flag_out(
        &self,
        argument: &'static str,
        address: *mut c_int,
    ) -> Result<FlagOut, Failure> {
        // SAFETY: passed on.
        unsafe { self.out(argument, address) }.map(FlagOut::new)
    }

    /// Where a count goes.
    pub unsafe fn count_out<W: Counted>(
        &self,
        argument: &'static str,
        address: *mut W,
    ) -> Result<CountOut, Failure> {
        // SAFETY: passed on.
        unsafe { self.out(argument, address) }.map(W::count_out)
    }

    /// A position in a packed message.
    pub unsafe fn position<W: Counted>(
        &self,
        argument: &'static str,
        address: *mut W,
    ) -> Result<Position, Failure> {
        // SAFETY: passed on.
        unsafe { self.inout(argument, address) }.map(W::position)
    }

    /// An array to be read.
    #[inline]
    pub unsafe fn slice<T>(
        &self,
        argument: &'static str,
        address: *const T,
        length: usize,
    ) -> Result<&'static [T], Failure> {
        if length == 0 {
            return Ok(&[]);
        }
        if address.is_null() {
            return Err(null(argument));
        }
        check_room(argument, length)?;
        // SAFETY: the program vouches for the array during the call, and chapters do not keep it.
        Ok(unsafe { std::slice::from_raw_parts(address, length) })
    }

    /// An array to be written.
    #[inline]
    pub unsafe fn slice_mut<T>(
        &self,
        argument: &'static str,
        address: *mut T,
        length: usize,
    ) -> Result<&'static mut [T], Failure> {
        if length == 0 {
            return Ok(&mut []);
        }
        if address.is_null() {
            return Err(null(argument));
        }
        check_room(argument, length)?;
        // SAFETY: the program vouches for the array during the call, and chapters do not keep it.
        Ok(unsafe { std::slice::from_raw_parts_mut(address, length) })
    }

    /// An array of integers in the form's width.
    pub unsafe fn integers<W: Counted>(
        &self,
        argument: &'static str,
        address: *const W,
        length: usize,
    ) -> Result<Integers, Failure> {
        if address.is_null() && length > 0 {
            return Err(null(argument));
        }
        check_room(argument, length)?;
        Ok(W::array(address, length))
    }

    /// An array of integers to be written.
    pub unsafe fn integers_out<W: Counted>(
        &self,
        argument: &'static str,
        address: *mut W,
        length: usize,
    ) -> Result<IntegersOut, Failure> {
        if address.is_null() && length > 0 {
            return Err(null(argument));
        }
        Ok(W::array_out(address, length))
    }

    /// An array of weights to be written; the program may not want them.
    pub unsafe fn weights_out(
        &self,
        argument: &'static str,
        address: *mut c_int,
        length: usize,
    ) -> Result<IntegersOut, Failure> {
        if [MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&(address as usize)) {
            return Ok(IntegersOut::absent());
        }
        // SAFETY: passed on.
        unsafe { self.integers_out(argument, address, length) }
    }

    /// An array of datatypes.
    pub unsafe fn datatypes(
        &self,
        argument: &'static str,
        address: *const Handle,
        length: usize,
    ) -> Result<Datatypes, Failure> {
        if address.is_null() && length > 0 {
            return Err(null(argument));
        }
        check_room(argument, length)?;
        // SAFETY: the program vouches for the array.
        Ok(unsafe { Datatypes::bounded(argument, address, length) })
    }

    /// A status to be read.
    pub unsafe fn status(
        &self,
        argument: &'static str,
        address: *const Status,
    ) -> Result<&'static Status, Failure> {
        // SAFETY: the program vouches for the status during the call, and chapters do not keep it.
        unsafe { address.as_ref() }.ok_or_else(|| null(argument))
    }

    /// A status to be changed.
    pub unsafe fn status_mut(
        &self,
        argument: &'static str,
        address: *mut Status,
    ) -> Result<&'static mut Status, Failure> {
        // SAFETY: the program vouches for the status during the call, and chapters do not keep it.
        unsafe { address.as_mut() }.ok_or_else(|| null(argument))
    }
}

/// Texts.
///
/// # Safety
/// Each method takes a pointer that is null or that of a text, or of as much room as said.
#[allow(clippy::missing_safety_doc)]
impl Call {
    /// A text.
    pub unsafe fn string(
        &self,
        argument: &'static str,
        address: *const c_char,
    ) -> Result<&'static CStr, Failure> {
        if address.is_null() {
            return Err(null(argument));
        }
        // SAFETY: the program vouches for a text that ends with zero, and chapters do not keep it.
        Ok(unsafe { CStr::from_ptr(address) })
    }

    /// A key of an info object.
    pub unsafe fn key(
        &self,
        argument: &'static str,
        address: *const c_char,
    ) -> Result<&'static CStr, Failure> {
        // SAFETY: passed on.
        let key = unsafe { self.string(argument, address) }
            .map_err(|e| Failure::new(MPI_ERR_INFO_KEY, e.text()))?;
        match key.count_bytes() {
            0 => Err(Failure::new(
                MPI_ERR_INFO_KEY,
                format!("{argument} is empty; an info key has at least one character"),
            )),
            length if length >= MPI_MAX_INFO_KEY as usize => {
                let text = format!(
                    "{argument} has {length} characters; at most {} are allowed",
                    MPI_MAX_INFO_KEY - 1
                );
                Err(Failure::new(MPI_ERR_INFO_KEY, text))
            }
            _ => Ok(key),
        }
    }

    /// A value of an info object.
    pub unsafe fn value(
        &self,
        argument: &'static str,
        address: *const c_char,
    ) -> Result<&'static CStr, Failure> {
        // SAFETY: passed on.
        let value = unsafe { self.string(argument, address) }
            .map_err(|e| Failure::new(MPI_ERR_INFO_VALUE, e.text()))?;
        let length = value.count_bytes();
        if length >= MPI_MAX_INFO_VAL as usize {
            let text = format!(
                "{argument} has {length} characters; at most {} are allowed",
                MPI_MAX_INFO_VAL - 1
            );
            return Err(Failure::new(MPI_ERR_INFO_VALUE, text));
        }
        Ok(value)
    }

    /// Where a text goes; the room includes the final zero.
    pub unsafe fn text_out(
        &self,
        argument: &'static str,
        address: *mut c_char,
        room: usize,
    ) -> Result<TextOut, Failure> {
        if address.is_null() && room > 0 {
            return Err(null(argument));
        }
        // SAFETY: the program vouches for the room.
        Ok(unsafe { TextOut::new(address, room) })
    }
}
