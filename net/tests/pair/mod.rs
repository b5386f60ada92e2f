//! Two hosts for a test: network namespaces with a cable (veth) between them, made by the test and
//! gone with it.
//!
//! A host is a thread that has left the test's own network; what is opened there stays there,
//! wherever it is used later. Needs root and `ip` (iproute2); who lacks one of them sees why the
//! test was skipped.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// The name of the interface on either host.
pub const INTERFACE: &str = "eth0";

/// Two hosts, 10.77.0.1 and 10.77.0.2.
pub struct Pair {
    hosts: [Host; 2],
}

struct Host {
    /// Closed first, which ends the thread.
    work: mpsc::Sender<Box<dyn FnOnce() + Send>>,
    thread_id: i32,
}

impl Pair {
    /// Hosts whose cable takes packets of `mtu` bytes; None, with the reason on stderr, where that
    /// cannot be had.
    pub fn new(mtu: usize) -> Option<Pair> {
        // SAFETY: no arguments, no memory.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        let made = Host::new().and_then(|one| Ok([one, Host::new()?]));
        let hosts = match made {
            Ok(hosts) => hosts,
            Err(error) => {
                eprintln!("skipped: no network namespace to be had ({error})");
                return None;
            }
        };
        let other = hosts[1].thread_id;
        let pair = Pair { hosts };
        let cable = format!(
            "link add {INTERFACE} mtu {mtu} type veth peer name {INTERFACE} mtu {mtu} netns {other}"
        );
        if let Err(error) = pair.on(0, move || ip(&[&cable])) {
            eprintln!("skipped: no cable to be had ({error})");
            return None;
        }
        for host in 0..2 {
            pair.on(host, move || {
                ip(&[
                    "link set lo up",
                    &format!("address add 10.77.0.{}/24 dev {INTERFACE}", host + 1),
                    &format!("link set {INTERFACE} up"),
                ])
            })
            .unwrap();
        }
        Some(pair)
    }

    /// Moves the calling thread to one of the hosts.
    #[allow(dead_code, reason = "not every test wants it")]
    pub fn enter(&self, host: usize) {
        let path = format!("/proc/self/task/{}/ns/net", self.hosts[host].thread_id);
        let network = std::fs::File::open(path).unwrap();
        // SAFETY: integers only; concerns this thread alone.
        let outcome = unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
    }

    /// Does something on one of the hosts, and gives its result.
    pub fn on<T: Send + 'static>(
        &self,
        host: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let (answer, answered) = mpsc::channel();
        let work = Box::new(move || {
            let _ = answer.send(work());
        });
        self.hosts[host].work.send(work).expect("the host is there");
        answered
            .recv()
            .expect("what is done on a host does not panic")
    }
}

impl Host {
    fn new() -> std::io::Result<Host> {
        let (work, to_do) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let (ready, is_ready) = mpsc::channel();
        thread::spawn(move || {
            // SAFETY: integers only; concerns this thread alone.
            let outcome = unsafe { libc::unshare(libc::CLONE_NEWNET) };
            // SAFETY: no arguments, no memory.
            let thread_id = unsafe { libc::gettid() };
            let made = match outcome {
                0 => Ok(thread_id),
                _ => Err(std::io::Error::last_os_error()),
            };
            if made.is_ok() & ready.send(made).is_ok() {
                to_do.iter().for_each(|work| work());
            }
        });
        let thread_id = is_ready.recv().expect("a host tells")?;
        Ok(Host { work, thread_id })
    }
}

/// Has `ip` carry out some lines in this thread's network.
pub fn ip(lines: &[&str]) -> Result<(), String> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ip (package iproute2): {error}"))?;
    let input = child.stdin.take().expect("asked for");
    let _ = { input }.write_all((lines.join("\n") + "\n").as_bytes());
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
