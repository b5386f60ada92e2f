//! Telling a process that is slow from one that is gone.
//!
//! A process that computes, or is stopped, gives no sign of life by frames, and must be waited for.
//! So a silent process's TCP listener is dialled: its kernel takes the connection without asking
//! the process. As long as the connection stands, the process exists; if it is refused or broken,
//! and refused again, the process is gone; if nobody answers at all, its host or the network is
//! gone. No byte is ever sent on it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use super::sys;

/// No more than this counts as waiting between two looks: a process that was stopped itself has not
/// waited for anybody.
const LOOK_NS_MAX: u64 = 1_000_000_000;
/// Listeners of one process that are dialled at once: a host with more addresses is seldom, and one
/// that answers is enough.
const DIALS_MAX: usize = 4;

/// What a look came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nobody has answered yet.
    Open,
    /// The process exists.
    Exists,
    /// Its host says that it does not.
    Gone(String),
}

enum Dial {
    /// Undecided, or connected; whether it was connected before.
    Under { stream: TcpStream, connected: bool },
    /// The host answered that nobody listens.
    Refused(io::Error),
    /// It got nowhere.
    Failed,
}

pub(super) struct Liveness {
    dials: Vec<(SocketAddr, Dial)>,
    last: u64,
    /// For so long nobody has answered anything.
    pub waited_ns: u64,
}

impl Liveness {
    /// Dials the listeners. `at`: where frames of the process came from; listeners elsewhere may be
    /// another host's, whose refusal says nothing.
    pub fn begin(now: u64, listeners: &[SocketAddr], at: Option<IpAddr>) -> Liveness {
        let there = |listener: &&SocketAddr| at.is_none_or(|ip| ip == listener.ip());
        let mut chosen: Vec<SocketAddr> = listeners.iter().filter(there).copied().collect();
        if chosen.is_empty() {
            chosen = listeners.to_vec();
        }
        chosen.truncate(DIALS_MAX);
        let dials = chosen
            .into_iter()
            .map(|listener| (listener, dial(&listener)));
        Liveness {
            dials: dials.collect(),
            last: now,
            waited_ns: 0,
        }
    }

    /// What has become of the dials.
    pub fn look(&mut self, now: u64) -> Verdict {
        self.waited_ns += (now - self.last).min(LOOK_NS_MAX);
        self.last = now;
        let verdict = self.judge();
        if verdict == Verdict::Exists {
            self.waited_ns = 0;
        }
        verdict
    }

    fn judge(&mut self) -> Verdict {
        let mut refusal = None;
        let mut open = 0;
        for (listener, dial) in &mut self.dials {
            look_at(listener, dial);
            match dial {
                Dial::Under {
                    connected: true, ..
                } => return Verdict::Exists,
                Dial::Under { .. } => open += 1,
                Dial::Refused(error) => {
                    refusal = Some(format!("nobody listens at {listener} any more ({error})"));
                }
                Dial::Failed => {}
            }
        }
        match refusal {
            Some(refusal) if open == 0 => Verdict::Gone(refusal),
            _ => Verdict::Open,
        }
    }

    /// For people: what was dialled.
    pub fn describe(&self) -> String {
        let listeners = self.dials.iter().map(|(listener, _)| listener.to_string());
        listeners.collect::<Vec<_>>().join(", ")
    }
}

fn dial(listener: &SocketAddr) -> Dial {
    match sys::dial(listener) {
        Ok(stream) => Dial::Under {
            stream,
            connected: false,
        },
        Err(error) => judge(error),
    }
}

fn judge(error: io::Error) -> Dial {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Dial::Refused(error),
        _ => Dial::Failed,
    }
}

fn look_at(listener: &SocketAddr, it: &mut Dial) {
    let Dial::Under { stream, connected } = it else {
        return;
    };
    if let Ok(Some(error)) = stream.take_error() {
        // A connection that stood may have been closed for another reason than the process's end; a
        // new one tells.
        *it = if *connected {
            dial(listener)
        } else {
            judge(error)
        };
        return;
    }
    if !*connected && stream.peer_addr().is_err() {
        return;
    }
    *connected = true;
    match stream.peek(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        // It ended.
        Ok(0) | Err(_) => *it = dial(listener),
        // Nobody has a reason to say anything, and it does not matter.
        Ok(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    fn look_until(liveness: &mut Liveness, wanted: impl Fn(&Verdict) -> bool) -> Verdict {
        let begin = Instant::now();
        loop {
            let verdict = liveness.look(0);
            if wanted(&verdict) || begin.elapsed() > Duration::from_secs(5) {
                return verdict;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_process_exists_until_its_listener_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut liveness = Liveness::begin(0, &[address], None);
        let verdict = look_until(&mut liveness, |verdict| *verdict == Verdict::Exists);
        assert_eq!(verdict, Verdict::Exists);
        drop(listener);
        let verdict = look_until(&mut liveness, |verdict| matches!(verdict, Verdict::Gone(_)));
        let Verdict::Gone(text) = verdict else {
            panic!("{verdict:?}");
        };
        assert!(text.contains(&address.to_string()), "{text}");
    }

    #[test]
    fn a_connection_that_is_merely_closed_is_no_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut liveness = Liveness::begin(0, &[listener.local_addr().unwrap()], None);
        drop(listener.accept().unwrap());
        for _ in 0..20 {
            assert!(!matches!(liveness.look(0), Verdict::Gone(_)));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(liveness.look(0), Verdict::Exists);
    }

    #[test]
    fn listeners_of_other_places_are_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], here.port()));
        let mut liveness = Liveness::begin(0, &[elsewhere, here], Some(here.ip()));
        assert_eq!(liveness.describe(), here.to_string());
        let verdict = look_until(&mut liveness, |verdict| *verdict == Verdict::Exists);
        assert_eq!(verdict, Verdict::Exists);
    }
}
