//! Privileges of a process that its caller does not have, and what the environment may name then.
//!
//! The kernel sets AT_SECURE for a program that is setuid, setgid or has file capabilities, such as
//! the CAP_NET_RAW that `oxmpi setup-net` suggests. The environment is still the caller's: a
//! library or a file that it names would be loaded or written with privileges that the caller
//! lacks.

use std::ffi::OsString;

/// A variable names a file or code, and the process is privileged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable}={} is not obeyed: this program has privileges that its caller does not have \
     (setuid, setgid or file capabilities, as getcap shows), and then no variable may name a \
     file, a library or a program; unset {variable}, or run a copy of the program without \
     privileges",
    value.to_string_lossy()
)]
pub struct Untrusted {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: OsString,
}

/// Whether this process has privileges that its caller does not have.
pub fn is_privileged() -> bool {
    // SAFETY: the call takes a number and reads what the kernel gave this process at its start.
    #[allow(unsafe_code)]
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
    secure != 0
}

/// The value of a variable that names a file, a folder, a library or a program; an empty value
/// counts as none. In a privileged process a variable that is set is an error.
pub fn variable(name: &'static str) -> Result<Option<OsString>, Untrusted> {
    judge(name, std::env::var_os(name), is_privileged())
}

/// Where programs without a folder in their names are looked for: PATH, but in a privileged process
/// only what the system prescribes.
pub fn search_path() -> OsString {
    match std::env::var_os("PATH") {
        Some(path) if !is_privileged() => path,
        _ => OsString::from(SYSTEM_PATH),
    }
}

/// What execvp(3) takes without PATH.
const SYSTEM_PATH: &str = "/bin:/usr/bin";

fn judge(
    variable: &'static str,
    value: Option<OsString>,
    privileged: bool,
) -> Result<Option<OsString>, Untrusted> {
    match value.filter(|value| !value.is_empty()) {
        Some(value) if privileged => Err(Untrusted { variable, value }),
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_privileged_process_obeys_no_name() {
        let named = || Some(OsString::from("/tmp/evil.so"));
        assert_eq!(judge("OXMPI_LIBPMIX", named(), false), Ok(named()));
        assert_eq!(judge("OXMPI_LIBPMIX", None, true), Ok(None));
        assert_eq!(judge("OXMPI_LIBPMIX", Some("".into()), true), Ok(None));
        let error = judge("OXMPI_LIBPMIX", named(), true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OXMPI_LIBPMIX=/tmp/evil.so is not obeyed: this program has privileges that its caller \
             does not have (setuid, setgid or file capabilities, as getcap shows), and then no \
             variable may name a file, a library or a program; unset OXMPI_LIBPMIX, or run a copy \
             of the program without privileges"
        );
    }

    #[test]
    fn a_test_has_no_privileges_of_its_own() {
        assert!(!is_privileged(), "root's children are not privileged");
        assert_eq!(search_path(), std::env::var_os("PATH").unwrap());
    }
}
