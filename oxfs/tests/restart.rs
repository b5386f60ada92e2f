//! The server is killed by kill -9 at random moments while clients change things that must not be
//! changed twice: every operation is done once, and nothing of it is lost.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxmpi_oxfs::client::{Extra, Remote};
use oxmpi_oxfs::protocol::{Operation, Request, lock};
use support::{Random, Server, errno, seeds};

#[test]
fn serving() {
    support::serving();
}

/// Operations that would fail, or show, if they were done twice.
fn work(remote: &Remote, worker: u64, rounds: u64, seed: u64, done: &AtomicU64) {
    let mut random = Random::new(seed * 31 + worker);
    let root = remote.root().node;
    let folder = format!("worker{worker}");
    let folder = remote
        .mkdir(root, folder.as_bytes(), 0o755)
        .expect("made once");
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (log, open) = remote
        .create(folder.node, b"log", 0o644, flags)
        .expect("made once");
    for round in 0..rounds {
        let record = format!("{round:08}\n").into_bytes();
        let wrote = remote.append(log.node, open, record).expect("appended");
        assert_eq!(wrote, 9, "a record is appended whole");
        let name = format!("file{round}");
        let (made, file) = remote
            .create(folder.node, name.as_bytes(), 0o400, flags)
            .unwrap_or_else(|error| panic!("seed {seed}, {name} was made twice: {error}"));
        let data = vec![round as u8; 1 + random.below(3000) as usize];
        let wrote = remote.write(made.node, file, 0, data.clone());
        assert_eq!(wrote.expect("written"), data.len() as u64);
        remote.client.close(file).expect("closed");
        done.fetch_add(1, Ordering::Relaxed);
        let changed = match random.below(4) {
            0 => {
                let other = format!("moved{round}");
                let (from, to) = (name.as_bytes(), other.as_bytes());
                remote.rename(folder.node, from, folder.node, to, libc::RENAME_NOREPLACE)
            }
            1 => remote.remove(folder.node, name.as_bytes(), false),
            2 => {
                let other = format!("link{round}");
                remote.link(folder.node, other.as_bytes(), made.node)
            }
            _ => {
                let other = format!("folder{round}");
                let made = remote.mkdir(folder.node, other.as_bytes(), 0o700);
                made.and_then(|_| remote.remove(folder.node, other.as_bytes(), true))
            }
        };
        changed.unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        if round % 8 == 0 {
            remote.fsync(log.node, open).expect("synced");
        }
    }
    remote.client.close(open).expect("closed");
}

#[test]
fn killed_at_random_moments_it_does_nothing_twice() {
    for seed in seeds(2) {
        let mut server = Server::start("restart", &["--no-root-squash", "--lease", "10"]);
        let (rounds, workers) = (40, 2);
        let done = AtomicU64::new(0);
        let remotes: Vec<Remote> = (0..workers).map(|_| server.client()).collect();
        let mut kills = 0;
        std::thread::scope(|scope| {
            let threads: Vec<_> = remotes
                .iter()
                .enumerate()
                .map(|(number, remote)| {
                    let done = &done;
                    scope.spawn(move || work(remote, number as u64, rounds, seed, done))
                })
                .collect();
            let ended = || {
                threads
                    .iter()
                    .all(std::thread::ScopedJoinHandle::is_finished)
            };
            let mut random = Random::new(seed);
            while !ended() {
                // However slow the machine is, there is progress between two kills.
                let enough = done.load(Ordering::Relaxed) + 1 + random.below(12);
                while done.load(Ordering::Relaxed) < enough && !ended() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_micros(random.below(4000)));
                server.kill();
                server.run();
                kills += 1;
            }
        });
        assert!(
            kills > 1,
            "seed {seed}: the server was killed {kills} times"
        );
        for worker in 0..workers {
            let folder = server.export.join(format!("worker{worker}"));
            let log = std::fs::read_to_string(folder.join("log")).expect("the log");
            let expected: String = (0..rounds).map(|round| format!("{round:08}\n")).collect();
            assert_eq!(log, expected, "seed {seed}, worker {worker}");
        }
    }
}

