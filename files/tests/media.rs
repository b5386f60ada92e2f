//! Files on real media, and on ones that fail: file systems in images, a quota, a device that is
//! gone, signals in every call, and what is left when all ranks are killed after a sync.
//!
//! The process that `cargo test` starts makes and mounts the file system, then runs the ranks, and
//! takes everything away again. Where that cannot be done (no superuser, no tool, a kernel without
//! the file system) the test says so and passes over it.

mod medium;

use std::path::Path;

use medium::{BTRFS, EXT2, EXT4, OVERLAY, TMPFS, XFS, on, path_of, world};
use oxmpi_core::collective::{Collective, Parts};
use oxmpi_core::communicator::Comm;
use oxmpi_core::{ErrorKind, FileError, FileFault};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_files::{Amode, File, Memory, Representation, Start, View, Whence};

const NEW: i32 = Amode::CREATE | Amode::READ_WRITE;

/// The path of a test, by which its ranks are started.
macro_rules! path {
    ($name:ident) => {
        concat!(module_path!(), "::", stringify!($name))
    };
}

/// Bytes of a rank in one tile of [`interleave`].
const PIECE: u64 = 8;

fn memory(data: &mut [u8]) -> Memory {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the data outlive every access of these tests.
    unsafe { Memory::new(data.as_mut_ptr(), data.len() as u64, &byte) }.unwrap()
}

fn open(comm: &Comm, folder: &Path, mode: i32) -> Result<File, ErrorKind> {
    File::open(comm, path_of(folder, "data").as_bytes(), mode, None)
}

fn meet(comm: &Comm) {
    comm.collective(Collective::Barrier).unwrap();
}

/// The ranks see pieces in turn, so a collective access is aggregated.
fn interleave(comm: &Comm, file: &File) {
    let byte = Datatype::named(Basic::Byte);
    let piece = Datatype::contiguous(PIECE as i64, &byte).unwrap();
    let extent = PIECE * u64::from(comm.size());
    let tile = Datatype::resized(&piece, 0, extent as i64).unwrap();
    tile.commit();
    let disp = PIECE as i64 * i64::from(comm.rank());
    let view = |disp| View::new(disp, &byte, &tile, Representation::Native);
    file.set_view(Some(disp), view, None).unwrap();
}

fn plain(file: &File) {
    file.set_view(Some(0), |_| Ok(View::bytes()), None).unwrap();
}

/// The failure of an access, which names the file.
fn failure<T>(outcome: Result<T, ErrorKind>) -> Box<FileError> {
    match outcome.err().expect("it cannot succeed") {
        ErrorKind::File(error) => {
            assert!(error.path.ends_with("data"), "{error}");
            error
        }
        other => panic!("another error: {other}"),
    }
}

/// All kinds of access in a folder.
fn everything_works(folder: &Path) {
    let comm = world();
    let (me, ranks) = (u64::from(comm.rank()), u64::from(comm.size()));
    let file = open(&comm, folder, NEW).unwrap();
    interleave(&comm, &file);
    let mut mine: Vec<u8> = (0..40_000).map(|at| (at * 7 + me) as u8).collect();
    file.write_all(Start::At(0), memory(&mut mine)).unwrap();
    let mut back = vec![0; mine.len()];
    file.read_all(Start::At(0), memory(&mut back)).unwrap();
    assert!(back == mine, "what was written together");
    file.sync().unwrap();
    plain(&file);
    // Room beyond the end, and in a hole before it.
    let end = ranks * mine.len() as u64;
    assert_eq!(file.size().unwrap(), end);
    file.set_size(end as i64 + 300_000).unwrap();
    file.preallocate(end as i64 + 400_000).unwrap();
    assert_eq!(file.size().unwrap(), end + 400_000);
    let status = std::fs::metadata(folder.join("data")).unwrap();
    let reserved = std::os::unix::fs::MetadataExt::blocks(&status) * 512;
    assert!(reserved >= end + 400_000, "{reserved} bytes are reserved");
    let mut zeros = vec![1; 400_000];
    let read = file.read(Start::At(end as i64), memory(&mut zeros));
    assert_eq!(read.unwrap().bytes, 400_000);
    assert!(zeros.iter().all(|byte| *byte == 0), "the hole is zeros");
    file.set_size(0).unwrap();
    file.seek_shared(0, Whence::Set).unwrap();
    for turn in 0..20 {
        let mut line = [b'a' + me as u8; 10];
        line[9] = turn;
        file.write(Start::Shared, memory(&mut line)).unwrap();
    }
    file.set_atomicity(true).unwrap();
    meet(&comm);
    let mut lines = vec![0; 200 * ranks as usize];
    file.read_all(Start::At(0), memory(&mut lines)).unwrap();
    for rank in 0..ranks as u8 {
        let of_rank = lines.chunks(10).filter(|line| line[0] == b'a' + rank);
        let turns: Vec<u8> = of_rank.map(|line| line[9]).collect();
        assert!(turns.iter().copied().eq(0..20), "appends of rank {rank}");
    }
    file.close().unwrap();
    comm.process().finalize();
}

