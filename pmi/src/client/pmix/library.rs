//! libpmix, loaded when a PMIx launcher has started this process.
//!
//! The declarations follow the C interface of the PMIx standard since version 3 (in version 2 a
//! value is shorter); `tests/served.rs` compares them with the headers of an installed libpmix, and
//! 4.2 and 5.0 have been run. Loading at run time keeps OxMPI free of a dependency that only guests
//! of PMIx launchers have. The library stays loaded: it has threads of its own.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::error::PmiError;

/// Bytes of a namespace's name, its closing zero counted (PMIX_MAX_NSLEN + 1).
const NAMESPACE_BYTES: usize = 256;
/// Bytes of a key, its closing zero counted (PMIX_MAX_KEYLEN + 1).
const KEY_BYTES: usize = 512;

/// The first version whose values have the layout declared here.
const MAJOR_MIN: u32 = 3;

/// All ranks of a namespace, for what belongs to the job (PMIX_RANK_WILDCARD).
pub(super) const EVERY_RANK: u32 = u32::MAX - 1;
/// Values go to all ranks, of this host and of others (PMIX_GLOBAL).
const SCOPE_GLOBAL: u8 = 3;

/// A process: its job's namespace and its rank there (pmix_proc_t).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Process {
    namespace: [c_char; NAMESPACE_BYTES],
    pub(super) rank: u32,
}

/// A value with its type (pmix_value_t).
#[repr(C)]
struct Value {
    kind: u16,
    data: Data,
}

#[repr(C)]
union Data {
    flag: bool,
    string: *mut c_char,
    uint16: u16,
    uint32: u32,
    uint64: u64,
    /// The longest member of the C union, an environment variable with two pointers and a
    /// character.
    longest: [u64; 3],
}

/// A named value (pmix_info_t).
#[repr(C)]
struct Info {
    key: [c_char; KEY_BYTES],
    flags: u32,
    value: Value,
}

const _: () =
    assert!(size_of::<Process>() == 260 && size_of::<Value>() == 32 && size_of::<Info>() == 552);

/// Types of values (PMIX_BOOL and so on).
mod kind {
    pub(super) const BOOL: u16 = 1;
    pub(super) const STRING: u16 = 3;
    pub(super) const SIZE: u16 = 4;
    pub(super) const INT: u16 = 6;
    pub(super) const INT32: u16 = 9;
    pub(super) const UINT: u16 = 11;
    pub(super) const UINT16: u16 = 13;
    pub(super) const UINT32: u16 = 14;
    pub(super) const UINT64: u16 = 15;
    pub(super) const RANK: u16 = 40;
}

/// What a key holds, of the types that are asked for here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    Text(String),
    Number(u64),
    /// A type that nobody asked for; its number.
    Foreign(u16),
}