#[test]
fn opens_of_removed_files_and_locks_are_reclaimed() {
    let mut server = Server::start("reclaim", &["--no-root-squash", "--lease", "3"]);
    let (one, two) = (server.client(), server.client());
    let root = one.root().node;
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = one.create(root, b"doomed", 0o600, flags).expect("made");
    one.write(file.node, open, 0, b"still here".to_vec())
        .expect("written");
    let (held, held_open) = one.create(root, b"held", 0o666, flags).expect("made");
    let whole = |remote: &Remote, open: u64, how: u64| {
        let request = Request {
            node: held.node,
            open,
            arguments: [7, libc::F_WRLCK as u64, 0, u64::MAX, how, 0],
            ..Request::default()
        };
        remote.ask(Operation::Lock, request, Extra::NONE, b"lock")
    };
    whole(&one, held_open, 0).expect("locked");
    one.remove(root, b"doomed", false).expect("removed");
    assert_eq!(one.getattr(file.node).expect("it is open").attr.links, 0);
    server.kill();
    server.run();
    let data = one.read(file.node, open, 0, 100).expect("reclaimed");
    assert_eq!(data, b"still here");
    assert_eq!(one.getattr(file.node).expect("it is open").attr.links, 0);
    // Until locks are reclaimed nobody else gets one.
    let two_open = two.open(held.node, libc::O_RDWR).expect("opened");
    assert_eq!(errno(&whole(&two, two_open, 0)), libc::EAGAIN);
    whole(&one, held_open, lock::RECLAIM).expect("reclaimed");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(errno(&whole(&two, two_open, 0)), libc::EAGAIN, "still held");
    one.client.close(open).expect("closed");
    assert_eq!(errno(&one.getattr(file.node)), libc::ESTALE);
    let aside = server.export.join(".oxfs/aside");
    assert_eq!(std::fs::read_dir(aside).expect("aside").count(), 0);
}

/// Whoever has many locks takes longer than a lease to reclaim them, and gets all; but nobody keeps
/// others waiting for ever by that.
#[test]
fn reclaiming_takes_as_long_as_it_takes() {
    let mut server = Server::start("many", &["--no-root-squash", "--lease", "1"]);
    let one = server.client();
    let root = one.root().node;
    let (held, open) = one
        .create(root, b"held", 0o666, libc::O_RDWR)
        .expect("made");
    let lock_at = |remote: &Remote, open: u64, at: u64, how: u64| {
        let request = Request {
            node: held.node,
            open,
            arguments: [7, libc::F_WRLCK as u64, at, at, how, 0],
            ..Request::default()
        };
        errno(&remote.ask(Operation::Lock, request, Extra::NONE, b"lock"))
    };
    assert_eq!(lock_at(&one, open, 0, 0), 0);
    server.kill();
    server.run();
    one.read(held.node, open, 0, 100).expect("reclaimed");
    let begun = Instant::now();
    let mut reclaimed = 0;
    while begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(lock_at(&one, open, reclaimed, lock::RECLAIM), 0);
        reclaimed += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    let two = server.client();
    let two_open = two.open(held.node, libc::O_RDWR).expect("opened");
    assert_eq!(lock_at(&two, two_open, 0, 0), libc::EAGAIN);
    while lock_at(&one, open, reclaimed, lock::RECLAIM) == 0 {
        let taken = begun.elapsed();
        assert!(taken < Duration::from_secs(6), "{taken:?}");
        reclaimed += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(lock_at(&two, two_open, 0, 0), libc::EAGAIN, "it is held");
    assert_eq!(lock_at(&two, two_open, 1 << 40, 0), 0);
}

#[test]
fn nodes_keep_their_numbers_and_strangers_are_stale() {
    let mut server = Server::start("nodes", &["--no-root-squash"]);
    let one = server.client();
    std::fs::create_dir_all(server.export.join("a/b")).expect("folders");
    std::fs::write(server.export.join("a/b/c"), b"x").expect("a file");
    std::fs::write(server.export.join("a/gone"), b"x").expect("a file");
    let kept = one.find(b"a/b/c", true).expect("it is there");
    let gone = one.find(b"a/gone", true).expect("it is there");
    let moved = one.find(b"a/b", true).expect("it is there");
    let folder = one.find(b"a", true).expect("it is there");
    one.rename(folder.node, b"b", folder.node, b"new", 0)
        .expect("renamed");
    server.kill();
    std::fs::remove_file(server.export.join("a/gone")).expect("removed");
    std::fs::write(server.export.join("a/gone"), b"another").expect("a file");
    server.run();
    let again = one.find(b"a/new/c", true).expect("it is there");
    assert_eq!(again.node, kept.node);
    assert_eq!(
        one.getattr(moved.node).expect("it was moved").node,
        moved.node
    );
    assert_eq!(errno(&one.getattr(gone.node)), libc::ESTALE);
    assert_eq!(errno(&one.getattr(1 << 50)), libc::ESTALE);
}
