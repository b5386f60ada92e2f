//! The example of docs/o2g.md is a program: it compiles without a warning. `cargo xtask kernel
//! test` has a machine where it could run.

use std::path::Path;
use std::process::Command;

#[test]
fn the_example_of_the_documentation_compiles() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no C compiler (cc) for the example of docs/o2g.md");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/o2g.md")).unwrap();
    let (_, rest) = page.split_once("```c\n").expect("an example in C");
    let (program, _) = rest.split_once("```").expect("its end");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("example.c");
    std::fs::write(&source, program).unwrap();
    let built = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("kernel/include"))
        .arg(&source)
        .arg("-o")
        .arg(folder.join("example"))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
}
