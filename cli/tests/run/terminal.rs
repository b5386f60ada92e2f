//! The launcher at a terminal: rank 0 can be typed to, and Ctrl-C and Ctrl-D mean what they always
//! mean.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::mpiexec::command;

/// A pseudo-terminal with mpiexec as its foreground program.
struct Terminal {
    keys: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
    child: Child,
}

impl Terminal {
    fn start(words: &[&str]) -> Terminal {
        let (mut master, mut slave) = (0, 0);
        // SAFETY: the two descriptors are written by the call; null asks for a terminal with
        // default settings.
        let made = unsafe {
            libc::openpty(
                &mut master,
                &mut slave,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!(made, 0);
        // SAFETY: both were just made for us.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let mut mpiexec = command(words);
        let copy = || Stdio::from(slave.try_clone().unwrap());
        mpiexec.stdin(copy()).stdout(copy()).stderr(copy());
        // SAFETY: setsid and ioctl are async-signal-safe; descriptor 0 is the terminal by then.
        unsafe {
            mpiexec.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = mpiexec.spawn().unwrap();
        // Without the parent's copies the reader below sees the end when the job is over.
        drop((mpiexec, slave));
        Terminal {
            screen: watch(master.try_clone().unwrap()),
            keys: master,
            seen: String::new(),
            child,
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows `text`.
    fn shows(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let more = self.screen.recv_timeout(Duration::from_secs(300));
            let more =
                more.unwrap_or_else(|_| panic!("{text:?} is not on the screen: {:?}", self.seen));
            self.seen += &String::from_utf8_lossy(&more);
        }
    }

    fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

fn watch(mut screen: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(count) = screen.read(&mut bytes) {
            if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[test]
fn what_is_typed_goes_to_rank_0() {
    let script = "if [ $OXMPI_RANK = 0 ]; then printf 'name? '; fi; cat";
    let mut terminal = Terminal::start(&["-l", "-n", "2", "sh", "-c", script]);
    // Labels have colours at a terminal.
    terminal.shows("[0]\x1b[0m name? ");
    terminal.press("world\n\x04");
    // The terminal's echo first, then what the rank makes of it.
    terminal.shows("[0]\x1b[0m name? world\r\nworld\r\n");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn ctrl_d_is_the_end_of_the_input() {
    let mut terminal = Terminal::start(&["-n", "1", "wc", "-l"]);
    terminal.press("one\ntwo\n\x04");
    terminal.shows("2\r\n");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn ctrl_c_reaches_every_rank() {
    let mut terminal = Terminal::start(&["-n", "3", "sh", "-c", "echo ready; sleep 1000"]);
    terminal.shows("ready\r\nready\r\nready\r\n");
    terminal.press("\x03");
    assert_eq!(terminal.end().signal(), Some(libc::SIGINT));
}
