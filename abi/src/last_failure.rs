//! What the last failure of a thread said.
//!
//! An error code is one of a few classes. A program whose error handlers let calls return asks
//! MPI_Error_string for the text of the code it was given, and gets the sentence with the values.

use std::cell::RefCell;

use crate::failure::Failure;

thread_local! {
    /// Its code, and what it said.
    static LAST: RefCell<Option<(i32, String)>> = const { RefCell::new(None) };
}

/// Keeps what a failure of a function says, whose name the caller writes as `spoken`.
pub fn keep(failure: &Failure, name: &str, spoken: &str) {
    let text = match failure.text().strip_prefix(name) {
        // It begins with the name; that of a large-count form goes on behind it.
        Some(rest) if rest.starts_with([' ', ':']) => format!("{spoken}{rest}"),
        _ => format!("{spoken}: {}", failure.text()),
    };
    LAST.set(Some((failure.code(), text)));
}

/// What the last failure of this thread said, if it had this code.
pub fn text_of(code: i32) -> Option<String> {
    LAST.with_borrow(|last| match last {
        Some((last, text)) if *last == code => Some(text.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_said_once_and_as_the_caller_writes_it() {
        let failure = Failure::new(51, "MPI_Comm_spawn is missing");
        keep(&failure, "MPI_Comm_spawn", "MPI_COMM_SPAWN");
        assert_eq!(text_of(51).as_deref(), Some("MPI_COMM_SPAWN is missing"));
    }

    #[test]
    fn the_last_text_of_a_code_is_kept() {
        keep(&Failure::new(6, "rank 9 of 4"), "MPI_Send", "MPI_Send");
        assert_eq!(text_of(6).as_deref(), Some("MPI_Send: rank 9 of 4"));
        assert_eq!(text_of(7), None);
        std::thread::spawn(|| assert_eq!(text_of(6), None))
            .join()
            .unwrap();
    }
}