macro_rules! works_on {
    ($($name:ident $kind:ident;)*) => {$(
        #[test]
        fn $name() {
            on(path!($name), &[3], $kind, everything_works);
        }
    )*};
}

works_on! {
    files_work_on_ext4 EXT4;
    files_work_on_ext2_which_cannot_reserve_room EXT2;
    files_work_on_xfs XFS;
    files_work_on_btrfs BTRFS;
    files_work_on_an_overlay OVERLAY;
    files_work_on_tmpfs TMPFS;
}

#[test]
fn read_only_media_are_read_and_not_written() {
    let name = path!(read_only_media_are_read_and_not_written);
    let medium = format!("{EXT4}; echo 0123456789 > medium/data; mount -o remount,ro medium");
    on(name, &[2], &medium, |folder| {
        let comm = world();
        let error = failure(open(&comm, folder, Amode::READ_WRITE));
        assert_eq!(error.fault, FileFault::ReadOnly, "{error}");
        let error = failure(open(&comm, folder, NEW));
        assert_eq!(error.fault, FileFault::ReadOnly, "{error}");
        let file = open(&comm, folder, Amode::READ_ONLY).unwrap();
        let mut got = [0; 4];
        let at = 4 * i64::from(comm.rank());
        file.read_all(Start::At(at), memory(&mut got)).unwrap();
        assert_eq!(got, b"0123456789"[at as usize..][..4]);
        file.sync().unwrap();
        file.close().unwrap();
        comm.process().finalize();
    });
}

#[test]
fn a_used_up_quota_is_told() {
    let name = path!(a_used_up_quota_is_told);
    let medium = format!(
        "{BTRFS}; btrfs quota enable medium; btrfs subvolume create medium/own; \
         btrfs qgroup limit 2M medium/own"
    );
    on(name, &[2], &medium, |folder| {
        let comm = world();
        let file = open(&comm, &folder.join("own"), NEW).unwrap();
        interleave(&comm, &file);
        let mut data = vec![7; 4 << 20];
        let error = failure(file.write_all(Start::At(0), memory(&mut data)));
        assert_eq!(error.fault, FileFault::Quota, "{error}");
        assert!(error.range.is_some_and(|(_, bytes)| bytes > 0), "{error}");
        plain(&file);
        meet(&comm);
        // By one rank alone, and beside its computing.
        if comm.rank() == 1 {
            let error = failure(file.write(Start::At(16 << 20), memory(&mut data)));
            assert_eq!(error.fault, FileFault::Quota, "{error}");
            let begun = file.iwrite(Start::At(32 << 20), memory(&mut data));
            let error = failure(begun.unwrap().wait());
            assert_eq!(error.fault, FileFault::Quota, "{error}");
            assert!(error.range.is_some(), "{error}");
        }
        file.close().unwrap();
        comm.process().finalize();
    });
}

