//! docs/environment.md and the manual pages say what the table says.
//!
//! `OXMPI_TEST_WRITE=1 cargo test -p oxmpi-settings --test documents` rewrites them.

use std::fs;
use std::path::{Path, PathBuf};

use oxmpi_settings::{Program, TEST_WRITE, manual, markdown};

/// Compares the part of a document between two lines with what it should be.
fn holds(document: &str, begin: &str, end: &str, wanted: &str) {
    let path = path(document);
    let text = fs::read_to_string(&path).unwrap();
    let cut = text.split_once(begin);
    let cut = cut.and_then(|(head, rest)| Some((head, rest.split_once(end)?)));
    let (head, (found, tail)) = cut.unwrap_or_else(|| panic!("{document} has no {begin:?}"));
    if found == wanted {
        return;
    }
    assert!(
        TEST_WRITE.read().is_set(),
        "{document} does not say what the table of settings says; \
         {}=1 cargo test -p oxmpi-settings --test documents writes it",
        TEST_WRITE.name
    );
    fs::write(path, format!("{head}{begin}{wanted}{end}{tail}")).unwrap();
}

fn path(document: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap().join("docs").join(document)
}

#[test]
fn the_page_of_the_environment() {
    let begin = "<!-- settings: written by a test from the table in settings/src/table -->\n";
    let end = "<!-- end of settings -->\n";
    holds("environment.md", begin, end, &format!("\n{}\n", markdown()));
}

#[test]
fn the_manual_page_of_mpiexec() {
    let programs = [Program::Launcher, Program::Rank];
    let begin = ".\\\" settings: written by a test from the table in settings/src/table\n";
    let end = ".\\\" end of settings\n";
    holds("man/mpiexec.1", begin, end, &manual(&programs));
}

#[test]
fn no_line_is_wider_than_the_house_permits() {
    let text = fs::read_to_string(path("environment.md")).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
