//! The smallest launcher: starts a program as several ranks and serves them PMI-1 and PMI-2.
//!
//! `serve 4 program arguments…` starts four ranks on one host; `serve 0,0,1,1 program…` makes
//! believe that they are on two, each host with a server of its own, and carries fences between the
//! servers as agents do. A socket's other end is PMI_FD of the rank. It exists to try other MPI
//! libraries under the server; jobs are for `oxmpi run`.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{Sender, channel};

use oxmpi_pmi::{Event, Facts, Left, Server};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(hosts), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!(
            "serve: give the number of ranks, or the host number of each (0,0,1), and a program"
        );
        return ExitCode::from(2);
    };
    let hosts: Vec<u32> = match hosts.parse::<usize>() {
        Ok(count) => vec![0; count],
        Err(_) => hosts
            .split(',')
            .map(|host| host.parse().expect("host numbers are numbers"))
            .collect(),
    };
    let arguments: Vec<String> = arguments.collect();
    let (sender, receiver) = channel();
    let mut ranks: Vec<(Child, UnixStream)> = (0..hosts.len())
        .map(|rank| start(rank, &hosts, &program, &arguments, sender.clone()))
        .collect();
    drop(sender);

    let mut job = Job::new(&hosts);
    while let Ok((rank, bytes)) = receiver.recv() {
        for event in job.handle(rank, &bytes) {
            match event {
                Event::Reply { rank, bytes } => {
                    // A rank that has gone needs no answer.
                    let _ = ranks[rank as usize].1.write_all(&bytes);
                }
                Event::Abort { rank, code, text } => {
                    eprintln!("serve: rank {rank} ends the job with {code}: {text}");
                    for (child, _) in &mut ranks {
                        let _ = child.kill();
                        let _ = child.wait();
                    }
                    return ExitCode::from(code as u8);
                }
                Event::Fence { .. } | Event::Deserted { .. } => {
                    unreachable!("fences stay inside the job")
                }
            }
        }
    }
    let mut worst = ExitCode::SUCCESS;
    for (rank, (child, _)) in ranks.iter_mut().enumerate() {
        let status = child.wait().expect("a child can be waited for");
        let left = job.left(rank as u32);
        if !status.success() || left == Left::Initialised {
            eprintln!("serve: rank {rank}: {status}, {left:?}");
            worst = ExitCode::FAILURE;
        }
    }
    worst
}

/// A server for every host, and the fence between them.
struct Job {
    hosts: Vec<u32>,
    servers: BTreeMap<u32, Server>,
    /// What the servers whose ranks wait have to say.
    fencing: Vec<Vec<(String, String)>>,
}

impl Job {
    fn new(hosts: &[u32]) -> Job {
        let clock = std::time::SystemTime::now();
        let now = clock
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!("serve-{}-{}", std::process::id(), now.as_nanos());
        let server = |host: u32| {
            let local = (0..hosts.len() as u32).filter(|&rank| hosts[rank as usize] == host);
            Server::new(Facts {
                job: name.clone(),
                size: hosts.len() as u32,
                hosts: hosts.to_vec(),
                programs: vec![0; hosts.len()],
                local: local.collect(),
            })
        };
        Job {
            hosts: hosts.to_vec(),
            servers: hosts.iter().map(|&host| (host, server(host))).collect(),
            fencing: Vec::new(),
        }
    }

    fn handle(&mut self, rank: u32, bytes: &[u8]) -> Vec<Event> {
        let server = self
            .servers
            .get_mut(&self.hosts[rank as usize])
            .expect("every host has one");
        server.handle(rank, bytes);
        let mut events = Vec::new();
        while let Some(event) = server.poll() {
            match event {
                Event::Fence { puts } => self.fencing.push(puts),
                other => events.push(other),
            }
        }
        if self.fencing.len() == self.servers.len() {
            let all = std::mem::take(&mut self.fencing).concat();
            for server in self.servers.values_mut() {
                server.fence_over(&all);
                events.extend(std::iter::from_fn(|| server.poll()));
            }
        }
        events
    }

    fn left(&self, rank: u32) -> Left {
        self.servers[&self.hosts[rank as usize]].has_left(rank)
    }
}

fn start(
    rank: usize,
    hosts: &[u32],
    program: &str,
    arguments: &[String],
    sender: Sender<(u32, Vec<u8>)>,
) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let fd = theirs.as_raw_fd();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("PMI_FD", fd.to_string())
        .env("PMI_RANK", rank.to_string())
        .env("PMI_SIZE", hosts.len().to_string());
    // SAFETY: fcntl may be called between fork and exec, and the descriptor is open there as it is
    // here.
    unsafe {
        command.pre_exec(move || match libc::fcntl(fd, libc::F_SETFD, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    let mut reader = ours.try_clone().expect("a second descriptor");
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            if sender.send((rank as u32, bytes[..count].to_vec())).is_err() {
                break;
            }
        }
    });
    (child, ours)
}
