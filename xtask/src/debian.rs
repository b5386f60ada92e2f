//! Source packages of Debian: other people's programs, fetched once and kept below `target`.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Fetches a package's source and unpacks it in `source`, a folder inside `folder`. The lists are
/// fetched for this alone: those of the machine seldom have sources.
pub fn fetch_source(folder: &Path, package: &str, source: &Path) -> Result<(), String> {
    let script = "set -e
        rm -rf lists cache \"$2\"; mkdir -p lists/partial cache/archives/partial \"$2\"
        keys=/usr/share/keyrings/debian-archive-keyring.gpg
        if [ -e $keys ]; then signed=\"[signed-by=$keys]\"; fi
        apt-get indextargets --format \"deb-src $signed \\$(REPO_URI) \\$(CODENAME) main\" \
            'Created-By: Packages' 'Component: main' 'Origin: Debian' | sort -u > sources.list
        own=\"-o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=/dev/null \
             -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root\"
        apt-get -q $own update
        apt-get -q $own source --download-only --tar-only \"$1\"
        tar -xf \"$1\"_*.orig.tar.* -C \"$2\" --strip-components=1
        rm -rf lists cache";
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut fetch = Command::new("sh");
    fetch.args(["-c", script, "sh", package]).arg(source);
    run(folder, &mut fetch)
}

/// Runs a script in a folder; its last words if it fails.
pub fn shell(folder: &Path, script: &str) -> Result<(), String> {
    run(folder, Command::new("sh").args(["-c", script]))
}

fn run(folder: &Path, command: &mut Command) -> Result<(), String> {
    let output = command
        .current_dir(folder)
        .output()
        .map_err(|error| format!("sh cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(2).collect();
    Err(format!(
        "it cannot be fetched from Debian: {}",
        last.join("; ")
    ))
}