/// Tells a file system that its device is gone, as it would find out by itself.
fn shut_down(folder: &Path) {
    use std::os::fd::AsRawFd;
    const FS_IOC_SHUTDOWN: libc::c_ulong = 0x8004_587d;
    const WITHOUT_ITS_LOG: u32 = 2;
    let folder = std::fs::File::open(folder).unwrap();
    // SAFETY: the call reads one number.
    let told = unsafe { libc::ioctl(folder.as_raw_fd(), FS_IOC_SHUTDOWN as _, &WITHOUT_ITS_LOG) };
    assert_eq!(told, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_device_that_is_gone_is_told_to_all() {
    let name = path!(a_device_that_is_gone_is_told_to_all);
    on(name, &[3], EXT4, |folder| {
        let comm = world();
        let file = open(&comm, folder, NEW).unwrap();
        interleave(&comm, &file);
        let mut data = vec![7; 100_000];
        file.write_all(Start::At(0), memory(&mut data)).unwrap();
        file.sync().unwrap();
        meet(&comm);
        if comm.rank() == 0 {
            shut_down(folder);
        }
        meet(&comm);
        let outcomes = [
            (
                "write together",
                file.write_all(Start::At(0), memory(&mut data)),
            ),
            (
                "read together",
                file.read_all(Start::At(0), memory(&mut data)),
            ),
            ("read", file.read(Start::At(0), memory(&mut data[..8]))),
            ("write", file.write(Start::At(0), memory(&mut data[..8]))),
        ];
        for (what, outcome) in outcomes {
            let error = failure(outcome);
            assert_eq!(error.fault, FileFault::Io, "{what}: {error}");
            let range = error.range;
            assert!(range.is_some_and(|(_, bytes)| bytes > 0), "{what}: {error}");
        }
        let error = failure(file.sync());
        assert_eq!(error.fault, FileFault::Io, "{error}");
        let error = failure(file.preallocate(1 << 20));
        assert_eq!(error.fault, FileFault::Io, "{error}");
        file.close().unwrap();
        comm.process().finalize();
    });
}

#[test]
fn data_that_do_not_reach_the_device_are_told_by_sync() {
    let name = path!(data_that_do_not_reach_the_device_are_told_by_sync);
    // The image is longer than the folder that it lies in can become, and nobody has noticed yet.
    let medium = "mkdir small medium; mount -t tmpfs -o size=4m none small; \
                  truncate -s 64M small/image; mkfs.ext4 -q -O ^has_journal small/image; \
                  mount -o loop small/image medium";
    on(name, &[2], medium, |folder| {
        let comm = world();
        let file = open(&comm, folder, NEW).unwrap();
        let mut data = vec![7; 8 << 20];
        let at = i64::from(comm.rank()) * data.len() as i64;
        // The system takes them, and writes them later.
        file.write_all(Start::At(at), memory(&mut data)).unwrap();
        let error = failure(file.sync());
        let expected = [FileFault::Io, FileFault::NoSpace];
        assert!(expected.contains(&error.fault), "{error}");
        file.close().unwrap();
        comm.process().finalize();
    });
}

extern "C" fn nothing(_: libc::c_int) {}

/// From now on a signal comes to this thread every so many microseconds, and ends the calls that can
/// be ended.
fn begin_signals(us: i64) {
    let every = libc::timespec {
        tv_sec: 0,
        tv_nsec: us * 1000,
    };
    let timer = libc::itimerspec {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: the handler does nothing; all-zero is a valid value of the structures, which are there
    // during the calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        let set = libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = libc::gettid();
        let mut number = std::mem::zeroed();
        let made = libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut number);
        let begun = libc::timer_settime(number, 0, &timer, std::ptr::null_mut());
        assert_eq!((set, made, begun), (0, 0, 0));
    }
}

#[test]
fn signals_stop_no_access() {
    let name = path!(signals_stop_no_access);
    on(name, &[2], TMPFS, |folder| {
        let comm = world();
        let file = open(&comm, folder, NEW).unwrap();
        begin_signals(if comm.rank() == 0 { 500 } else { 1700 });
        // Some kernels start over again after each signal.
        file.preallocate(200 << 20).unwrap();
        assert_eq!(file.size().unwrap(), 200 << 20);
        interleave(&comm, &file);
        let mut data = vec![comm.rank() as u8 + 1; 3 << 20];
        file.write_all(Start::At(0), memory(&mut data)).unwrap();
        // Ranks wait for each other's locks.
        file.set_atomicity(true).unwrap();
        for _ in 0..200 {
            file.write(Start::At(0), memory(&mut data[..4096])).unwrap();
        }
        let mut back = vec![0; data.len()];
        file.read_all(Start::At(0), memory(&mut back)).unwrap();
        assert!(back == data);
        file.sync().unwrap();
        file.close().unwrap();
        comm.process().finalize();
    });
}

#[test]
fn a_full_character_device_is_told() {
    let name = path!(a_full_character_device_is_told);
    on(name, &[2], "mkdir medium", |_| {
        let comm = world();
        let file = File::open(&comm, b"/dev/full", Amode::WRITE_ONLY, None).unwrap();
        let mut data = vec![7; 5000];
        let at = 5000 * i64::from(comm.rank());
        let error = file
            .write_all(Start::At(at), memory(&mut data))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot write /dev/full, 5000 bytes at byte {at}: No space left on device (os \
                 error 28); the file system is full: make room, or write elsewhere"
            )
        );
        file.close().unwrap();
        comm.process().finalize();
    });
}

