//! The library as a C program sees it: functions by their names.

use std::ffi::{CString, c_int, c_void};

/// Arguments of a function at most; MPI_Rget_accumulate has 14.
pub const ARGUMENTS_MAX: usize = 16;

type Any = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

/// The library that cargo has built together with this test.
pub struct Library(*mut c_void);

impl Library {
    pub fn open() -> Library {
        let test = std::env::current_exe().expect("a running test has a file");
        let path = test
            .parent()
            .expect("it lies in target/*/deps")
            .join("libmpi_abi.so");
        let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: the path ends with zero; the library's initialisers are its own.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be opened");
        Library(handle)
    }

    /// Calls a function. All parameters of MPI are integers and pointers, so each is a word, and a
    /// function that has fewer ignores the rest.
    pub fn call(&self, name: &str, arguments: &[usize]) -> c_int {
        let symbol = CString::new(name).unwrap();
        // SAFETY: the handle is that of an open library, and the name ends with zero.
        let address = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        assert!(!address.is_null(), "there is no {name}");
        // SAFETY: on this machine's C ABI words are passed alike, and the caller cleans up.
        let function = unsafe { std::mem::transmute::<*mut c_void, Any>(address) };
        let mut all = [0; ARGUMENTS_MAX];
        all[..arguments.len()].copy_from_slice(arguments);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = all;
        // SAFETY: bad arguments are what is tried; addresses are null, constants or memory.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
    }
}
