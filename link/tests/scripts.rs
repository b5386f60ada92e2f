//! Runs the packet scripts in `scripts/`; the language is explained in `scripts/README.md`.
//!
//! A failure names script and line, and says what was expected and what left instead.

mod script;

use std::fs;
use std::path::Path;

use script::Run;

#[test]
fn every_script_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = fs::read_dir(&folder).expect("the folder of scripts");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(paths.len() >= 14, "{} scripts in {folder:?}", paths.len());
    let mut failures = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).expect("a script");
        let name = path.file_name().expect("a name").to_string_lossy();
        if let Err(failure) = Run::script(&text) {
            failures.push(format!("{name}:{failure}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// A runner that accepts everything would prove nothing.
#[test]
fn wrong_scripts_fail() {
    let refused = |text: &str| Run::script(text).expect_err("must fail");
    let missing = refused("link\nat 0us send 10\nat 1us send 10\n");
    assert!(missing.contains("0→1 data #0"), "{missing}");
    let wrong = refused("link\nat 0us send 10\nat 0us out data seq=1\n");
    assert!(wrong.contains("seq=1"), "{wrong}");
    let early = refused("link\nat 0us send 10\nat 1us out data seq=0\n");
    assert!(early.starts_with("3:"), "{early}");
    let unsaid = refused("link\nat 0us in data seq=0 pieces=<4>\n");
    assert!(unsaid.contains("delivered"), "{unsaid}");
    assert!(refused("link\nat 0us dance\n").contains("dance"));
}