type Init = unsafe extern "C" fn(*mut Process, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(
    *const Process,
    *const c_char,
    *const Info,
    usize,
    *mut *mut Value,
) -> c_int;
type ResolveNodes = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> c_int;
type ResolvePeers =
    unsafe extern "C" fn(*const c_char, *const c_char, *mut *mut Process, *mut usize) -> c_int;
type Text = unsafe extern "C" fn() -> *const c_char;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of a loaded libpmix.
pub(super) struct Library {
    version: String,
    init: Init,
    finalize: Finalize,
    abort: Abort,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    resolve_nodes: ResolveNodes,
    resolve_peers: ResolvePeers,
    error_text: ErrorText,
}

/// A function's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(pub(super) c_int);

impl Library {
    /// Loads the first of `files` that can be; Err is what the loader said about the last, which is
    /// the system's.
    pub(super) fn load(files: &[String]) -> Result<Result<Library, PmiError>, String> {
        let mut reason = String::new();
        for file in files {
            let Ok(name) = CString::new(file.as_str()) else {
                continue;
            };
            // SAFETY: the name is a C string. Loading runs the library's constructors, which is
            // what loading libpmix means. Global, because plugins of libpmix look up its functions
            // without naming it.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !handle.is_null() {
                return Ok(Library::of(handle, file));
            }
            // SAFETY: dlerror gives null or a C string that stays until the next call, and this
            // thread makes none.
            reason = unsafe { text(libc::dlerror()) };
        }
        Err(reason)
    }

    fn of(handle: *mut c_void, file: &str) -> Result<Library, PmiError> {
        let symbol = |symbol: &'static CStr| {
            // SAFETY: the handle is that of a loaded library, the name a C string.
            let address = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
            match address.is_null() {
                false => Ok(address),
                true => Err(PmiError::PmixSymbol {
                    library: file.to_owned(),
                    symbol: symbol.to_str().unwrap_or_default(),
                }),
            }
        };
        // SAFETY: the address is that of the function of this name, which has this signature in all
        // versions.
        let version = unsafe {
            let version = std::mem::transmute::<*mut c_void, Text>(symbol(c"PMIx_Get_version")?);
            version_of(&text(version()))
        };
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major < MAJOR_MIN) {
            return Err(PmiError::PmixVersion {
                library: file.to_owned(),
                version,
            });
        }
        // SAFETY: each address is that of the function of this name, which has this signature since
        // MAJOR_MIN.
        unsafe {
            Ok(Library {
                version,
                init: std::mem::transmute::<*mut c_void, Init>(symbol(c"PMIx_Init")?),
                finalize: std::mem::transmute::<*mut c_void, Finalize>(symbol(c"PMIx_Finalize")?),
                abort: std::mem::transmute::<*mut c_void, Abort>(symbol(c"PMIx_Abort")?),
                put: std::mem::transmute::<*mut c_void, Put>(symbol(c"PMIx_Put")?),
                commit: std::mem::transmute::<*mut c_void, Commit>(symbol(c"PMIx_Commit")?),
                fence: std::mem::transmute::<*mut c_void, Fence>(symbol(c"PMIx_Fence")?),
                get: std::mem::transmute::<*mut c_void, Get>(symbol(c"PMIx_Get")?),
                resolve_nodes: std::mem::transmute::<*mut c_void, ResolveNodes>(symbol(
                    c"PMIx_Resolve_nodes",
                )?),
                resolve_peers: std::mem::transmute::<*mut c_void, ResolvePeers>(symbol(
                    c"PMIx_Resolve_peers",
                )?),
                error_text: std::mem::transmute::<*mut c_void, ErrorText>(symbol(
                    c"PMIx_Error_string",
                )?),
            })
        }
    }

    /// The version, "5.0.1".
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Connects to the launcher's server on this host; the answer is who this process is.
    pub(super) fn init(&self) -> Result<Process, Status> {
        let mut process = Process {
            namespace: [0; NAMESPACE_BYTES],
            rank: 0,
        };
        // SAFETY: the process is writable and lives through the call; no options are given.
        check(unsafe { (self.init)(&mut process, std::ptr::null(), 0) })?;
        Ok(process)
    }

    /// Offers a value to all ranks; [`Library::commit`] hands it to the server.
    pub(super) fn put(&self, key: &CStr, value: &CStr) -> Result<(), Status> {
        let mut value = Value {
            kind: kind::STRING,
            data: Data {
                string: value.as_ptr().cast_mut(),
            },
        };
        // SAFETY: both strings live through the call; the library copies the value and does not
        // write to it.
        check(unsafe { (self.put)(SCOPE_GLOBAL, key.as_ptr(), &mut value) })
    }

    /// Hands what was put to the server.
    pub(super) fn commit(&self) -> Result<(), Status> {
        // SAFETY: the function takes nothing.
        check(unsafe { (self.commit)() })
    }

    /// Waits for all ranks of the job, and brings what they committed to every host.
    pub(super) fn fence(&self) -> Result<(), Status> {
        let collect = option(c"pmix.collect");
        // SAFETY: no processes means all of the job; the option lives through the call.
        check(unsafe { (self.fence)(std::ptr::null(), 0, &collect, 1) })
    }

    /// What `process` has put, or the launcher has said about it. Unless `patient`, only what the
    /// own host knows already; else its server may ask others.
    pub(super) fn get(&self, process: &Process, key: &CStr, patient: bool) -> Result<Held, Status> {
        let immediate = option(c"pmix.immediate");
        let options = usize::from(!patient);
        let mut value = std::ptr::null_mut();
        // SAFETY: process, key and option live through the call; the library writes one pointer.
        check(unsafe { (self.get)(process, key.as_ptr(), &immediate, options, &mut value) })?;
        if value.is_null() {
            return Err(Status(0));
        }
        // SAFETY: the library has made the value with malloc, its string too, and leaves both to
        // the caller; the type says which member is valid. A type that is not known here may own
        // more memory, which then stays.
        unsafe {
            let held = match ((*value).kind, &(*value).data) {
                (kind::STRING, data) => Held::Text(text(data.string)),
                (kind::SIZE | kind::UINT64, data) => Held::Number(data.uint64),
                (kind::INT | kind::INT32 | kind::UINT | kind::UINT32 | kind::RANK, data) => {
                    Held::Number(u64::from(data.uint32))
                }
                (kind::UINT16, data) => Held::Number(u64::from(data.uint16)),
                (other, _) => Held::Foreign(other),
            };
            if (*value).kind == kind::STRING {
                libc::free((*value).data.string.cast());
            }
            libc::free(value.cast());
            Ok(held)
        }
    }

    /// The names of the hosts on which the job of `process` has ranks.
    pub(super) fn nodes(&self, process: &Process) -> Result<Vec<String>, Status> {
        let mut list = std::ptr::null_mut();
        // SAFETY: the namespace is a C string; the library writes one pointer to a string that it
        // leaves to the caller.
        check(unsafe { (self.resolve_nodes)(process.namespace.as_ptr(), &mut list) })?;
        // SAFETY: null or a C string made with malloc.
        let names = unsafe {
            let names = text(list);
            libc::free(list.cast());
            names
        };
        Ok(names
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// The ranks of the job of `process` on one host.
    pub(super) fn peers(&self, process: &Process, node: &str) -> Result<Vec<u32>, Status> {
        let node = CString::new(node).map_err(|_| Status(0))?;
        let (mut processes, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: both names are C strings; the library writes one pointer and a length.
        check(unsafe {
            (self.resolve_peers)(
                node.as_ptr(),
                process.namespace.as_ptr(),
                &mut processes,
                &mut count,
            )
        })?;
        if processes.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the library has made an array of this length with malloc and leaves it to the
        // caller.
        unsafe {
            let ranks = std::slice::from_raw_parts(processes, count)
                .iter()
                .map(|process| process.rank)
                .collect();
            libc::free(processes.cast());
            Ok(ranks)
        }
    }

    /// Asks for the end of the job.
    pub(super) fn abort(&self, code: i32, text: &CStr) {
        // SAFETY: the text lives through the call; no processes means all of the job.
        unsafe { (self.abort)(code, text.as_ptr(), std::ptr::null(), 0) };
    }

    /// Leaves the server.
    pub(super) fn finalize(&self) -> Result<(), Status> {
        // SAFETY: no options are given.
        check(unsafe { (self.finalize)(std::ptr::null(), 0) })
    }

    /// The library's name for a status.
    pub(super) fn text_of(&self, status: Status) -> String {
        // SAFETY: the function gives a C string that stays for ever, for any number.
        unsafe { text((self.error_text)(status.0)) }
    }
}

impl Process {
    /// Another rank of the same job.
    pub(super) fn with_rank(&self, rank: u32) -> Process {
        Process { rank, ..*self }
    }
}

/// A flag that is set.
fn option(name: &CStr) -> Info {
    let mut key = [0; KEY_BYTES];
    for (to, from) in key.iter_mut().zip(name.to_bytes()) {
        *to = *from as c_char;
    }
    let mut value = Value {
        kind: kind::BOOL,
        data: Data { longest: [0; 3] },
    };
    value.data.flag = true;
    Info {
        key,
        flags: 0,
        value,
    }
}

fn check(status: c_int) -> Result<(), Status> {
    match status {
        0 => Ok(()),
        failure => Err(Status(failure)),
    }
}

/// The number in "OpenPMIx 4.2.2 (PMIx Standard: 4.2, ...)".
fn version_of(text: &str) -> String {
    text.split([' ', ','])
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .unwrap_or(text)
        .to_owned()
}

/// # Safety
/// The pointer is null or a C string.
unsafe fn text(pointer: *const c_char) -> String {
    match pointer.is_null() {
        true => String::new(),
        // SAFETY: as the caller promises.
        false => unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(
            version_of("OpenPMIx 4.2.2 (PMIx Standard: 4.2, Stable ABI: 0.0)"),
            "4.2.2"
        );
        assert_eq!(version_of("OpenPMIx 5.0.1rc2, repo rev: v5"), "5.0.1rc2");
        assert_eq!(version_of("unknown"), "unknown");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let Err(reason) = Library::load(&[
            "/nowhere/libpmix.so.2".to_owned(),
            "libnot-there.so.9".to_owned(),
        ]) else {
            panic!("loaded");
        };
        assert!(reason.starts_with("libnot-there.so.9: "), "{reason}");
        let Ok(Err(error)) = Library::load(&["libc.so.6".to_owned()]) else {
            panic!("another library is not libpmix");
        };
        assert_eq!(
            error.to_string(),
            "libc.so.6 has no function PMIx_Get_version: is it libpmix of PMIx 3 or later?"
        );
    }
}
