//! `oxmpi fs` as people use it: processes, their output and their errors.

mod support;

use std::io::BufRead;

use support::{Folder, Server, command};

#[test]
fn serving() {
    support::serving();
}

/// Runs a command; whether it succeeded, what it printed, what it complained about.
fn run(server: &Server, words: &[&str]) -> (bool, String, String) {
    let key = server.key.to_string_lossy();
    let mut all: Vec<&str> = words.to_vec();
    all.extend(["--key-file", &*key]);
    let output = command(&all).output().expect("it runs");
    // The test runner's own line comes first.
    let out: Vec<u8> = output
        .stdout
        .lines()
        .map(|line| line.expect("text"))
        .filter(|line| !line.is_empty() && !line.starts_with("running "))
        .map(|line| line.trim_start_matches("test serving ... ").to_owned() + "\n")
        .collect::<String>()
        .into_bytes();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&out), text(&output.stderr))
}

#[test]
fn a_tree_goes_there_and_back() {
    let server = Server::start("commands", &["--no-root-squash"]);
    let at = |path: &str| format!("{}/{path}", server.address);
    let here = Folder::new("here");
    let tree = here.0.join("tree");
    std::fs::create_dir_all(tree.join("a/b")).expect("folders");
    std::fs::write(tree.join("a/small"), b"small\n").expect("a file");
    let large: Vec<u8> = (0..5_000_001u32).map(|at| (at * 7 / 3) as u8).collect();
    std::fs::write(tree.join("a/b/large"), &large).expect("a file");
    std::fs::write(tree.join("empty"), b"").expect("a file");
    std::os::unix::fs::symlink("a/small", tree.join("link")).expect("a link");
    let local = tree.to_string_lossy();
    let (ok, _, error) = run(&server, &["cp", "-r", &local, &at("")]);
    assert!(ok, "{error}");
    let back = here.0.join("back");
    let (ok, _, error) = run(&server, &["cp", "-r", &at("tree"), &back.to_string_lossy()]);
    assert!(ok, "{error}");
    assert_eq!(support::tree(&tree), support::tree(&back));
    let (ok, out, _) = run(&server, &["ls", &at("tree")]);
    assert!(ok);
    assert_eq!(out, "a\nempty\nlink\n");
    let (_, out, _) = run(&server, &["ls", "-l", &at("tree")]);
    assert!(out.contains("link -> a/small"), "{out}");
    let (_, out, _) = run(&server, &["cat", &at("tree/link")]);
    assert_eq!(out, "small\n");
    let (_, out, _) = run(&server, &["stat", &at("tree/a/b/large")]);
    assert!(out.contains("5000001 bytes"), "{out}");
    let (ok, _, error) = run(&server, &["mkdir", "-p", &at("x/y/z")]);
    assert!(ok, "{error}");
    let (ok, _, error) = run(&server, &["mv", &at("tree/a"), &at("x/y")]);
    assert!(ok, "{error}");
    assert!(server.export.join("x/y/a/b/large").is_file());
    let (ok, _, error) = run(&server, &["rm", "-r", &at("x")]);
    assert!(ok, "{error}");
    assert!(!server.export.join("x").exists());
}

#[test]
fn errors_say_what_to_do() {
    let server = Server::start("errors", &["--no-root-squash"]);
    std::fs::create_dir(server.export.join("folder")).expect("a folder");
    let at = |path: &str| format!("{}/{path}", server.address);
    let complaint = |words: &[&str]| {
        let (ok, _, error) = run(&server, words);
        assert!(!ok, "{words:?} succeeded");
        assert!(error.starts_with("oxmpi: "), "{error}");
        error
    };
    assert!(complaint(&["ls", &at("none")]).contains("/none: No such file"));
    assert!(complaint(&["rm", &at("folder")]).contains("-r"));
    assert!(complaint(&["cat", "/etc/passwd"]).contains("HOST:PORT/PATH"));
    assert!(complaint(&["frobnicate"]).contains("there are serve, ls"));
    assert!(complaint(&["ls"]).contains("0 paths"));
    assert!(complaint(&["ls", "--wrong", &at("")]).contains("--help"));
    let folder = server.export.to_string_lossy().into_owned();
    let other = complaint(&["serve", &folder, "--listen", "127.0.0.1:0"]);
    assert!(other.contains("another server uses"), "{other}");
    let gone = complaint(&["ls", "127.0.0.1:1/"]);
    assert!(gone.contains("is the server running"), "{gone}");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&server.key, mode).expect("its mode");
    assert!(complaint(&["ls", &at("")]).contains("chmod 600"));
}

#[test]
fn a_new_key_file_is_for_its_owner_alone() {
    use std::os::unix::fs::MetadataExt;
    let server = Server::start("key", &[]);
    let mode = std::fs::metadata(&server.key).expect("it was made").mode();
    assert_eq!(mode & 0o777, 0o600);
    let state = std::fs::metadata(server.export.join(".oxfs")).expect("it was made");
    assert_eq!(state.mode() & 0o777, 0o700);
}