#[test]
fn a_block_device_has_a_length() {
    let medium = "mkdir medium; truncate -s 8M image; \
                  ln -s $(losetup -f --show image) medium/data";
    on(path!(a_block_device_has_a_length), &[2], medium, |folder| {
        let comm = world();
        let file = open(&comm, folder, Amode::READ_WRITE).unwrap();
        assert_eq!(file.size().unwrap(), 8 << 20);
        interleave(&comm, &file);
        let mut data = vec![comm.rank() as u8 + 1; 10_000];
        file.write_all(Start::At(0), memory(&mut data)).unwrap();
        let mut back = vec![0; data.len()];
        let read = file.read_all(Start::At(0), memory(&mut back)).unwrap();
        assert_eq!(read.bytes, 10_000);
        assert!(back == data);
        file.close().unwrap();
        comm.process().finalize();
    });
}

/// Bytes of a rank in one round of the next test.
const ROUND: usize = 30_000;

fn round_data(rank: u32, round: u64) -> Vec<u8> {
    (0..ROUND as u64)
        .map(|at| (at * 31 + round * 17 + u64::from(rank) * 5) as u8)
        .collect()
}

/// Writes rounds, with a sync behind each, until all ranks are killed.
fn write_until_killed(folder: &Path) {
    let comm = world();
    let file = open(&comm, folder, NEW).unwrap();
    let mut mine = [u64::from(std::process::id())];
    let mut all = vec![0_u64; comm.size() as usize];
    let words = |words: &mut [u64]| {
        // SAFETY: the words outlive the exchange, which is over when the call returns.
        unsafe {
            let bytes = size_of_val(words) as u64;
            oxmpi_core::buffer::Buffer::raw(words.as_mut_ptr().cast(), bytes)
        }
    };
    comm.collective(Collective::Allgather {
        send: Some(words(&mut mine)),
        receive: Parts::Equal(words(&mut all)),
    })
    .unwrap();
    interleave(&comm, &file);
    if comm.rank() == 0 {
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(400));
            let all = all.iter().map(u64::to_string);
            let _ = std::process::Command::new("kill")
                .arg("-9")
                .args(all)
                .status();
        });
    }
    for round in 0.. {
        let mut data = round_data(comm.rank(), round);
        let at = Start::At(round as i64 * ROUND as i64);
        match round % 3 {
            0 => file.write_all(at, memory(&mut data)).unwrap(),
            1 => file.write(at, memory(&mut data)).unwrap(),
            _ => file
                .iwrite_all(at, memory(&mut data))
                .unwrap()
                .wait()
                .unwrap(),
        };
        file.sync().unwrap();
        println!("\nsynced {round}");
    }
}

#[test]
fn what_was_synced_is_on_the_device_when_all_ranks_are_killed() {
    let name = path!(what_was_synced_is_on_the_device_when_all_ranks_are_killed);
    const RANKS: u32 = 3;
    for kind in [EXT4, XFS] {
        // The ranks go by the folder; only the process that started them comes behind this call.
        let Some(medium) = medium::made(name, kind, write_until_killed) else {
            continue;
        };
        let outcome = oxmpi_harness::job(name, RANKS, &[medium.variable()]);
        let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let synced = said.lines().filter_map(|line| line.split("synced ").nth(1));
        let last: Option<u64> = synced.filter_map(|round| round.trim().parse().ok()).max();
        let last = last.unwrap_or_else(|| panic!("no round was over: {said}"));
        // As if the power had failed: the device as it is, with nothing written back to it since.
        let copy = medium.device_after_power_failure();
        for folder in [medium.folder(), copy.as_path()] {
            let found = std::fs::read(folder.join("data")).unwrap();
            for round in 0..=last {
                for rank in 0..RANKS {
                    let wanted = round_data(rank, round);
                    for (index, piece) in wanted.chunks(PIECE as usize).enumerate() {
                        let tile = (round as usize * ROUND / PIECE as usize + index) as u64;
                        let at = (tile * u64::from(RANKS) + u64::from(rank)) * PIECE;
                        let got = &found[at as usize..][..piece.len()];
                        assert!(
                            got == piece,
                            "{}: round {round} of {last}, rank {rank}, byte {at}",
                            folder.display()
                        );
                    }
                }
            }
        }
    }
}
