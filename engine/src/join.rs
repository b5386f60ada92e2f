//! How a process joins its job and leaves it: its facts (`JoinFacts`), the devices that reach the
//! others, and the sizes that suit them.

use std::os::fd::OwnedFd;
use std::sync::{Arc, RwLock};

use oxmpi_net::choice::Choice;
use oxmpi_net::transport::{Sizes, Transport};
use oxmpi_ports::{Port, Segment, SegmentError};

use crate::boards::Boards;
use crate::engine::Engine;
use crate::error::{EngineError, Fault};
use crate::options::Options;
use crate::progress::{Bed, Driver, Guard, Handler, Places, Remote, Shared, Threads, WaitPolicy};
use crate::protocol::{Limits, Protocol};

/// What a process must know to join its job.
pub struct JoinFacts {
    /// Its number.
    pub rank: u32,
    /// Processes of the job.
    pub size: u32,
    /// The name of its host.
    pub host: String,
    /// The memory that its host's processes share; `None`: it shares with nobody.
    pub segment: Option<OwnedFd>,
    /// What reaches processes of other hosts; `None`: all are on this one.
    pub network: Option<Network>,
}

/// The way to other hosts.
pub struct Network {
    /// The host of every process, numbered from 0 in the order in which they first appear.
    pub hosts: Vec<u32>,
    /// Processes of one host use it too, as if each were on a host of its own.
    pub apart: bool,
    /// Its hosts are parts of one machine, and the job has more processes there than that has CPUs.
    pub oversubscribed: bool,
    /// The device.
    pub transport: Transport,
    /// Which it is, and why.
    pub choice: Choice,
}

impl Engine {
    /// Joins the job.
    ///
    /// # Safety
    /// With [`Threads::One`], no two calls on the engine (drops of [`InPlace`](crate::InPlace)
    /// included) may overlap in time, and calls of different threads must be ordered by other
    /// means.
    pub unsafe fn attach(
        facts: JoinFacts,
        options: &Options,
        threads: Threads,
    ) -> Result<Self, EngineError> {
        let JoinFacts {
            rank,
            size,
            host,
            segment,
            network,
        } = facts;
        let memory = |error: SegmentError| EngineError::memory(rank, &host, &error);
        let (places, transport, oversubscribed) = match network {
            Some(Network {
                hosts,
                apart,
                oversubscribed,
                transport,
                choice,
            }) => {
                let places = Places::several_hosts(rank, hosts, apart);
                (places, Some((transport, choice)), oversubscribed)
            }
            None => (Places::one_host(rank, size), None, false),
        };
        let ports = places.neighbours();
        let segment = match segment {
            Some(fd) => Segment::attach(fd),
            None => Segment::create(ports, 1),
        };
        let segment = Arc::new(segment.map_err(memory)?);
        if segment.ports() != ports {
            let reason = format!(
                "the launcher made room for {} processes, not for {ports}",
                segment.ports()
            );
            return Err(Fault::Memory { rank, host, reason }.into());
        }
        let usable_cpus = segment.usable_cpus();
        let job_nonce = match &transport {
            Some((net, _)) => net.job_nonce(),
            None => segment.nonce(),
        };
        let boards = Boards::new(segment.layout().boards);
        let own = places.port(rank).expect("a process is on its own host");
        let bed = match &transport {
            None => Bed::Bell,
            Some((net, _)) => {
                Bed::beside(net.fd(), &segment, own).map_err(|error| Fault::Network {
                    rank,
                    host: host.clone(),
                    reason: error.to_string(),
                })?
            }
        };
        let port = Port::open(segment, own).map_err(memory)?;
        let mut protocol = Protocol::new(rank, size, limits(&port, options));
        let others = places.others().count() as u64;
        let sizes = transport.as_ref().map(|(net, _)| net.sizes());
        let limits = sizes.map(|sizes| limits_between_hosts(others, options, sizes));
        for other in places.others() {
            protocol.set_limits(other, limits.expect("others are reached by a network"));
        }
        let oversubscribed = oversubscribed || ports > usable_cpus;
        let policy = WaitPolicy::new(options, oversubscribed);
        let (single_copy, host_count) = (options.single_copy, places.host_count());
        let hosts = (0..size).map(|process| places.host(process)).collect();
        let remote = match transport {
            None => None,
            Some((mut net, choice)) => {
                net.set_progress(options.progress)
                    .map_err(|error| Fault::Network {
                        rank,
                        host: host.clone(),
                        reason: error.to_string(),
                    })?;
                Some(Box::new(Remote::new(net, choice, size)))
            }
        };
        let has_others = size > 1 || remote.is_some();
        let may_have_driver = remote
            .as_ref()
            .is_none_or(|remote| remote.net.may_have_driver_thread());
        let name = host.clone();
        let handler = Handler::new(port, protocol, policy, single_copy, places, remote, name);
        let extents = Arc::clone(&handler.extents);
        let driver = Driver::new(
            options.driver && has_others && may_have_driver,
            oversubscribed,
        );
        // SAFETY: the caller's promise.
        let shared = Arc::new(unsafe { Shared::new(handler, bed, driver, threads) });
        Ok(Self {
            shared,
            size,
            host,
            hosts: RwLock::new(hosts),
            limits,
            host_count,
            job_nonce,
            extents,
            boards,
            started: std::time::Instant::now(),
        })
    }

