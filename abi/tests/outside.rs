//! Calls before initialisation: what is allowed works, what is not ends the process with a text
//! that says what to do.
//!
//! A fatal error ends the process, so the test starts its own binary again with the name of the
//! case.

use std::ffi::{CStr, c_char, c_int};
use std::process::Command;
use std::ptr::{null, null_mut};

use mpi_abi::constant::*;
use mpi_abi::generated::*;
use mpi_abi::handle::Handle;
use mpi_abi::status::Status;

const CASE: &str = "OXMPI_ABI_TEST_CASE";

/// Runs a case in a process of its own: its exit status and what it printed.
fn fails(case: &str) -> (i32, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_case", "--nocapture"])
        .env(CASE, case)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn a_case() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    // SAFETY: every pointer is null on purpose or points to a local variable.
    let code = unsafe {
        match case.as_str() {
            "send" => PMPI_Send(null(), 0, MPI_INT, 0, 0, MPI_COMM_WORLD),
            "null result" => PMPI_Error_class(MPI_ERR_TAG, null_mut()),
            "window" => PMPI_Win_fence(0, MPI_WIN_NULL),
            other => panic!("no case {other}"),
        }
    };
    // Errors are fatal, so this is reached only if the library has let the call return.
    println!("returned {code}");
}

#[test]
fn a_call_that_needs_initialisation_ends_the_process() {
    let (status, text) = fails("send");
    assert_eq!(status, MPI_ERR_OTHER);
    assert!(
        text.contains("MPI_Send failed with MPI_ERR_OTHER: it was called before MPI_Init"),
        "{text}"
    );
    assert!(text.contains("MPI_ERRORS_ARE_FATAL"), "{text}");
    let (status, text) = fails("window");
    assert_eq!(status, MPI_ERR_OTHER);
    assert!(text.contains("MPI_Win_fence"), "{text}");
}

#[test]
fn a_null_result_is_an_error_of_the_argument() {
    let (status, text) = fails("null result");
    assert_eq!(status, MPI_ERR_ARG);
    assert!(
        text.contains("MPI_Error_class failed with MPI_ERR_ARG: errorclass is a null pointer"),
        "{text}"
    );
}

#[test]
fn versions_texts_and_statuses_need_no_initialisation() {
    let (mut major, mut minor, mut length) = (0, 0, 0);
    let mut text = [0 as c_char; MPI_MAX_LIBRARY_VERSION_STRING as usize];
    // SAFETY: every pointer is to a local variable of the size that the standard demands.
    unsafe {
        assert_eq!(PMPI_Get_version(&mut major, &mut minor), MPI_SUCCESS);
        assert_eq!((major, minor), (5, 0));
        assert_eq!(PMPI_Abi_get_version(&mut major, &mut minor), MPI_SUCCESS);
        assert_eq!((major, minor), (1, 0));
        assert_eq!(
            PMPI_Get_library_version(text.as_mut_ptr(), &mut length),
            MPI_SUCCESS
        );
        let version = CStr::from_ptr(text.as_ptr()).to_str().unwrap();
        assert!(
            version.starts_with("OxMPI ") && version.len() == length as usize,
            "{version}"
        );
        assert_eq!(
            PMPI_Error_string(MPI_ERR_TRUNCATE, text.as_mut_ptr(), &mut length),
            MPI_SUCCESS
        );
        let said = CStr::from_ptr(text.as_ptr()).to_str().unwrap();
        assert_eq!(
            said,
            "MPI_ERR_TRUNCATE: the message was longer than the buffer and has been cut"
        );
        let mut status = std::mem::zeroed::<Status>();
        assert_eq!(PMPI_Status_set_source(&mut status, 4), MPI_SUCCESS);
        assert_eq!(PMPI_Status_get_source(&status, &mut major), MPI_SUCCESS);
        assert_eq!(major, 4);
        assert!(PMPI_Wtime() <= PMPI_Wtime());
    }
}

#[test]
fn an_error_handler_has_one_handle_while_it_has_references() {
    unsafe extern "C" fn ignore(_session: *mut Handle, _code: *mut c_int) {}
    let mut made = MPI_ERRHANDLER_NULL;
    // SAFETY: the function has the parameters that the library passes, and the pointers are to
    // local variables.
    unsafe {
        assert_eq!(
            PMPI_Session_create_errhandler(ignore as *const _, &mut made),
            MPI_SUCCESS
        );
        assert!(made != MPI_ERRHANDLER_NULL);
        assert_eq!(PMPI_Errhandler_fromint(PMPI_Errhandler_toint(made)), made);
        assert_eq!(PMPI_Errhandler_free(&mut made), MPI_SUCCESS);
        assert_eq!(made, MPI_ERRHANDLER_NULL);
        let mut predefined = MPI_ERRORS_RETURN;
        assert_eq!(PMPI_Errhandler_free(&mut predefined), MPI_SUCCESS);
        assert_eq!(predefined, MPI_ERRHANDLER_NULL);
    }
}

#[test]
fn the_tool_interface_says_that_there_is_nothing() {
    let mut number = 7;
    // SAFETY: the pointers are null on purpose or to a local variable.
    unsafe {
        assert_eq!(PMPI_T_cvar_get_num(&mut number), MPI_T_ERR_NOT_INITIALIZED);
        assert_eq!(
            PMPI_T_init_thread(MPI_THREAD_SINGLE, &mut number),
            MPI_SUCCESS
        );
        assert_eq!(PMPI_T_cvar_get_num(&mut number), MPI_SUCCESS);
        assert_eq!(number, 0);
        assert_eq!(PMPI_T_pvar_get_num(null_mut()), MPI_T_ERR_INVALID);
        assert_eq!(
            PMPI_T_cvar_handle_free(null_mut()),
            MPI_T_ERR_INVALID_HANDLE
        );
        assert_eq!(PMPI_T_finalize(), MPI_SUCCESS);
        assert_eq!(PMPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    }
}
