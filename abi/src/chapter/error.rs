//! Error classes, codes and texts (MPI 5.0 §9.4, §9.5).
//!
//! A predefined class is its own code and has a text here. Programs can add classes, codes and
//! texts; their numbers begin above MPI_ERR_LASTCODE. The detailed text of a failure is printed when
//! the error is fatal; that of a thread's last failure is kept (`last_failure`).

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard};

use crate::argument::{Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::last_failure;

/// What the program has added, by number.
static ADDED: Mutex<BTreeMap<i32, Added>> = Mutex::new(BTreeMap::new());

/// A class or code of the program.
struct Added {
    /// The class of a code; a class has none.
    class: Option<i32>,
    text: Vec<u8>,
}

fn added() -> MutexGuard<'static, BTreeMap<i32, Added>> {
    ADDED
        .lock()
        .expect("nothing panics while it holds this lock")
}

/// The class that a code belongs to; none if there is no such code.
pub fn class_of(code: i32) -> Option<i32> {
    if is_predefined(code) {
        return Some(code);
    }
    added().get(&code).map(|added| added.class.unwrap_or(code))
}

/// The highest code in use, which is the attribute MPI_LASTUSEDCODE.
pub fn last_used_code() -> i32 {
    added()
        .last_key_value()
        .map_or(MPI_ERR_LASTCODE, |(code, _)| *code)
}

fn is_predefined(code: i32) -> bool {
    CLASS_NAMES.iter().any(|(value, _)| *value == code)
}

fn no_such(argument: &str, code: i32) -> Failure {
    let text = format!(
        "{argument} is {code}, which is no error code; MPI_LASTUSEDCODE is {}",
        last_used_code()
    );
    Failure::new(MPI_ERR_ARG, text)
}

/// MPI_Error_class.
pub fn error_class(_call: &Call, errorcode: i32, errorclass: Out<i32>) -> Result<(), Failure> {
    errorclass.set(class_of(errorcode).ok_or_else(|| no_such("errorcode", errorcode))?);
    Ok(())
}

/// MPI_Error_string.
pub fn error_string(
    _call: &Call,
    errorcode: i32,
    string: TextOut,
    resultlen: Out<i32>,
) -> Result<(), Failure> {
    let length = match predefined_text(errorcode) {
        Some(text) => string.set(match last_failure::text_of(errorcode) {
            Some(details) => format!("{}: {details}", class_name(errorcode)),
            None => format!("{}: {text}", class_name(errorcode)),
        }),
        None => {
            let text = added().get(&errorcode).map(|added| added.text.clone());
            string.set(text.ok_or_else(|| no_such("errorcode", errorcode))?)
        }
    };
    resultlen.set(length);
    Ok(())
}

/// MPI_Add_error_class.
pub fn add_error_class(_call: &Call, errorclass: Out<i32>) -> Result<(), Failure> {
    errorclass.set(add(None)?);
    Ok(())
}

