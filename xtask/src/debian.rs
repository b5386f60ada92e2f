//! Debian's packages, as material for tests: sources, and libraries that are unpacked beside them.
//!
//! Nothing is installed: everything lies in the folder that the caller names, and stays there.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Which release's sources are taken, as a filter of the lines of its list: the machine's own, and,
/// where the mirror lacks that archive, a later one.
const RELEASES: [&str; 2] = ["cat", "sed -n 's/ [a-z]* main$/ trixie main/p'"];

/// Fetches the source of a package and unpacks it to `folder/source`, unless `landmark`, a file of
/// it, is there already.
pub fn source(folder: &Path, package: &str, landmark: &str) -> Result<(), String> {
    if folder.join("source").join(landmark).exists() {
        return Ok(());
    }
    fetched(folder, package, RELEASES[0]).or_else(|_| fetched(folder, package, RELEASES[1]))?;
    match folder.join("source").join(landmark).exists() {
        true => Ok(()),
        false => Err(format!(
            "Debian's source package {package} has no {landmark}"
        )),
    }
}

/// Fetches and unpacks a source. The lists are its own: those of a machine seldom have sources.
fn fetched(folder: &Path, package: &str, release: &str) -> Result<(), String> {
    let script = format!(
        "set -e
        rm -rf lists cache source; mkdir -p lists/partial cache/archives/partial source
        keys=/usr/share/keyrings/debian-archive-keyring.gpg
        if [ -e $keys ]; then signed=\"[signed-by=$keys]\"; fi
        apt-get indextargets --format \"deb-src $signed \\$(REPO_URI) \\$(CODENAME) main\" \
            'Created-By: Packages' 'Component: main' 'Origin: Debian' | {release} | sort -u > sources.list
        own=\"-o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=/dev/null \
             -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root\"
        apt-get -q $own update
        apt-get -q $own source --download-only --tar-only {package}
        tar -xf {package}_*.orig.tar.* -C source --strip-components=1
        rm -rf lists cache"
    );
    shell(folder, &script)
}

/// Unpacks packages to `folder/root`, unless `landmark`, a file of theirs, is there. `root/lib` is
/// the folder of libraries, whatever the processor's name.
pub fn unpacked(folder: &Path, packages: &[&str], landmark: &str) -> Result<(), String> {
    if folder.join("root").join(landmark).exists() {
        return Ok(());
    }
    let packages = packages.join(" ");
    let script = format!(
        "set -e; rm -rf root debs; mkdir root debs; cd debs; apt-get -q download {packages}
        for each in *.deb; do dpkg-deb -x $each ../root; done
        for each in ../root/usr/lib/*-linux-gnu*; do ln -s usr/lib/${{each##*/}} ../root/lib; done"
    );
    shell(folder, &script)?;
    match folder.join("root").join(landmark).exists() {
        true => Ok(()),
        false => Err(format!("Debian's packages {packages} have no {landmark}")),
    }
}

/// Runs a script in a folder, which is made; its last words if it fails.
fn shell(folder: &Path, script: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let output = Command::new("sh")
        .args(["-c", script])
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
