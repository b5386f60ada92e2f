//! Kernels, their headers, a Rust compiler with its library's source, and a shell for the guest:
//! Debian's packages, unpacked below one folder.
//!
//! They are not installed: a kernel's package would change how this machine boots, and Debian's
//! compiler excludes rustup. What is unpacked once stays; a file beside it says which release it
//! was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Once;

use super::{Kernel, debug, folder};
use crate::installed;
use crate::steps::Steps;

/// rustc 1.96 with the source of its library, which the stable toolchains do not have.
const COMPILER: [&str; 3] = ["rustc-web", "libstd-rust-web-dev", "rust-web-src"];
/// The guest's shell.
const SHELL: [&str; 1] = ["busybox-static"];

/// Dependencies that are unpacked, too, by how their names begin. All others are on every machine
/// that can compile, or are installed by [`tools`].
const FOLLOWED: [&str; 6] = [
    "linux-image-",
    "linux-headers-",
    "linux-kbuild-",
    "linux-compiler-",
    "libstd-rust-web-",
    "libllvm",
];

/// Programs and the packages that have them; the libraries are those that Debian's compiler and the
/// kernel's tools are linked with.
const TOOLS: [(&str, &str); 5] = [
    (
        "qemu-system-x86_64",
        "--no-install-recommends qemu-system-x86",
    ),
    ("gcc-12", "gcc-12"),
    ("make", "make"),
    (
        "objdump",
        "binutils libelf1 libssl3 libedit2 libxml2 libz3-4",
    ),
    ("apt-cache", "apt"),
];

/// Why packages cannot be had.
#[derive(Debug)]
pub enum PackageError {
    /// apt does not know one, or cannot fetch it.
    Fetch {
        /// What was wanted.
        packages: String,
        /// What apt said.
        said: String,
    },
    /// The kernel's source does not compile; make has said why.
    Make {
        /// How it ended.
        status: ExitStatus,
    },
    /// The kernel's source has no such option any more, or wants another with it.
    Option {
        /// The line of debug.config.
        line: String,
    },
    /// A file or a program of this machine.
    Here {
        /// Which.
        what: String,
        /// Why.
        source: io::Error,
    },
}

impl std::fmt::Display for PackageError {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            PackageError::Fetch { packages, said } => write!(
                to,
                "{packages} cannot be fetched from Debian: {said}; try `apt-get update`"
            ),
            PackageError::Make { status } => write!(to, "the kernel's make ended with {status}"),
            PackageError::Option { line } => {
                write!(
                    to,
                    "the kernel cannot be configured with {line} of debug.config"
                )
            }
            PackageError::Here { what, source } => write!(to, "{what}: {source}"),
        }
    }
}

/// Where things are once they are unpacked.
pub struct Tree {
    /// Everything is below it as it would be below /.
    pub root: PathBuf,
    /// As `uname -r` says it, or another name that no other has.
    pub release: String,
    /// The folder in which kbuild runs.
    pub headers: PathBuf,
    /// The kernel that is booted.
    pub image: PathBuf,
}

impl Tree {
    /// The folder of what is built for this release.
    pub fn output(&self) -> PathBuf {
        folder().join(&self.release)
    }
}

/// What the kernel's source needs beyond those: programs, and headers of libraries.
const SOURCE_TOOLS: [(&str, &str); 5] = [
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("/usr/include/gelf.h", "libelf-dev"),
    ("/usr/include/openssl/opensslv.h", "libssl-dev"),
];

/// Makes sure that QEMU and a C compiler are there, or says what is missing.
pub fn tools(steps: &mut Steps, for_source: bool) -> Result<(), String> {
    let more: &[_] = if for_source { &SOURCE_TOOLS } else { &[] };
    for (tool, packages) in TOOLS.iter().chain(more) {
        if !installed::fetch(steps, tool, packages) {
            return Err(format!("{tool} is not installed"));
        }
    }
    Ok(())
}

/// Fetches and unpacks what a kernel's module and guest need, unless that was done before; the
/// names of the kernel's packages, a line each.
pub fn fetch(kernel: &Kernel) -> Result<String, PackageError> {
    provide("compiler", &COMPILER)?;
    provide("shell", &SHELL)?;
    provide(kernel.name, kernel.packages)
}

/// What was fetched, ready to be built against; for a kernel of which there is only the source,
/// after building it.
pub fn unpack(kernel: &Kernel) -> Result<Tree, PackageError> {
    let unpacked = fetch(kernel)?;
    if kernel.is_debug() {
        return debug::tree(&root());
    }
    let release = unpacked
        .lines()
        .filter(|package| !kernel.packages.contains(package))
        .find_map(|package| package.strip_prefix("linux-image-"));
    let (root, release) = (root(), release.unwrap_or_default().to_owned());
    let tree = Tree {
        headers: root.join(format!("usr/src/linux-headers-{release}")),
        image: root.join(format!("boot/vmlinuz-{release}")),
        root,
        release,
    };
    relocate(&tree)?;
    Ok(tree)
}

