//! Data representations of the program (MPI 5.0 §14.5.3): C functions that convert.

use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use oxmpi_core::{ErrorKind, FileError, FileFault};
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_files::{Conversion, register};

use crate::argument::Callback;
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::Type;

/// `MPI_Datarep_conversion_function`.
type IntFunction =
    unsafe extern "C" fn(*mut c_void, Handle, c_int, *mut c_void, i64, *mut c_void) -> c_int;
/// `MPI_Datarep_conversion_function_c`.
type LargeFunction =
    unsafe extern "C" fn(*mut c_void, Handle, i64, *mut c_void, i64, *mut c_void) -> c_int;
/// `MPI_Datarep_extent_function`.
type ExtentFunction = unsafe extern "C" fn(Handle, *mut i64, *mut c_void) -> c_int;

/// A conversion function of either form.
#[derive(Clone, Copy)]
enum Form {
    Int(IntFunction),
    Large(LargeFunction),
}

/// The three functions and what they are called with.
struct Functions {
    read: Option<Form>,
    write: Option<Form>,
    extent: ExtentFunction,
    extra_state: *mut c_void,
}

// SAFETY: the program's functions are called on threads of the program only, and its state is
// theirs.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// MPI_Register_datarep.
pub fn register_datarep(
    call: &Call,
    datarep: &CStr,
    read_conversion_fn: Callback,
    write_conversion_fn: Callback,
    dtype_file_extent_fn: Callback,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    let is_large = call.is_large();
    let form = |callback: Callback| {
        // SAFETY: the header declares the parameters with these types, and the constant
        // MPI_CONVERSION_FN_NULL is null.
        unsafe {
            match is_large {
                true => callback.function().map(Form::Large),
                false => callback.function().map(Form::Int),
            }
        }
    };
    // SAFETY: as above.
    let extent = unsafe { dtype_file_extent_fn.function() };
    let functions = Functions {
        read: form(read_conversion_fn),
        write: form(write_conversion_fn),
        extent: extent
            .ok_or_else(|| Failure::new(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer"))?,
        extra_state,
    };
    Ok(register(&datarep.to_string_lossy(), Arc::new(functions))?)
}

/// What a function of the program that fails becomes, whatever code it gives (MPI 5.0 §14.5.3).
#[cold]
fn failed(action: &'static str, code: i32) -> ErrorKind {
    Box::new(FileError {
        fault: FileFault::Conversion,
        action,
        path: "the file".into(),
        range: None,
        errno: 0,
        rank: None,
        detail: format!(
            "the program's function for its data representation returned the error code {code}"
        ),
    })
    .into()
}

/// Calls `body` with a handle of the datatype that lasts for the call.
fn with_handle(datatype: &Datatype, body: impl FnOnce(Handle) -> c_int) -> Result<(), i32> {
    let handle = Type::handle_of(datatype.clone()).map_err(|failure| failure.code())?;
    let code = body(handle);
    let is_lent = Type::table()
        .get(handle)
        .is_some_and(|object| !object.is_predefined());
    if is_lent {
        Type::table().remove(handle);
    }
    match code {
        MPI_SUCCESS => Ok(()),
        code => Err(code),
    }
}

impl Functions {
    fn convert(
        &self,
        action: &'static str,
        form: Option<Form>,
        user: *mut u8,
        datatype: &Datatype,
        count: u64,
        file: *mut u8,
    ) -> Result<(), ErrorKind> {
        let state = self.extra_state;
        with_handle(datatype, |handle| match form {
            None => MPI_SUCCESS,
            // SAFETY: the program has vouched for the function; the caller's addresses hold the
            // elements in both forms.
            Some(Form::Large(function)) => unsafe {
                function(user.cast(), handle, count as i64, file.cast(), 0, state)
            },
            Some(Form::Int(function)) => {
                let mut done = 0;
                while done < count {
                    let some = c_int::try_from(count - done).unwrap_or(c_int::MAX);
                    // The position says where in the user's buffer and the file's to go on.
                    // SAFETY: as above.
                    let code = unsafe {
                        function(user.cast(), handle, some, file.cast(), done as i64, state)
                    };
                    if code != MPI_SUCCESS {
                        return code;
                    }
                    done += some as u64;
                }
                MPI_SUCCESS
            }
        })
        .map_err(|code| failed(action, code))
    }
}

impl Conversion for Functions {
    fn extent(&self, datatype: &Datatype) -> Result<i64, ErrorKind> {
        let mut extent = 0;
        with_handle(datatype, |handle| {
            // SAFETY: the program has vouched for the function, and the result is there.
            unsafe { (self.extent)(handle, &mut extent, self.extra_state) }
        })
        .map_err(|code| ErrorKind::Callback { code })?;
        Ok(extent)
    }

    fn reads(&self) -> bool {
        self.read.is_some()
    }

    fn writes(&self) -> bool {
        self.write.is_some()
    }

    unsafe fn read(
        &self,
        user: *mut u8,
        datatype: &Datatype,
        count: u64,
        file: *const u8,
    ) -> Result<(), ErrorKind> {
        self.convert(
            "cannot read",
            self.read,
            user,
            datatype,
            count,
            file.cast_mut(),
        )
    }

    unsafe fn write(
        &self,
        user: *const u8,
        datatype: &Datatype,
        count: u64,
        file: *mut u8,
    ) -> Result<(), ErrorKind> {
        self.convert(
            "cannot write",
            self.write,
            user.cast_mut(),
            datatype,
            count,
            file,
        )
    }
}
