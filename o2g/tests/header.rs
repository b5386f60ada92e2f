//! The numbers of the requests are those that C makes of `kernel/include/o2g.h`.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
#include <stdio.h>
#include "o2g.h"
int main(void)
{
    printf("%u %u %u %u %u %u %u %u %u %u\n", (unsigned)O2G_INIT, (unsigned)O2G_REGISTER_SOCKET, (unsigned)O2G_FORGET_SOCKET,
        (unsigned)O2G_SET_DUMP_AREA, (unsigned)O2G_START_DUMPER_THREAD, (unsigned)O2G_PUT_ENTRY, (unsigned)O2G_CANCEL_ENTRY,
        (unsigned)O2G_FREE_ENTRY, (unsigned)O2G_COUNTERS, (unsigned)O2G_GIVE_ANSWERS);
    return 0;
}
"#;

#[test]
fn requests_have_the_numbers_of_the_header() {
    use o2g::request::*;
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no C compiler (cc) to read kernel/include/o2g.h with");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("requests.c"), folder.join("requests"));
    std::fs::write(&source, PROGRAM).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/include");
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-I"])
        .arg(&include)
        .arg(&source)
        .arg("-o")
        .arg(&binary)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let answer = Command::new(&binary).output().unwrap().stdout;
    let found: Vec<u32> = String::from_utf8(answer)
        .unwrap()
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let expected = [
        INIT,
        REGISTER_SOCKET,
        FORGET_SOCKET,
        SET_DUMP_AREA,
        START_DUMPER_THREAD,
        PUT_ENTRY,
        CANCEL_ENTRY,
        FREE_ENTRY,
        COUNTERS,
        GIVE_ANSWERS,
    ];
    assert_eq!(found, expected);
}