fn root() -> PathBuf {
    folder().join("root")
}

/// The kernel's makefile names the other half of the headers by its installed place.
fn relocate(tree: &Tree) -> Result<(), PackageError> {
    let makefile = tree.headers.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(here(&makefile))?;
    if !text.starts_with("include /usr/src/") {
        return Ok(());
    }
    let place = format!("include {}/usr/src/", tree.root.display());
    let text = text.replacen("include /usr/src/", &place, 1);
    fs::write(&makefile, text).map_err(here(&makefile))
}

/// The names of the packages of one set, after unpacking them if they are not yet.
fn provide(set: &str, wanted: &[&str]) -> Result<String, PackageError> {
    let list = folder().join(format!("unpacked-{set}"));
    let _alone = alone()?;
    if let Ok(packages) = fs::read_to_string(&list) {
        return Ok(packages);
    }
    update();
    let packages = download(set, wanted)?;
    let debs = debs(set);
    for entry in fs::read_dir(&debs).map_err(here(&debs))?.flatten() {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("-x").arg(entry.path()).arg(root());
        ask(&mut unpack, &packages)?;
    }
    let _ = fs::remove_dir_all(&debs);
    let text = packages.join("\n");
    fs::write(&list, &text).map_err(here(&list))?;
    Ok(text)
}

/// Asks Debian which packages there are, once. A machine that was installed long ago knows of older
/// ones, which are gone, or of a compiler that lacks options of ours. Without a network or rights,
/// its own lists have to do.
fn update() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        if let Err(error) = ask(Command::new("apt-get").args(["-q", "update"]), &[]) {
            println!("this machine's lists of packages stay as old as they are: {error}");
        }
    });
}

/// Held while packages are unpacked: two tasks at a time would spoil each other's.
fn alone() -> Result<fs::File, PackageError> {
    fs::create_dir_all(folder()).map_err(here(&folder()))?;
    let path = folder().join("lock");
    let file = fs::File::create(&path).map_err(here(&path))?;
    file.lock().map_err(here(&path))?;
    Ok(file)
}

/// Where the packages of a set lie until they are unpacked.
fn debs(set: &str) -> PathBuf {
    folder().join(format!("packages-{set}"))
}

fn download(set: &str, wanted: &[&str]) -> Result<Vec<String>, PackageError> {
    let packages = closure(wanted)?;
    let debs = debs(set);
    let _ = fs::remove_dir_all(&debs);
    for folder in [&debs, &root()] {
        fs::create_dir_all(folder).map_err(here(folder))?;
    }
    println!("fetching {}", packages.join(" "));
    let mut download = Command::new("apt-get");
    download
        .args(["-q", "download"])
        .args(&packages)
        .current_dir(&debs);
    ask(&mut download, &packages)?;
    Ok(packages)
}

/// The packages, and those of their dependencies that are followed.
fn closure(wanted: &[&str]) -> Result<Vec<String>, PackageError> {
    let mut packages: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
    let mut at = 0;
    while let Some(package) = packages.get(at) {
        let mut depends = Command::new("apt-cache");
        depends.arg("depends").arg(package);
        let listing = ask(&mut depends, std::slice::from_ref(package))?;
        for dependency in dependencies(&listing) {
            if !packages.contains(&dependency) {
                packages.push(dependency);
            }
        }
        at += 1;
    }
    Ok(packages)
}

/// Of what `apt-cache depends` lists, what is to be followed.
fn dependencies(listing: &str) -> Vec<String> {
    let names = listing.lines().filter_map(|line| {
        line.trim()
            .trim_start_matches('|')
            .strip_prefix("Depends: ")
    });
    // The unsigned image is the other choice for one that is followed already.
    names
        .filter(|name| FOLLOWED.iter().any(|start| name.starts_with(start)))
        .filter(|name| !name.ends_with("-unsigned"))
        .map(str::to_owned)
        .collect()
}

/// What a command printed.
pub fn ask(command: &mut Command, packages: &[String]) -> Result<String, PackageError> {
    let what = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|source| PackageError::Here { what, source })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let packages = packages.join(" ");
        return Err(PackageError::Fetch { packages, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An error about a path of this machine.
pub fn here(path: &Path) -> impl FnOnce(io::Error) -> PackageError + use<> {
    let what = path.display().to_string();
    move |source| PackageError::Here { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_needs_is_followed_and_nothing_else() {
        let listing = "linux-headers-6.12.1-cloud-amd64\n  Depends: linux-base\n  Depends: linux-headers-6.12.1-common\n \
            |Depends: linux-image-6.12.1-cloud-amd64\n  Depends: linux-image-6.12.1-cloud-amd64-unsigned\n  Depends: linux-kbuild-6.12.1\n  Depends: gcc-12\n";
        assert_eq!(
            dependencies(listing),
            [
                "linux-headers-6.12.1-common",
                "linux-image-6.12.1-cloud-amd64",
                "linux-kbuild-6.12.1"
            ]
        );
    }
}
