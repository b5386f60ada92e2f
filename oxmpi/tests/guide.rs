//! The code in docs/rust.md is that of the examples, which are run: a block belongs to the example
//! linked last before it.

use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The lines that count: indentation does not.
fn lines(text: &str) -> Vec<&str> {
    let trimmed = text.lines().map(str::trim);
    trimmed.filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_guide_shows_what_the_examples_do() {
    let guide = std::fs::read_to_string(Path::new(ROOT).join("docs/rust.md")).unwrap();
    let mut parts = guide.split("```");
    let (mut example, mut blocks) = (String::new(), 0);
    while let Some(prose) = parts.next() {
        let links = prose.split("(../oxmpi/examples/").skip(1);
        for link in links {
            let name = link.split(')').next().unwrap();
            let path = Path::new(ROOT).join("oxmpi/examples").join(name);
            example = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("docs/rust.md names {name}: {error}"));
        }
        let Some(block) = parts.next() else { break };
        let code = block.strip_prefix("rust\n").expect("blocks are Rust");
        let (code, whole) = (lines(code), lines(&example));
        let found = whole.windows(code.len()).any(|window| window == code);
        assert!(
            found,
            "this is not in the example linked before it:\n{block}"
        );
        blocks += 1;
    }
    assert!(blocks > 10, "{blocks} blocks");
}
