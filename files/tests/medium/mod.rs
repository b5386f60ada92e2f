//! A file system of its own for a test, made by a script and taken away afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};

/// Tells a rank where the file system is.
const FOLDER: &str = "OXMPI_TEST_FOLDER";

/// Scripts that make a file system in an image and mount it at `medium`, or another kind of folder.
pub const EXT4: &str =
    "truncate -s 64M image; mkfs.ext4 -q image; mkdir medium; mount -o loop image medium";
pub const EXT2: &str =
    "truncate -s 64M image; mkfs.ext2 -q image; mkdir medium; mount -o loop image medium";
pub const XFS: &str =
    "truncate -s 320M image; mkfs.xfs -q image; mkdir medium; mount -o loop image medium";
pub const BTRFS: &str = "truncate -s 128M image; mkfs.btrfs -q -m single image; mkdir medium; mount -o loop image medium";
pub const TMPFS: &str = "mkdir medium; mount -t tmpfs -o size=300m none medium";
pub const OVERLAY: &str = "mkdir below above work medium; \
     mount -t overlay -o lowerdir=below,upperdir=above,workdir=work overlay medium";

pub fn world() -> Arc<Comm> {
    // SAFETY: tests call from one thread.
    let process = unsafe { Process::join(Threads::One) }.unwrap();
    Arc::new(process.world())
}

/// The name of a file in a folder.
pub fn path_of(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// A mounted file system; it goes when this is dropped.
pub struct Medium {
    scratch: PathBuf,
    folder: PathBuf,
    text: String,
}

/// Runs `body` as each of these numbers of ranks, in a folder that a script makes.
pub fn on(test: &str, ranks: &[u32], script: &str, body: impl Fn(&Path)) {
    for ranks in ranks {
        let Some(medium) = made(test, script, &body) else {
            return;
        };
        let outcome = oxmpi_harness::job(test, *ranks, &[medium.variable()]);
        assert!(
            outcome.success(),
            "{test} as {ranks} ranks ended with status {}:\n{}{}",
            outcome.code,
            String::from_utf8_lossy(&outcome.stdout),
            String::from_utf8_lossy(&outcome.stderr)
        );
    }
}

/// Runs `body` if this process is a rank, and returns nothing then; otherwise the file system, or
/// nothing if there can be none.
pub fn made(test: &str, script: &str, body: impl Fn(&Path)) -> Option<Medium> {
    if let Some(folder) = std::env::var_os(FOLDER) {
        body(Path::new(&folder));
        return None;
    }
    let last = test.rsplit("::").next().unwrap_or(test);
    let scratch = std::env::temp_dir().join(format!("oxmpi-{last}-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let folder = scratch.join("medium");
    let text = folder.display().to_string();
    let medium = Medium {
        scratch,
        folder,
        text,
    };
    match medium.shell(script) {
        Ok(()) => Some(medium),
        Err(why) => {
            println!("{test}: skipped, its file system cannot be had: {why}");
            None
        }
    }
}

impl Medium {
    /// Runs a script where the file system lies; its last words if it fails.
    fn shell(&self, script: &str) -> Result<(), String> {
        let script = format!("PATH=$PATH:/usr/sbin:/sbin; {script}");
        let output = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(&self.scratch)
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the ranks are told.
    pub fn variable(&self) -> (&str, &str) {
        (FOLDER, &self.text)
    }

    /// Mounts a copy of the device as it is now, beside the file system that is in use.
    pub fn device_after_power_failure(&self) -> PathBuf {
        let script = "cp image copy; mkdir after; mount -o loop,nouuid copy after 2>&- || \
                      mount -o loop copy after";
        self.shell(script).unwrap();
        self.scratch.join("after")
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        // A script that failed may have mounted some of them only.
        let script = "for each in after medium small; do umount $each 2>&- || true; done; \
                      losetup -j image 2>&- | cut -d: -f1 | xargs -r losetup -d; \
                      cd ..; rm -rf --one-file-system \"$OLDPWD\"";
        if let Err(why) = self.shell(script) {
            println!("{} is left behind: {why}", self.scratch.display());
        }
    }
}
