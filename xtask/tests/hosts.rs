//! `cargo xtask hosts` for real: hosts reach each other, and nothing of them outlives the command.
//!
//! Ignored in an ordinary run, because hosts need root; the step "hosts" of `cargo xtask test` runs
//! them. What has to happen on a host is done by this same program, which `visit` starts there
//! again with a word in its environment.

#[path = "../limit.rs"]
mod limit;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use limit::limit;

const XTASK: &str = env!("CARGO_BIN_EXE_xtask");
/// Says to a copy of this program what it is there for.
const ERRAND: &str = "XTASK_TEST_ERRAND";
/// Any that is free in a network that nobody else uses.
const PORT: u16 = 7777;
/// Long enough for anything here on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// `xtask hosts` with these words.
fn hosts(words: &[&str]) -> Command {
    let mut command = Command::new(XTASK);
    command.arg("hosts").args(words).stdin(Stdio::null());
    command
}

/// `xtask hosts` with a script as the command.
fn script(count: &str, script: &str) -> Output {
    hosts(&[count, "--", "sh", "-c", &script.replace("XTASK", XTASK)])
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// This program again, for the errand of the test with this name.
fn visit(command: &mut Command, test: &str, errand: &str) -> Output {
    let output = command
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env(ERRAND, errand)
        .output()
        .unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errand}: {out}{error}");
    output
}

/// A connection to a host by its name, tried again until it is there.
fn dial(host: &str) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    loop {
        let address = (host, PORT).to_socket_addrs().unwrap().next().unwrap();
        match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < end, "{host} at {address}: {error}"),
        }
    }
}

/// Sends a host's name to the host that asks for it.
fn tell_name(listener: &TcpListener) {
    let mut stream = listener.accept().unwrap().0;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    stream.write_all(name.as_bytes()).unwrap();
}

fn ask_name(host: &str) -> String {
    let mut name = String::new();
    dial(host).read_to_string(&mut name).unwrap();
    name.trim_end().to_owned()
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn hosts_reach_each_other_by_name() {
    let me = "hosts_reach_each_other_by_name";
    match std::env::var(ERRAND).as_deref() {
        Ok("listen") => {
            let listener = TcpListener::bind(("::", PORT)).unwrap();
            for host in ["h0", "h1", "h2"] {
                let mut enter = Command::new(XTASK);
                let asking = std::thread::spawn(move || {
                    visit(enter.args(["enter", host]), me, "ask");
                });
                tell_name(&listener);
                asking.join().unwrap();
            }
        }
        Ok("ask") => assert_eq!(ask_name("h0"), "h0"),
        _ => {
            visit(&mut hosts(&["3", "--"]), me, "listen");
            let words = ["3", "--ipv6", "--mtu", "9000", "--"];
            visit(&mut hosts(&words), me, "listen");
        }
    }
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn a_pulled_cable_is_silent_and_can_be_put_back() {
    let me = "a_pulled_cable_is_silent_and_can_be_put_back";
    let link = |state| {
        let status = Command::new(XTASK).args(["link", "h1", state]).status();
        assert!(status.unwrap().success(), "link {state}");
    };
    match std::env::var(ERRAND).as_deref() {
        Ok("talk") => {
            let listener = TcpListener::bind(("::", PORT)).unwrap();
            let asking =
                std::thread::spawn(|| visit(Command::new(XTASK).args(["enter", "h1"]), me, "read"));
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut [0; 1]).unwrap();
            link("down");
            stream.write_all(b"lost?").unwrap();
            stream
                .set_read_timeout(Some(Duration::from_millis(300)))
                .unwrap();
            // Neither an answer nor an end.
            let error = stream.read(&mut [0; 1]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
            link("up");
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.read_exact(&mut [0; 1]).unwrap();
            asking.join().unwrap();
        }
        Ok("read") => {
            let mut stream = dial("h0");
            stream.write_all(b"1").unwrap();
            stream.read_exact(&mut [0; 5]).unwrap();
            stream.write_all(b"2").unwrap();
        }
        _ => drop(visit(&mut hosts(&["2", "--"]), me, "talk")),
    }
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn the_status_is_the_commands() {
    assert_eq!(script("1", "exit 7").status.code(), Some(7));
    assert_eq!(script("1", "kill -TERM $$").status.code(), Some(143));
    let output = script("2", "XTASK enter h1 sh -c 'hostname; exit 5'");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(text(&output.stdout), "h1\n");
    let output = script("1", "XTASK enter h1 true");
    assert_eq!(output.status.code(), Some(255));
    assert_eq!(
        text(&output.stderr),
        "xtask enter: there is no host \"h1\"; there are h0\n"
    );
    let output = hosts(&["1", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(255));
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn the_first_ssh_in_path_reaches_the_hosts_as_a_login() {
    let line = "A=1 ssh -x -o BatchMode=yes root@h1 'hostname; pwd; echo $A' one two";
    let output = hosts(&["2", "--", "sh", "-c", line])
        .env("HOME", "/usr")
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "h1\n/usr\none two\n");
}

/// Processes whose command line holds a word.
fn processes_with(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .filter(|line| text(line).split('\0').any(|each| each == word))
        .count()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Does not outlive a test that failed.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn everything_goes_with_xtask_however_that_ends() {
    for signal in ["KILL", "TERM", "INT"] {
        // A length of sleep that nobody else asks for.
        let long = format!("{}", 100_000 + std::process::id());
        let line = format!("{XTASK} enter h1 setsid sleep {long} & exec sleep {long}");
        let mut command = hosts(&["2", "--", "sh", "-c", &line]);
        // What it says about those it has to kill is not this test's.
        let running = command.stderr(Stdio::null()).spawn();
        let mut running = Running(running.unwrap());
        wait_until("both sleep", || processes_with(&long) == 2);
        let process = running.0.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &process]).status();
        assert!(sent.unwrap().success());
        wait_until(signal, || processes_with(&long) == 0);
        let status = running.0.wait().unwrap();
        assert!(!status.success(), "{signal}: {status}");
    }
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn what_a_command_leaves_behind_is_named() {
    let output = script("2", "XTASK enter h1 setsid sleep 4711 >/dev/null 2>&1 &");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("left behind by the command, and killed: pid "),
        "{said}"
    );
    assert!(said.contains(" on h1: sleep 4711"), "{said}");
}

#[test]
#[ignore = "hosts need root: cargo xtask test --only hosts"]
fn sixteen_hosts_are_there_at_once_and_invisible_outside() {
    let interfaces = || std::fs::read_dir("/sys/class/net").unwrap().count();
    let before = interfaces();
    let began = Instant::now();
    let output = script("16", "echo $OXMPI_HOST; cat /etc/hosts | wc -l; sleep 0.2");
    assert!(
        began.elapsed() < limit(Duration::from_secs(2)),
        "{:?}",
        began.elapsed()
    );
    let said = text(&output.stdout);
    assert!(said.starts_with("h0,h1,h2,"), "{said}");
    assert!(said.contains(",h15\n"), "{said}");
    assert_eq!(interfaces(), before);
}
