//! A server and mounts of it.
//!
//! The server exports `/srv/export`, a folder of the guest's own memory file system, and keeps its
//! state beside it. It is this program again, in the other network namespace.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::check::Outcome;
use crate::sys;

/// Where the server listens.
pub const ADDRESS: &str = "10.77.0.1";
const PORT: u16 = 5021;
const EXPORT: &str = "/srv/export";
const STATE: &str = "/srv/state";
const KEY_FILE: &str = "/srv/key";
const KEY: [u8; 16] = *b"oxfs battery key";
/// Where cases mount.
pub const MOUNTS: [&str; 3] = ["/mnt/one", "/mnt/two", "/mnt/three"];

/// The key by which mounts of this process and its children prove themselves.
pub fn add_key() -> Outcome {
    sys::add_key(&format!("oxfs:{ADDRESS}"), &KEY).map(|_| ())
}

/// Mounts the server of the address and port.
pub fn mount(folder: &Path, options: &str) -> Outcome {
    mount_from(&format!("{ADDRESS}:{PORT}"), folder, options)
}

pub fn mount_from(source: &str, folder: &Path, options: &str) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    sys::mount(source, folder, options)
        .map_err(|error| format!("mount {source} {} -o {options}: {error}", folder.display()))
}

/// Whatever a case has left.
pub fn clean_up() {
    for folder in MOUNTS {
        while sys::unmount(Path::new(folder), libc::MNT_FORCE | libc::MNT_DETACH).is_ok() {}
    }
    let _ = std::fs::remove_dir_all(STATE);
    let _ = std::fs::remove_dir_all(EXPORT);
}

/// A server, and the mounts that a case has made of it.
pub struct World {
    server: Option<Child>,
    options: Vec<String>,
    mounted: Vec<PathBuf>,
}

impl World {
    /// Starts a server with options besides the usual ones.
    pub fn new(options: &[&str]) -> Outcome<World> {
        clean_up();
        for folder in [EXPORT, STATE] {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let digits: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(KEY_FILE, digits + "\n").map_err(|error| error.to_string())?;
        sys::set_mode(Path::new(KEY_FILE), 0o600)?;
        sys::set_mode(Path::new(EXPORT), 0o777)?;
        let mut world = World {
            server: None,
            options: options.iter().map(|&word| word.to_owned()).collect(),
            mounted: Vec::new(),
        };
        world.start()?;
        Ok(world)
    }

    /// A server, and one mount with options.
    pub fn with_mount(options: &str) -> Outcome<(World, PathBuf)> {
        let mut world = World::new(&["--no-root-squash"])?;
        let folder = world.mount(options)?;
        Ok((world, folder))
    }

    pub fn start(&mut self) -> Outcome {
        let mut command = Command::new("/bin/into");
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        command
            .arg("a")
            .arg(program)
            .args(["fs", "serve", EXPORT, "--state", STATE]);
        command.args(["--key-file", KEY_FILE, "--listen"]);
        command.arg(format!("{ADDRESS}:{PORT}")).args(&self.options);
        let server = command.stdout(Stdio::piped()).spawn();
        let mut server = server.map_err(|error| format!("/bin/into: {error}"))?;
        let mut line = String::new();
        let out = server.stdout.take().ok_or("no pipe")?;
        let mut reader = BufReader::new(out);
        reader
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        if !line.starts_with("serving ") {
            let _ = server.kill();
            return Err(format!("the server said {line:?}"));
        }
        // It is not to be ended by a pipe that nobody reads.
        std::thread::spawn(move || reader.lines().count());
        self.server = Some(server);
        Ok(())
    }

    /// kill -9.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    pub fn server_pid(&self) -> u32 {
        self.server.as_ref().map_or(0, Child::id)
    }

    /// Mounts it once more.
    pub fn mount(&mut self, options: &str) -> Outcome<PathBuf> {
        let folder = PathBuf::from(MOUNTS[self.mounted.len()]);
        mount(&folder, options)?;
        self.mounted.push(folder.clone());
        Ok(folder)
    }

    /// A path of the export as the server sees it.
    pub fn behind(&self, path: &str) -> PathBuf {
        Path::new(EXPORT).join(path)
    }

    /// Unmounts everything in order.
    pub fn unmount_all(&mut self) -> Outcome {
        while let Some(folder) = self.mounted.pop() {
            // A process that has just ended may still be letting go.
            within(5, || sys::unmount(&folder, 0).is_ok())
                .map_err(|_| format!("{} cannot be unmounted", folder.display()))?;
        }
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for folder in &self.mounted {
            let _ = sys::unmount(folder, libc::MNT_FORCE | libc::MNT_DETACH);
        }
        self.kill();
    }
}

/// A kernel that checks itself, which one with kmemleak does, is so much slower.
pub fn slowness() -> u64 {
    match Path::new("/sys/kernel/debug/kmemleak").exists() {
        true => 8,
        false => 1,
    }
}

/// Time in which the guest ran. When its emulator stands still, the guest's clock jumps, and nobody
/// is to blame for that: of the time between two looks a second counts, so who waits looks often.
pub struct Running {
    looked: Instant,
    time: Duration,
}

impl Running {
    pub fn begin() -> Running {
        Running {
            looked: Instant::now(),
            time: Duration::ZERO,
        }
    }

    /// So much has passed since it began.
    pub fn time(&mut self) -> Duration {
        let now = Instant::now();
        self.time += (now - self.looked).min(Duration::from_secs(1));
        self.looked = now;
        self.time
    }
}

/// Waits until something is so.
pub fn within(seconds: u64, mut is_so: impl FnMut() -> bool) -> Outcome {
    let mut running = Running::begin();
    let seconds = seconds * slowness();
    while !is_so() {
        if running.time() > Duration::from_secs(seconds) {
            return Err(format!("not within {seconds} s"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A counter of the module.
pub fn count(name: &str) -> u64 {
    let text = std::fs::read_to_string("/sys/kernel/debug/oxfs/counts").unwrap_or_default();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}
