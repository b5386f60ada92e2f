//! Connections whose two ends have proved that they know the key.
//!
//! The handshake is `oxmpi_handshake`'s. The dialler is rank 1 and the answerer rank 0, and every
//! proven connection is kept. Unproven connections are bounded in number and in time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oxmpi_handshake::key::{RandomError, random_nonce};
use oxmpi_handshake::{Answerer, Dialler, JobKey, Progress, Refusal, Step, Verdict};

/// The dialler's rank in the handshake.
const DIALLER: u32 = 1;
/// The answerer's.
const ANSWERER: u32 = 0;
/// Handshakes that a listener has under way at most. Others wait in the kernel's backlog, so a
/// crowd of strangers delays newcomers by [`HANDSHAKE`] and costs no more than these threads.
const HANDSHAKES_MAX: usize = 32;
/// How long a stranger may take to prove itself.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// A stream whose other end is proven. Handed to [`Endpoint::adopt`](crate::Endpoint::adopt).
#[derive(Debug)]
pub struct Connection {
    pub(crate) stream: TcpStream,
    /// Bytes that came behind the handshake.
    pub(crate) ahead: Vec<u8>,
    /// The other end.
    pub peer: SocketAddr,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// TCP's error.
    #[error("no connection to {address} ({error}): is the server running, and is this its port?")]
    Connect {
        /// Where to.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// The other end is not what was expected.
    #[error("{address} was refused: {refusal}; both ends need the same key file")]
    Refused {
        /// Where to.
        address: String,
        /// Why.
        refusal: Refusal,
    },
    /// It ended the connection in the handshake.
    #[error(
        "{address} ended the connection during the handshake ({error}): it may have another key, \
         or as many clients as it takes"
    )]
    Ended {
        /// Where to.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// The answerer has no use for the connection.
    #[error("{address} does not want this connection ({verdict:?})")]
    Unwanted {
        /// Where to.
        address: String,
        /// What it said.
        verdict: Verdict,
    },
    /// There is no nonce.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// What became of one handshake, seen from inside.
enum Failed {
    Io(io::Error),
    Refused(Refusal),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

/// Runs a handshake until its state machine says that it is over; what came behind it.
fn shake(
    stream: &mut TcpStream,
    deadline: Instant,
    mut handle: impl FnMut(&[u8]) -> Step,
) -> Result<(Progress, Vec<u8>), Failed> {
    let mut buffer = [0; 256];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        stream.set_read_timeout(Some(left))?;
        let got = match stream.read(&mut buffer)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            got => got,
        };
        let step = handle(&buffer[..got]);
        stream.write_all(&step.send)?;
        match step.progress {
            Progress::More => {}
            Progress::Refused(refusal) => return Err(Failed::Refused(refusal)),
            over => return Ok((over, buffer[step.consumed..got].to_vec())),
        }
    }
}

impl Connection {
    /// Connects and proves both ends; the whole of it may take so long.
    pub fn dial(address: &str, key: &JobKey, timeout: Duration) -> Result<Connection, DialError> {
        let name = || address.to_owned();
        let deadline = Instant::now() + timeout;
        let connected = address.to_socket_addrs().and_then(|found| {
            let mut last = io::Error::from(io::ErrorKind::NotFound);
            for candidate in found {
                let left = deadline.saturating_duration_since(Instant::now());
                match TcpStream::connect_timeout(&candidate, left.max(Duration::from_millis(1))) {
                    Ok(stream) => return Ok((stream, candidate)),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        let (mut stream, peer) = connected.map_err(|error| DialError::Connect {
            address: name(),
            error,
        })?;
        let (mut dialler, hello) = Dialler::new(key, DIALLER, ANSWERER, random_nonce()?);
        let shaken = (|| {
            stream.set_nodelay(true)?;
            stream.write_all(&hello)?;
            shake(&mut stream, deadline, |bytes| dialler.handle(bytes))
        })();
        match shaken {
            Ok((Progress::Done(Verdict::Keep), ahead)) => Ok(Connection {
                stream,
                ahead,
                peer,
            }),
            Ok((Progress::Done(verdict), _)) => Err(DialError::Unwanted {
                address: name(),
                verdict,
            }),
            Ok(_) => unreachable!("a dialler's handshake ends with a verdict"),
            Err(Failed::Refused(refusal)) => Err(DialError::Refused {
                address: name(),
                refusal,
            }),
            Err(Failed::Io(error)) => Err(DialError::Ended {
                address: name(),
                error,
            }),
        }
    }

    fn answer(mut stream: TcpStream, peer: SocketAddr, key: &JobKey) -> Option<Connection> {
        stream.set_nodelay(true).ok()?;
        let mut answerer = Answerer::new(key, ANSWERER, random_nonce().ok()?);
        let deadline = Instant::now() + HANDSHAKE;
        let (_, ahead) = shake(&mut stream, deadline, |bytes| answerer.handle(bytes)).ok()?;
        stream.write_all(&answerer.verdict(Verdict::Keep)).ok()?;
        Some(Connection {
            stream,
            ahead,
            peer,
        })
    }
}

/// Answers at an address until it is dropped.
pub struct Listener {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
}

impl Listener {
    /// Listens; `accepted` is called, from threads of the listener's, with each proven connection.
    pub fn start(
        address: &str,
        key: &JobKey,
        accepted: impl Fn(Connection) + Send + Sync + 'static,
    ) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let ending = Arc::new(AtomicBool::new(false));
        let (key, told, accepted) = (key.clone(), ending.clone(), Arc::new(accepted));
        let accept = move || {
            let shaking = Arc::new(AtomicUsize::new(0));
            loop {
                let accepting = listener.accept();
                if told.load(Ordering::Acquire) {
                    return;
                }
                let Ok((stream, peer)) = accepting else {
                    // Descriptors may be short for a moment; the connection waits in the backlog.
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                };
                while shaking.load(Ordering::Acquire) >= HANDSHAKES_MAX {
                    std::thread::sleep(Duration::from_millis(5));
                }
                shaking.fetch_add(1, Ordering::AcqRel);
                let (key, accepted, shaking) = (key.clone(), accepted.clone(), shaking.clone());
                std::thread::spawn(move || {
                    let proven = Connection::answer(stream, peer, &key);
                    shaking.fetch_sub(1, Ordering::AcqRel);
                    if let Some(connection) = proven {
                        accepted(connection);
                    }
                });
            }
        };
        std::thread::Builder::new()
            .name("oxk listener".into())
            .spawn(accept)?;
        Ok(Listener { address, ending })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    /// Ends the thread by a connection to itself.
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_millis(200));
    }
}
