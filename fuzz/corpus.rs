//! The inputs in `fuzz/corpus`: a folder per target, small files that came from golden bytes or
//! from a crash that was mended. The tests of each crate try all of them, without a fuzzer.
#![allow(dead_code, reason = "a test includes it and uses its part")]

use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_folder
        .ancestors()
        .find(|folder| folder.join("fuzz/corpus.rs").exists());
    root.expect("the crate lies in the workspace")
        .join("fuzz/corpus")
        .join(target)
}

/// Tries a property on every input of a target, and says which one is bad.
pub fn each(target: &str, property: impl Fn(&[u8])) {
    let folder = folder(target);
    let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut tried = 0;
    for entry in listed {
        let path = entry.expect("a readable folder").path();
        let bytes = std::fs::read(&path).expect("a readable file");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| property(&bytes)));
        if let Err(panic) = outcome {
            eprintln!("the input is {}", path.display());
            std::panic::resume_unwind(panic);
        }
        tried += 1;
    }
    assert!(tried > 0, "{folder:?} has no file");
}

/// Writes an input, for the ignored tests that make the first ones.
pub fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = folder(target);
    std::fs::create_dir_all(&folder).expect("a folder that can be written");
    std::fs::write(folder.join(name), bytes).expect("a file that can be written");
}
