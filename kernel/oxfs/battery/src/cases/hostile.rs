//! A server that knows the key and answers whatever comes into its mind: the kernel must not mind.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxmpi_oxk::{Bounds, Endpoint, Handlers, Listener};

use super::{Case, Outcome, good, pattern};
use crate::sys;
use crate::world::{MOUNTS, count};

pub const CASES: &[Case] = &[Case {
    name: "hostile",
    time_s: 240,
    run: hostile,
}];

const PORT: u16 = 5099;
/// One that found a mount refused.
const SEED_BEFORE: u64 = 1075;
/// Of `struct oxfs_reply`.
const REPLY_BYTES: usize = 184;

/// Random numbers, shared by the threads of a server.
struct Dice(AtomicU64);

impl Dice {
    fn roll(&self) -> u64 {
        let mut state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }

    fn once_in(&self, n: u64) -> bool {
        self.roll().is_multiple_of(n)
    }
}

fn put(reply: &mut [u8], at: usize, value: u64) {
    reply[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// A reply that is nearly right.
fn reply(dice: &Dice, operation: u64, node: u64) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = vec![0; REPLY_BYTES];
    let kinds = [
        0o040_755u64,
        0o100_644,
        0o120_777,
        0o010_644,
        0o020_666,
        0o170_000,
        0,
    ];
    let kind = kinds[(dice.roll() % 7) as usize];
    let error = if dice.once_in(8) {
        dice.roll() as u32
    } else {
        0
    };
    bytes[..4].copy_from_slice(&error.to_le_bytes());
    bytes[4..8].copy_from_slice(&(dice.roll() as u32 | 1).to_le_bytes());
    // node, open, data_bytes, values, attr
    put(
        &mut bytes,
        8,
        if dice.once_in(4) {
            node
        } else {
            dice.roll() % 5
        },
    );
    put(&mut bytes, 16, dice.roll() % 9);
    let mut data = Vec::new();
    if dice.once_in(2) && matches!(operation, 16 | 19 | 22 | 26 | 28) {
        let most = if dice.once_in(6) { 3 << 20 } else { 5_000 };
        data = pattern(dice.roll(), (dice.roll() % most) as usize);
    }
    put(
        &mut bytes,
        24,
        if dice.once_in(6) {
            dice.roll()
        } else {
            data.len() as u64
        },
    );
    for value in 0..6 {
        let number = if dice.once_in(2) {
            dice.roll()
        } else {
            dice.roll() % 4096
        };
        put(&mut bytes, 32 + 8 * value, number);
    }
    for field in 0..5 {
        let number = if dice.once_in(3) {
            dice.roll()
        } else {
            dice.roll() % 100_000
        };
        put(&mut bytes, 80 + 8 * field, number);
    }
    put(&mut bytes, 120, kind | ((dice.roll() % 4) << 32));
    put(&mut bytes, 128, 0);
    for field in 0..6 {
        put(&mut bytes, 136 + 8 * field, dice.roll());
    }
    (bytes, data)
}

/// HELLO and the root's attributes are answered well enough that there is a mount.
fn decent(operation: u64) -> Vec<u8> {
    let mut bytes = vec![0; REPLY_BYTES];
    bytes[4] = 1;
    put(&mut bytes, 8, 1);
    for (value, number) in [77, 64, 1 << 20, 5_000, 3, 0].into_iter().enumerate() {
        put(
            &mut bytes,
            32 + 8 * value,
            if operation == 1 { number } else { 0 },
        );
    }
    put(&mut bytes, 80, 1);
    put(&mut bytes, 120, 0o040_777 | 2 << 32);
    bytes
}

fn answer(endpoint: &Arc<Endpoint>, dice: &Arc<Dice>, asked: &Arc<AtomicU64>) {
    let (again, dice2, asked2) = (Arc::downgrade(endpoint), dice.clone(), asked.clone());
    let done = Box::new(move |completed: oxmpi_oxk::Completed| {
        let (Some(endpoint), Some(peer)) = (again.upgrade(), completed.status.peer) else {
            return;
        };
        let bits = completed.status.bits;
        let (operation, low) = (bits >> 48 & 0xfff, bits & ((1 << 60) - 1));
        let number = asked2.fetch_add(1, Ordering::Relaxed);
        let node = completed.buffer.get(16..24).map_or(0, |bytes| {
            u64::from_le_bytes(bytes.try_into().unwrap_or_default())
        });
        let decently = operation <= 3 || number < 4;
        let (head, data) = match decently {
            true => (decent(operation), Vec::new()),
            false => reply(&dice2, operation, node),
        };
        let send = |kind: u64, bytes: Vec<u8>| {
            let _ = endpoint.send(peer, kind << 60 | low, bytes, None);
        };
        let head = match (decently, dice2.roll() % 40) {
            (false, 0) => head[..100].to_vec(),
            (false, 1) => [head, vec![1; 500]].concat(),
            _ => head,
        };
        if !data.is_empty() && dice2.once_in(2) {
            send(3, data.clone());
        }
        if decently || !dice2.once_in(60) {
            send(2, head.clone());
        }
        if !data.is_empty() {
            send(3, data);
        }
        // Twice, and things that nobody asked for.
        if !decently && dice2.once_in(10) {
            send(2, head);
            send(dice2.roll() % 16, pattern(1, 300));
            let mut recall = vec![0; 16];
            put(&mut recall, 0, dice2.roll() % 5);
            put(&mut recall, 8, dice2.roll() % 8);
            send(5, recall);
        }
        if !decently && dice2.once_in(150) {
            endpoint.disconnect(peer);
        }
        answer(&endpoint, &dice2, &asked2);
    });
    let _ = endpoint.receive(1 << 60, 15 << 60, vec![0; 1024], done);
}

/// The server process.
fn serve(seed: u64) -> i32 {
    let key = oxmpi_oxfs::key::read_or_make(Path::new("/srv/hostile-key"));
    let Ok(key) = key else {
        return 1;
    };
    let dice = Arc::new(Dice(AtomicU64::new(seed)));
    let accepted = move |connection| {
        let bounds = Bounds {
            requests: 512,
            peers: 1,
            unexpected_bytes: 4 << 20,
            eager_bytes: 1 << 20,
            handler: false,
        };
        let Ok(endpoint) = Endpoint::open(bounds, Handlers::default()) else {
            return;
        };
        let endpoint = Arc::new(endpoint);
        let asked = Arc::new(AtomicU64::new(0));
        for _ in 0..32 {
            answer(&endpoint, &dice, &asked);
        }
        let _ = endpoint.adopt(connection);
        std::mem::forget(endpoint);
    };
    let listener = Listener::start(&format!("127.0.0.1:{PORT}"), &key, accepted);
    match listener {
        Ok(_listener) => loop {
            std::thread::park();
        },
        Err(_) => 1,
    }
}

/// What a process might do with such a mount.
fn use_it(root: &Path, seed: u64) {
    for round in 0..40u64 {
        let path = root.join(format!("n{}", (seed + round) % 3));
        let _ = fs::metadata(&path);
        let _ = fs::read_dir(root).map(|list| list.take(100).count());
        let _ = fs::read(&path);
        let _ = fs::read_link(&path);
        let _ = fs::create_dir(&path);
        let options = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        if let Ok(file) = options {
            let _ = file.write_all_at(&pattern(round, 9_000), 100);
            let _ = file.read_at(&mut [0; 5_000], round * 1_000);
            let _ = file.sync_all();
            let _ = file.set_len(round * 100);
            let _ = sys::lock(&file, libc::F_SETLK, libc::F_WRLCK, 0, 10);
            let _ = sys::seek(&file, 0, libc::SEEK_HOLE);
        }
        let _ = sys::get_xattr(&path, "user.x", 100);
        let _ = sys::list_xattr(&path);
        let _ = fs::rename(&path, root.join("n9"));
        let _ = fs::hard_link(&path, root.join("n8"));
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir(&path);
        let _ = sys::statfs(root);
    }
}

fn hostile() -> Outcome {
    let text = "0101010101010101".repeat(2) + "\n";
    good("key", fs::write("/srv/hostile-key", text))?;
    sys::set_mode(Path::new("/srv/hostile-key"), 0o600)?;
    let key = sys::add_key("oxfs:127.0.0.1", &[1; 16])?;
    let root = Path::new(MOUNTS[0]);
    let refused_before = count("refused");
    let fresh = u64::from(std::process::id());
    for seed in [SEED_BEFORE, fresh, fresh + 1, fresh + 2] {
        let server = good("fork", sys::in_child(|| serve(seed)))?;
        std::thread::sleep(Duration::from_millis(300));
        let options = format!("soft,timeo=5,key={key}");
        let mounted = crate::world::mount_from(&format!("127.0.0.1:{PORT}"), root, &options);
        if mounted.is_ok() {
            let user = good(
                "fork",
                sys::in_child(|| {
                    use_it(root, seed);
                    0
                }),
            )?;
            let _ = crate::world::within(25, || sys::has_ended(user));
            sys::signal(user, libc::SIGKILL);
            let _ = sys::wait(user);
            let _ = sys::unmount(root, libc::MNT_FORCE | libc::MNT_DETACH);
        }
        sys::signal(server, libc::SIGKILL);
        let _ = sys::wait(server);
        mounted.map_err(|why| format!("seed {seed}: {why}"))?;
    }
    match count("refused") > refused_before {
        true => Ok(()),
        false => Err("no reply was refused: was anything hostile?".into()),
    }
}