/// MPI_Add_error_code.
pub fn add_error_code(_call: &Call, errorclass: i32, errorcode: Out<i32>) -> Result<(), Failure> {
    if class_of(errorclass) != Some(errorclass) {
        let text = format!(
            "errorclass is {errorclass}, which is no error class; MPI_Add_error_class makes one"
        );
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    errorcode.set(add(Some(errorclass))?);
    Ok(())
}

fn add(class: Option<i32>) -> Result<i32, Failure> {
    let code = last_used_code().checked_add(1);
    let code =
        code.ok_or_else(|| Failure::new(MPI_ERR_OTHER, "all numbers for error codes are in use"))?;
    let text = Vec::new();
    added().insert(code, Added { class, text });
    Ok(code)
}

/// MPI_Add_error_string.
pub fn add_error_string(_call: &Call, errorcode: i32, string: &CStr) -> Result<(), Failure> {
    let length = string.count_bytes();
    if length >= MPI_MAX_ERROR_STRING as usize {
        let text = format!(
            "string has {length} characters; at most {} are allowed",
            MPI_MAX_ERROR_STRING - 1
        );
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    set_text(errorcode, string.to_bytes())
}

/// MPI_Remove_error_string.
pub fn remove_error_string(_call: &Call, errorcode: i32) -> Result<(), Failure> {
    set_text(errorcode, b"")
}

fn set_text(errorcode: i32, text: &[u8]) -> Result<(), Failure> {
    own("errorcode", errorcode)?;
    let mut added = added();
    let code = added.get_mut(&errorcode);
    let code = code.ok_or_else(|| {
        Failure::new(
            MPI_ERR_ARG,
            format!("errorcode is {errorcode}, which is no error code"),
        )
    })?;
    code.text = text.to_vec();
    Ok(())
}

/// MPI_Remove_error_class: a class of the program that has no codes.
pub fn remove_error_class(_call: &Call, errorclass: i32) -> Result<(), Failure> {
    own("errorclass", errorclass)?;
    let mut added = added();
    if added
        .get(&errorclass)
        .is_none_or(|added| added.class.is_some())
    {
        let text = format!("errorclass is {errorclass}, which is no error class");
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    if let Some((code, _)) = added
        .iter()
        .find(|(_, added)| added.class == Some(errorclass))
    {
        let text =
            format!("error class {errorclass} has codes, {code} among them; remove them first");
        return Err(Failure::new(MPI_ERR_OTHER, text));
    }
    check_without_text(&added[&errorclass], "class", errorclass)?;
    added.remove(&errorclass);
    Ok(())
}

/// MPI_Remove_error_code.
pub fn remove_error_code(_call: &Call, errorcode: i32) -> Result<(), Failure> {
    own("errorcode", errorcode)?;
    let mut added = added();
    if added
        .get(&errorcode)
        .is_none_or(|added| added.class.is_none())
    {
        let text =
            format!("errorcode is {errorcode}, which is no error code of MPI_Add_error_code");
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    check_without_text(&added[&errorcode], "code", errorcode)?;
    added.remove(&errorcode);
    Ok(())
}

/// What still has a text cannot be removed.
fn check_without_text(added: &Added, what: &str, number: i32) -> Result<(), Failure> {
    if added.text.is_empty() {
        return Ok(());
    }
    let text = format!(
        "error {what} {number} has a text; remove that first, with MPI_Remove_error_string"
    );
    Err(Failure::new(MPI_ERR_OTHER, text))
}

/// Refuses what the standard defines.
fn own(argument: &str, code: i32) -> Result<(), Failure> {
    match is_predefined(code) {
        true => {
            let text = format!(
                "{argument} is {}, which is predefined and cannot change",
                class_name(code)
            );
            Err(Failure::new(MPI_ERR_ARG, text))
        }
        false => Ok(()),
    }
}

/// What a predefined class means, for people.
fn predefined_text(class: i32) -> Option<&'static str> {
    Some(match class {
        MPI_SUCCESS => "no error",
        MPI_ERR_BUFFER => "the buffer address is not valid",
        MPI_ERR_COUNT => "the count is not valid",
        MPI_ERR_TYPE => "the datatype is not valid, or not committed",
        MPI_ERR_TAG => "the tag is not valid",
        MPI_ERR_COMM => "the communicator is not valid",
        MPI_ERR_RANK => "the rank is not one of the communicator or group",
        MPI_ERR_REQUEST => "the request is not valid",
        MPI_ERR_ROOT => "the root is not a rank of the communicator, or not the same everywhere",
        MPI_ERR_GROUP => "the group is not valid",
        MPI_ERR_OP => "the operation is not valid, or not for this datatype",
        MPI_ERR_TOPOLOGY => "the communicator does not have such a topology",
        MPI_ERR_DIMS => "the dimensions are not valid",
        MPI_ERR_ARG => "an argument is not valid",
        MPI_ERR_UNKNOWN => "an error of an unknown kind",
        MPI_ERR_TRUNCATE => "the message was longer than the buffer and has been cut",
        MPI_ERR_OTHER => "an error that no other class describes",
        MPI_ERR_INTERN => "an error inside the library",
        MPI_ERR_PENDING => "the operation has neither failed nor completed",
        MPI_ERR_IN_STATUS => "the errors are in the statuses",
        MPI_ERR_ACCESS => "permission to use the file is denied",
        MPI_ERR_AMODE => "the access mode of the file is not valid",
        MPI_ERR_ASSERT => "the assertion is not valid",
        MPI_ERR_BAD_FILE => "the file name is not valid",
        MPI_ERR_BASE => "the base address is not valid",
        MPI_ERR_CONVERSION => "data could not be converted",
        MPI_ERR_DISP => "the displacement is not valid",
        MPI_ERR_DUP_DATAREP => "a data representation of this name is registered already",
        MPI_ERR_FILE_EXISTS => "the file exists",
        MPI_ERR_FILE_IN_USE => "the file is open",
        MPI_ERR_FILE => "the file handle is not valid",
        MPI_ERR_INFO_KEY => "the info key is empty or too long",
        MPI_ERR_INFO_NOKEY => "the info object does not have the key",
        MPI_ERR_INFO_VALUE => "the info value is too long",
        MPI_ERR_INFO => "the info object is not valid",
        MPI_ERR_IO => "input or output failed",
        MPI_ERR_KEYVAL => "the attribute key is not valid",
        MPI_ERR_LOCKTYPE => "the type of lock is not valid",
        MPI_ERR_NAME => "the service name is not published",
        MPI_ERR_NO_MEM => "memory could not be allocated",
        MPI_ERR_NOT_SAME => "an argument is not the same on all processes",
        MPI_ERR_NO_SPACE => "there is no space left for the file",
        MPI_ERR_NO_SUCH_FILE => "the file does not exist",
        MPI_ERR_PORT => "the port name is not valid",
        MPI_ERR_QUOTA => "the quota is exceeded",
        MPI_ERR_READ_ONLY => "the file or file system is read-only",
        MPI_ERR_RMA_ATTACH => "the memory cannot be attached to the window",
        MPI_ERR_RMA_CONFLICT => "accesses to the window conflict",
        MPI_ERR_RMA_RANGE => "the target memory is not part of the window",
        MPI_ERR_RMA_SHARED => "the memory cannot be shared",
        MPI_ERR_RMA_SYNC => "calls of one-sided communication come in the wrong order",
        MPI_ERR_SERVICE => "the name is not published and cannot be withdrawn",
        MPI_ERR_SIZE => "the size is not valid",
        MPI_ERR_SPAWN => "processes could not be started",
        MPI_ERR_UNSUPPORTED_DATAREP => "the data representation is not supported",
        MPI_ERR_UNSUPPORTED_OPERATION => "the operation is not supported",
        MPI_ERR_WIN => "the window is not valid",
        MPI_ERR_RMA_FLAVOR => "the flavor of the window does not allow the call",
        MPI_ERR_PROC_ABORTED => "a process that takes part has ended",
        MPI_ERR_VALUE_TOO_LARGE => "a value does not fit the variable for it",
        MPI_ERR_SESSION => "the session is not valid",
        MPI_ERR_ERRHANDLER => "the error handler is not valid",
        MPI_ERR_ABI => "the ABI or the facts about Fortran do not allow the call",
        MPI_T_ERR_CANNOT_INIT => "the tool information interface cannot be initialised",
        MPI_T_ERR_NOT_ACCESSIBLE => "the tool information interface is not accessible",
        MPI_T_ERR_NOT_INITIALIZED => "the tool information interface is not initialised",
        MPI_T_ERR_NOT_SUPPORTED => "the tool information interface does not support this",
        MPI_T_ERR_MEMORY => "there is no memory left",
        MPI_T_ERR_INVALID => "an argument is not valid",
        MPI_T_ERR_INVALID_INDEX => "the index is not valid",
        MPI_T_ERR_INVALID_ITEM => "the item index is out of range",
        MPI_T_ERR_INVALID_SESSION => "the session is not valid",
        MPI_T_ERR_INVALID_HANDLE => "the handle is not valid",
        MPI_T_ERR_INVALID_NAME => "there is nothing of this name",
        MPI_T_ERR_OUT_OF_HANDLES => "no more handles are available",
        MPI_T_ERR_OUT_OF_SESSIONS => "no more sessions are available",
        MPI_T_ERR_CVAR_SET_NOT_NOW => "the variable cannot be set at this moment",
        MPI_T_ERR_CVAR_SET_NEVER => "the variable cannot be set",
        MPI_T_ERR_PVAR_NO_WRITE => "the variable cannot be written or reset",
        MPI_T_ERR_PVAR_NO_STARTSTOP => "the variable cannot be started or stopped",
        MPI_T_ERR_PVAR_NO_ATOMIC => "the variable cannot be read and written at once",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_text_that_fits() {
        for (class, name) in CLASS_NAMES {
            let text = predefined_text(*class).unwrap_or_else(|| panic!("{name} has no text"));
            assert!(name.len() + 2 + text.len() < MPI_MAX_ERROR_STRING as usize);
        }
    }

    #[test]
    fn numbers_go_up_and_come_back() {
        let class = add(None).unwrap();
        assert!(class > MPI_ERR_LASTCODE);
        let code = add(Some(class)).unwrap();
        assert_eq!(
            (class_of(class), class_of(code)),
            (Some(class), Some(class))
        );
        assert_eq!(last_used_code(), code);
        let call = Call::tool("MPI_Remove_error_class");
        assert_eq!(
            remove_error_class(&call, class).unwrap_err().code(),
            MPI_ERR_OTHER
        );
        remove_error_code(&call, code).unwrap();
        remove_error_class(&call, class).unwrap();
        assert_eq!(class_of(class), None);
        assert_eq!(last_used_code(), MPI_ERR_LASTCODE);
        assert_eq!(
            remove_error_code(&call, MPI_ERR_TAG).unwrap_err().code(),
            MPI_ERR_ARG
        );
    }
}
