//! No source of OxMPI names a variable that the table does not have, and none reads one past it.

use std::fs;
use std::path::{Path, PathBuf};

use oxmpi_settings::{PREFIX, TEST_PREFIX, find};

/// Folders without code of the product.
const NOT_THE_PRODUCT: [&str; 5] = ["settings", "target", "xtask", "tests", "conformance"];

/// The crate that uses nothing of OxMPI, so that `cargo xtask` builds it in a second: it sets
/// variables for programs on its hosts and reads none. Their names must be in the table all the
/// same.
const USES_NOTHING: &str = "hosts";

fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().expect("the workspace lies above")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !NOT_THE_PRODUCT.contains(&name.as_str()) {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The names of variables in a line.
fn names(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices(PREFIX).map(|(start, _)| {
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let length = line[start..]
            .bytes()
            .take_while(|byte| is_name(*byte))
            .count();
        (start, line[start..start + length].trim_end_matches('_'))
    })
}

#[test]
fn variables_are_read_through_the_table() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 100, "sources are not found");
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let may_quote = file.starts_with(root().join(USES_NOTHING));
        // Unit tests come last in a file, and may say names as a user would.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (index, line) in code.lines().enumerate() {
            let place = format!("{}:{}", file.display(), index + 1);
            for (start, name) in names(line) {
                let is_of_tests = name.starts_with(TEST_PREFIX);
                if !is_of_tests && find(name).is_none() {
                    wrong.push(format!("{place}: {name} is not in the table"));
                }
                let quoted =
                    line[..start].ends_with('"') && line[start + name.len()..].starts_with('"');
                let is_comment = line.trim_start().starts_with("//");
                if quoted && !may_quote && !is_of_tests && !is_comment {
                    wrong.push(format!("{place}: \"{name}\" instead of oxmpi_settings::…"));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "settings stand in settings/src/table and are read through it:\n{}",
        wrong.join("\n")
    );
}