    /// Says goodbye: sends what is due, stops the driver. Connections end when their other side has
    /// heard it.
    pub fn finalize(&self) {
        let mut handler = self.send_what_is_due();
        self.close_connections(&mut handler, false);
        // Receives that nobody waited for are over too, and their memory is the user's again.
        handler.close_driver();
        // Nothing more is sent or taken; a broken engine must not keep its process from ending
        // either.
        handler.broken.take();
        drop(handler);
        self.shared.driver.stop();
        self.shared.segment.finish(self.shared.port);
    }

    /// Nobody uses the engine for now: sends what is due. If the process ends before
    /// [`Engine::resume`], that is a goodbye.
    pub fn pause(&self) {
        let mut handler = self.send_what_is_due();
        self.close_connections(&mut handler, true);
        drop(handler);
        self.shared.segment.excuse(self.shared.port, true);
    }

    /// Somebody uses the engine again.
    pub fn resume(&self) {
        self.shared.segment.excuse(self.shared.port, false);
    }

    fn send_what_is_due(&self) -> Guard<'_> {
        let mut handler = self.shared.enter();
        let _ = self
            .shared
            .wait(&mut handler, None, &mut |handler: &mut Handler| {
                handler.is_flushed()
            });
        handler
    }

    /// A socket that is closed while something lies in it unread makes the kernel drop what its
    /// other side has not read yet. So both sides say that they are done, and close only when they
    /// have heard it from each other.
    fn close_connections(&self, handler: &mut Guard<'_>, pause: bool) {
        if let Some(remote) = &mut handler.ways.remote {
            remote.net.close(pause);
            let _ = self
                .shared
                .wait(handler, None, &mut |handler: &mut Handler| {
                    let remote = handler.ways.remote.as_ref();
                    remote.is_none_or(|remote| remote.net.is_closed())
                });
        }
    }
}

impl Drop for Engine {
    /// Without [`Engine::finalize`] nobody is told; but no thread goes on answering for a process
    /// that is not there any more.
    fn drop(&mut self) {
        self.shared.driver.stop();
    }
}

/// Sizes for the ports, measured with `oxmpi bench`; docs/benchmarks.md has the numbers.
fn limits(port: &Port, options: &Options) -> Limits {
    // Eight fragments to a ring, see `Layout::new`.
    let fragment_bytes = (port.segment().layout().payload_bytes / 8).min(64 << 10);
    let neighbours = u64::from(port.segment().ports());
    let room_bytes = (ROOM_BYTES_ON_HOST / neighbours).clamp(ROOM_BYTES_LONG, ROOM_BYTES_MOST);
    Limits {
        eager_bytes_max: options.eager_bytes.unwrap_or(64 << 10),
        copied_bytes_max: u64::MAX,
        room_bytes,
        reserved_bytes: room_bytes - ROOM_BYTES_LONG,
        kept_bytes_max: room_bytes,
        fragment_bytes,
        fragment_bytes_short: fragment_bytes.min(16 << 10),
        short_bytes_max: 64 << 10,
        fetch_bytes_min: 32 << 10,
        unexpected_max: 1 << 24,
    }
}

/// Bytes that all processes of this host together may have unmatched here, and one of them at most:
/// 131 072 messages of 8 bytes, each of which counts as 128.
const ROOM_BYTES_ON_HOST: u64 = 64 << 20;
const ROOM_BYTES_MOST: u64 = 16 << 20;

/// What messages of more than a line may take of it: a long one that waits is copied once more, so
/// that beyond these it is better offered.
const ROOM_BYTES_LONG: u64 = 1 << 20;

/// Bytes that all processes of other hosts together may have unmatched here.
const ROOM_BYTES_BETWEEN_HOSTS: u64 = 256 << 20;

/// Bytes that one of them may have unmatched here at most. Hosts with more ranks give each peer
/// less room, so that the least and the most differ within a job.
const ROOM_BYTES_MAX: u64 = 8 << 20;

/// Sizes for the network: a message that is offered costs a round trip more, so that more go eager,
/// and each peer has room for a window of 64 messages of 64 KiB; what is written in one call is the
/// device's choice.
fn limits_between_hosts(peers: u64, options: &Options, sizes: Sizes) -> Limits {
    let room_bytes = (ROOM_BYTES_BETWEEN_HOSTS / peers.max(1)).clamp(64 << 10, ROOM_BYTES_MAX);
    let eager_bytes = options.eager_bytes.unwrap_or(sizes.eager_bytes);
    let eager_bytes_max = eager_bytes.min(room_bytes / 2);
    let copied_bytes_max = sizes.copied_bytes_max;
    Limits {
        eager_bytes_max,
        copied_bytes_max,
        room_bytes,
        reserved_bytes: 0,
        kept_bytes_max: ROOM_BYTES_MAX,
        fragment_bytes: 256 << 10,
        fragment_bytes_short: 256 << 10,
        short_bytes_max: 64 << 10,
        // Nobody can fetch out of another host.
        fetch_bytes_min: u64::MAX,
        unexpected_max: 1 << 24,
    }
}
