//! A real server in a process of its own, and clients of it. The server is this test binary, started
//! again with the words of `oxmpi fs` in a variable; every test file has [`serving`] as a test for
//! that.
#![allow(dead_code, reason = "each test file compiles it and uses its own part")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oxmpi_oxfs::client::{Client, Remote, RemoteError, Settings, User};

const WORDS: &str = "OXFS_TEST_WORDS";
const USER: &str = "OXFS_TEST_USER";

/// What the started process does; in the tests themselves nothing.
pub fn serving() {
    let Ok(words) = std::env::var(WORDS) else {
        return;
    };
    if let Ok(user) = std::env::var(USER) {
        let user: u32 = user.parse().expect("a number");
        // SAFETY: calls without pointers besides an empty list of groups.
        unsafe {
            assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
            assert_eq!(libc::setresgid(user, user, user), 0);
            assert_eq!(libc::setresuid(user, user, user), 0);
        }
    }
    let words: Vec<String> = words.split('\u{1f}').map(str::to_owned).collect();
    let code = oxmpi_oxfs::main(&words);
    std::process::exit(if code == std::process::ExitCode::SUCCESS {
        0
    } else {
        1
    });
}

/// `oxmpi fs` with these words, as a process.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "serving", "--nocapture", "--test-threads=1"]);
    command.env(WORDS, words.join("\u{1f}"));
    command
}

/// A folder that is removed with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        use std::os::unix::fs::PermissionsExt;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("oxfs-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("its mode");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Server {
    pub folder: Folder,
    pub export: PathBuf,
    pub key: PathBuf,
    pub address: String,
    options: Vec<String>,
    user: Option<u32>,
    child: Option<Child>,
}

impl Server {
    pub fn start(name: &str, options: &[&str]) -> Server {
        Server::start_as(name, options, None)
    }

    pub fn start_as(name: &str, options: &[&str], user: Option<u32>) -> Server {
        let folder = Folder::new(name);
        let export = folder.0.join("export");
        std::fs::create_dir(&export).expect("a folder to export");
        if let Some(user) = user {
            std::os::unix::fs::chown(&folder.0, Some(user), Some(user)).expect("chown");
            std::os::unix::fs::chown(&export, Some(user), Some(user)).expect("chown");
        }
        // The port stays the same over starts; the kernel gives it to nobody else at once.
        let port = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = port.local_addr().expect("its address").to_string();
        drop(port);
        let mut server = Server {
            key: folder.0.join("key"),
            folder,
            export,
            address,
            options: options.iter().map(|&word| word.to_owned()).collect(),
            user,
            child: None,
        };
        server.run();
        server
    }

    /// Starts it, again after a [`Server::kill`], and waits until it listens.
    pub fn run(&mut self) {
        let (export, key) = (self.export.to_string_lossy(), self.key.to_string_lossy());
        let mut words = vec![
            "serve",
            &*export,
            "--listen",
            &self.address,
            "--key-file",
            &*key,
        ];
        words.extend(self.options.iter().map(String::as_str));
        let mut command = command(&words);
        if let Some(user) = self.user {
            command.env(USER, user.to_string());
        }
        let command = command.stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server's process");
        let out = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(out).lines();
        let served = lines.any(|line| line.is_ok_and(|line| line.contains("serving ")));
        assert!(served, "the server has ended");
        self.child = Some(child);
    }

    /// kill -9.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it has run");
        }
    }

    /// Sends its process a signal.
    pub fn signal(&self, signal: i32) {
        let child = self.child.as_ref().expect("it runs");
        // SAFETY: a call without pointers; the process has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    }

    pub fn settings(&self) -> Settings {
        Settings {
            address: self.address.clone(),
            key: oxmpi_oxfs::key::read(&self.key).expect("the server has made it"),
            patience: Duration::from_secs(20),
            user: User::of_process(),
        }
    }

    pub fn client(&self) -> Remote {
        let client = Client::connect(self.settings()).expect("a session");
        Remote { client }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The errno of an answer, 0 if there is none.
pub fn errno<T>(result: &Result<T, RemoteError>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(RemoteError::Server { errno, .. }) => *errno as i32,
        Err(error) => panic!("no answer: {error}"),
    }
}

/// Whether the tests run as root, who can be anybody; says so if not.
pub fn is_root(test: &str) -> bool {
    // SAFETY: a call without pointers.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("{test} is skipped: only root can act as other users");
    }
    root
}

/// A generator of numbers by seed; failures print the seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// The seeds to try: one that is asked for, or the first few.
pub fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("OXFS_SEED") {
        Ok(seed) => vec![seed.parse().expect("OXFS_SEED is a number")],
        Err(_) => {
            let asked = std::env::var("OXFS_SEEDS").ok();
            let asked = asked.and_then(|asked| asked.parse().ok());
            (1..=asked.unwrap_or(count)).collect()
        }
    }
}

/// A tree as text, one line for each name, to compare.
pub fn tree(folder: &Path) -> String {
    fn walk(folder: &Path, prefix: &str, out: &mut Vec<String>) {
        use std::os::unix::fs::MetadataExt;
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name();
            let name = format!("{prefix}/{}", name.to_string_lossy());
            if name == "/.oxfs" {
                continue;
            }
            let about = entry.path().symlink_metadata().expect("it is there");
            let kind = about.file_type();
            let content = if kind.is_symlink() {
                format!("{:?}", std::fs::read_link(entry.path()).expect("a link"))
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path()).expect("a file");
                let sum = bytes.iter().fold(0u64, |sum, &byte| {
                    sum.wrapping_mul(31).wrapping_add(u64::from(byte))
                });
                format!("{} bytes {sum:x}", bytes.len())
            } else {
                String::new()
            };
            let links = if kind.is_dir() { 0 } else { about.nlink() };
            out.push(format!(
                "{name} {:o} {} {} {links} {content}",
                about.mode(),
                about.uid(),
                about.gid()
            ));
            if kind.is_dir() {
                walk(&entry.path(), &name, out);
            }
        }
    }
    let mut lines = Vec::new();
    walk(folder, "", &mut lines);
    lines.sort();
    lines.join("\n")
}
