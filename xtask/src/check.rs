//! `cargo xtask check`: everything that can be said about the code without running it.

use std::process::Command;

use crate::layers;
use crate::steps::{Expect, Steps, cargo, root, target};

/// A target without an operating system: what builds for it uses no std.
const BARE_TARGET: &str = "x86_64-unknown-none";
/// The crates that must build there.
const PURE: [&str; 4] = ["wire", "handshake", "matching", "link"];
/// What they may depend on beside each other; no_std too.
const PURE_FOREIGN: [&str; 13] = [
    "crc ",
    "crc-catalog ",
    // Proofs: HMAC over SHA-256.
    "hmac ",
    "sha2 ",
    "digest ",
    "block-buffer ",
    "crypto-common ",
    "hybrid-array ",
    "typenum ",
    "ctutils ",
    "cmov ",
    "cfg-if ",
    "cpufeatures ",
];

/// All of it, what fails fastest first; with `install`, what is missing is installed before.
pub fn run(steps: &mut Steps, install: bool) {
    formatting(steps);
    if steps.selects("layers") {
        let kept = layers::run().then_some(());
        steps.judge(
            "layers",
            kept.ok_or("dependencies that ARCHITECTURE.md does not allow".into()),
        );
    }
    deny(steps, install);
    no_std(steps, install);
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets", "--locked"]);
    clippy.args(["--", "-D", "warnings"]);
    steps.run("clippy", 20, Expect::Success, &mut clippy);
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    steps.run("doc", 20, Expect::Success, &mut documentation);
}

fn formatting(steps: &mut Steps) {
    steps.run(
        "fmt",
        2,
        Expect::Success,
        &mut cargo(&["fmt", "--all", "--check"]),
    );
    // Workspaces by themselves.
    for apart in [
        "kernel/runtime",
        "kernel/module",
        "kernel/oxk/module",
        "fuzz",
    ] {
        let mut format = cargo(&["fmt", "--check", "--manifest-path"]);
        format.arg(format!("{apart}/Cargo.toml"));
        steps.run(&format!("fmt of {apart}"), 2, Expect::Success, &mut format);
    }
    // A new crate of the workspace changes it, and only a late step would notice.
    let mut lock = cargo(&[
        "tree",
        "--locked",
        "--quiet",
        "--depth",
        "0",
        "--manifest-path",
    ]);
    lock.arg("fuzz/Cargo.toml");
    steps.run("lock of fuzz", 2, Expect::Success, &mut lock);
}

fn no_std(steps: &mut Steps, install: bool) {
    let name = "no_std build of wire, handshake, matching and link";
    if !steps.selects("no_std") {
        return;
    }
    if install && !target_installed() {
        steps.run(
            "rustup target add",
            5,
            Expect::Success,
            Command::new("rustup").args(["target", "add", BARE_TARGET]),
        );
    }
    if target_installed() {
        let mut build = cargo(&["build", "--locked", "--target", BARE_TARGET]);
        for package in PURE {
            build.args(["--package", &format!("oxmpi-{package}")]);
        }
        // The other way of SHA-256 asks for vector registers, which that target has not.
        build.env("RUSTFLAGS", "--cfg sha2_backend=\"soft\"");
        steps.run(name, 5, Expect::Success, &mut build);
        return;
    }
    // Without the target, the next best: they say no_std, and depend on nothing but each other and
    // what says so too.
    let reason = format!("target {BARE_TARGET} is not installed (`cargo xtask check --install`)");
    steps.skip(
        name,
        &format!(
            "{reason}; checked instead that the crates declare no_std and have no other dependency that does not"
        ),
    );
    for package in PURE {
        let source = root().join(package).join("src/lib.rs");
        let source = std::fs::read_to_string(source).unwrap_or_default();
        let declared = source.contains("#![no_std]").then_some(());
        let declared = declared.ok_or(format!("{package}/src/lib.rs has no #![no_std]"));
        steps.judge(&format!("{package} declares no_std"), declared);
        steps.judge(
            &format!("{package} depends on pure crates only"),
            is_alone(package),
        );
    }
}

/// Whether a crate depends on pure ones alone.
fn is_alone(package: &str) -> Result<(), String> {
    let mut tree = cargo(&["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--package", &format!("oxmpi-{package}")]);
    let listing = tree.current_dir(root()).output();
    let listing = listing.map_err(|error| format!("cargo tree: {error}"))?;
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let pure = |line: &&str| {
        let foreign = PURE_FOREIGN.iter().any(|name| line.starts_with(name));
        line.is_empty() || line.starts_with("oxmpi-") || foreign
    };
    match listing.lines().find(|line| !pure(line)) {
        Some(line) => Err(format!("{package} depends on {line}")),
        None if listing.is_empty() => Err("cargo tree lists nothing".to_owned()),
        None => Ok(()),
    }
}

fn target_installed() -> bool {
    let list = Command::new("rustup")
        .args(["target", "list", "--installed"])
        .output();
    list.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .any(|line| line == BARE_TARGET)
    })
}

fn deny(steps: &mut Steps, install: bool) {
    if !steps.selects("deny") {
        return;
    }
    let own = target().join("tools");
    if install && !answers(&mut deny_command(&own)) {
        let mut get = cargo(&["install", "--locked", "cargo-deny", "--root"]);
        steps.run("install cargo-deny", 30, Expect::Success, get.arg(&own));
    }
    if !answers(&mut deny_command(&own)) {
        steps.skip(
            "deny",
            "cargo-deny is not installed (`cargo xtask check --install`)",
        );
        return;
    }
    // It reads every crate of the lock file, those of other systems included, and fetches none.
    let mut fetch = cargo(&["fetch", "--locked"]);
    if reachable(&mut fetch) {
        steps.run("fetch for deny", 10, Expect::Success, &mut fetch);
        deny_offline(steps, &own);
    } else {
        let reason = "crates of other systems are missing and cannot be fetched from here";
        steps.skip("deny", reason);
    }
    let mut advisories = deny_command(&own);
    advisories.args(["check", "advisories"]);
    if reachable(&mut advisories) {
        steps.run("deny advisories", 5, Expect::Success, &mut advisories);
    } else {
        steps.skip(
            "deny advisories",
            "the advisory database cannot be fetched from here",
        );
    }
}

fn deny_offline(steps: &mut Steps, own: &std::path::Path) {
    let mut offline = deny_command(own);
    offline.args([
        "--log-level",
        "error",
        "--offline",
        "check",
        "bans",
        "licenses",
        "sources",
    ]);
    steps.run("deny", 5, Expect::Success, &mut offline);
}

/// Whether a command failed for another reason than that a download did.
fn reachable(command: &mut Command) -> bool {
    let output = command.current_dir(root()).output();
    output.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let failed = ["failed to fetch", "failed to download"];
        output.status.success() || !failed.iter().any(|words| said.contains(words))
    })
}

/// cargo-deny from the workspace's own tools, or from the path.
fn deny_command(own: &std::path::Path) -> Command {
    let installed = own.join("bin/cargo-deny");
    Command::new(if installed.exists() {
        installed
    } else {
        "cargo-deny".into()
    })
}

fn answers(command: &mut Command) -> bool {
    command
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
