//! Random views and accesses of several ranks against a file that is kept byte by byte.
//!
//! Every rank draws all ranks' views and accesses from the same seed, so each knows what the file
//! must hold after every round: the oracle is a vector of bytes on which pieces are written one by
//! one. Ranks' pieces are disjoint, because the standard leaves open what overlapping ones give.

use std::sync::Arc;

use oxmpi_core::communicator::Comm;
use oxmpi_core::info::Info;
use oxmpi_core::process::{Process, Threads};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_files::{Amode, File, Memory, Representation, Start, View};

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn world() -> Arc<Comm> {
    // SAFETY: tests call from one thread.
    let process = unsafe { Process::join(Threads::One) }.unwrap();
    Arc::new(process.world())
}

fn path(name: &str, comm: &Comm) -> Vec<u8> {
    // All ranks must have one name: the launcher's number would do, a random one would not.
    let folder = std::env::temp_dir();
    let size = comm.size();
    format!("{}/oxmpi-files-{name}-{size}.dat", folder.display()).into_bytes()
}

fn memory(data: &mut [u8]) -> Memory {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the data outlive every access of these tests.
    unsafe { Memory::new(data.as_mut_ptr(), data.len() as u64, &byte) }.unwrap()
}

/// Views of all ranks whose pieces are disjoint: blocks of a tile, dealt out.
fn views(random: &mut Random, ranks: u64) -> Vec<(u64, Datatype)> {
    let byte = Datatype::named(Basic::Byte);
    let disp = random.below(1000);
    let grain = [1, 3, 8, 64, 512, 5000][random.below(6) as usize] as i64;
    let (mut lengths, mut places) = (vec![vec![]; ranks as usize], vec![vec![]; ranks as usize]);
    let mut at = 0;
    for _ in 0..ranks + random.below(3 * ranks) {
        let owner = random.below(ranks) as usize;
        let length = (1 + random.below(3) as i64) * grain;
        at += random.below(2) as i64 * grain;
        lengths[owner].push(length);
        places[owner].push(at);
        at += length;
    }
    for owner in 0..ranks as usize {
        if lengths[owner].is_empty() {
            lengths[owner].push(grain);
            places[owner].push(at);
            at += grain;
        }
    }
    let types = lengths.iter().zip(&places).map(|(lengths, places)| {
        let blocks = Datatype::hindexed(lengths, places, &byte).unwrap();
        let tile = Datatype::resized(&blocks, 0, at).unwrap();
        tile.commit();
        (disp, tile)
    });
    types.collect()
}

fn round(comm: &Arc<Comm>, seed: u64) {
    let (ranks, me) = (u64::from(comm.size()), comm.rank() as usize);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let info = Info::new();
    info.set(
        "cb_buffer_size",
        ["4096", "65536", "4194304"][random.below(3) as usize],
    )
    .unwrap();
    let force = ["automatic", "enable", "disable"][random.below(3) as usize];
    info.set("romio_cb_write", force).unwrap();
    info.set("romio_cb_read", force).unwrap();
    info.set(
        "striping_unit",
        ["0", "512", "4096"][random.below(3) as usize],
    )
    .unwrap();
    info.set(
        "romio_ds_write",
        ["automatic", "enable", "disable"][random.below(3) as usize],
    )
    .unwrap();
    let mode = Amode::CREATE | Amode::READ_WRITE | Amode::DELETE_ON_CLOSE;
    let file = File::open(comm, &path("random", comm), mode, Some(&info)).unwrap();
    // A run that was ended may have left one.
    file.set_size(0).unwrap();
    let views = views(&mut random, ranks);
    let byte = Datatype::named(Basic::Byte);
    let view = |rank: usize| {
        let (disp, tile) = &views[rank];
        View::new(*disp, &byte, tile, Representation::Native).unwrap()
    };
    let own = view(me);
    file.set_view(Some(own.disp() as i64), |_| Ok(own.clone()), None)
        .unwrap();
    let mut oracle: Vec<u8> = Vec::new();
    // Long accesses go through memory that the ranks share, short ones by messages.
    let scale = [1, 30][random.below(2) as usize];
    for access in 0..4 {
        let nonblocking = random.below(2) == 1;
        // What every rank writes, in its own view.
        let mut mine = (0, Vec::new());
        for rank in 0..ranks as usize {
            let from = random.below(3000);
            let bytes = random.below(4) * random.below(4_000) * scale;
            let data: Vec<u8> = (0..bytes).map(|_| 1 + random.below(255) as u8).collect();
            let mut at = 0;
            for piece in view(rank).pieces(from, bytes) {
                let end = piece.end() as usize;
                if oracle.len() < end {
                    oracle.resize(end, 0);
                }
                let piece_bytes = piece.bytes as usize;
                oracle[piece.offset as usize..end].copy_from_slice(&data[at..at + piece_bytes]);
                at += piece_bytes;
            }
            if rank == me {
                mine = (from, data);
            }
        }
        let (from, mut data) = mine;
        let start = Start::At(from as i64);
        let report = match (nonblocking, access % 2) {
            (false, 0) => file.write_all(start, memory(&mut data)),
            (true, 0) => file.iwrite_all(start, memory(&mut data)).unwrap().wait(),
            (false, _) => file.write(start, memory(&mut data)),
            (true, _) => file.iwrite(start, memory(&mut data)).unwrap().wait(),
        };
        assert_eq!(report.unwrap().bytes, data.len() as u64, "seed {seed}");
        file.sync().unwrap();
        assert_eq!(
            file.size().unwrap(),
            oracle.len() as u64,
            "seed {seed}, access {access}"
        );
        // Reading reaches over the end, too.
        let from = random.below(3000 * ranks) / ranks;
        let bytes = (random.below(12_000 * scale * ranks) / ranks) as usize;
        let mut wanted = vec![0xee; bytes];
        let mut at = 0;
        'all: for piece in own.pieces(from, bytes as u64) {
            for byte in piece.offset..piece.end() {
                let Some(value) = oracle.get(byte as usize) else {
                    break 'all;
                };
                wanted[at] = *value;
                at += 1;
            }
        }
        let mut got = vec![0xee; bytes];
        let start = Start::At(from as i64);
        let report = match (nonblocking, access % 2) {
            (false, 0) => file.read_all(start, memory(&mut got)),
            (true, 0) => file.iread_all(start, memory(&mut got)).unwrap().wait(),
            (false, _) => file.read(start, memory(&mut got)),
            (true, _) => file.iread(start, memory(&mut got)).unwrap().wait(),
        };
        let report = report.unwrap();
        assert_eq!(
            report.bytes, at as u64,
            "seed {seed}, access {access}, rank {me}"
        );
        assert!(got == wanted, "seed {seed}, access {access}, rank {me}");
        // Nobody writes before all have read.
        file.sync().unwrap();
    }
    file.close().unwrap();
}

oxmpi_harness::ranks! {
    fn random_views_are_written_and_read_as_byte_by_byte([1, 2, 3, 4]) {
        let comm = world();
        let seeds = match std::env::var("OXMPI_FILES_SEED") {
            Ok(seed) => seed.parse().unwrap()..seed.parse::<u64>().unwrap() + 1,
            Err(_) => 1..14,
        };
        seeds.for_each(|seed| round(&comm, seed));
        comm.process().finalize();
    }

    fn memory_that_cannot_be_shared_is_done_without([2, 4]) {
        let comm = world();
        // Rank 0 may make no file that is as long as all windows together.
        let limit = libc::rlimit {
            rlim_cur: 300 << 10,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: the structure is there.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        let info = Info::new();
        info.set("cb_buffer_size", "65536").unwrap();
        let mode = Amode::CREATE | Amode::READ_WRITE | Amode::DELETE_ON_CLOSE;
        let file = File::open(&comm, &path("unshared", &comm), mode, Some(&info)).unwrap();
        file.set_size(0).unwrap();
        let (ranks, me) = (u64::from(comm.size()), u64::from(comm.rank()));
        let byte = Datatype::named(Basic::Byte);
        let piece = Datatype::contiguous(8, &byte).unwrap();
        let tile = Datatype::resized(&piece, 0, 8 * ranks as i64).unwrap();
        tile.commit();
        let view = |disp| View::new(disp, &byte, &tile, Representation::Native);
        file.set_view(Some(8 * me as i64), view, None).unwrap();
        for turn in 0..3 {
            let bytes = (256 << 10) / ranks;
            let mut data: Vec<u8> = (0..bytes).map(|at| (at * 7 + me + turn) as u8).collect();
            file.write_all(Start::At(0), memory(&mut data)).unwrap();
            file.sync().unwrap();
            let mut got = vec![0; data.len()];
            file.read_all(Start::At(0), memory(&mut got)).unwrap();
            assert!(got == data, "rank {me}, turn {turn}");
        }
        file.close().unwrap();
        comm.process().finalize();
    }

    fn shared_and_ordered_accesses_share_one_pointer([1, 2, 4]) {
        let comm = world();
        let (ranks, me) = (u64::from(comm.size()), u64::from(comm.rank()));
        let mode = Amode::CREATE | Amode::READ_WRITE | Amode::DELETE_ON_CLOSE;
        let file = File::open(&comm, &path("shared", &comm), mode, None).unwrap();
        file.set_size(0).unwrap();
        const TURNS: u64 = 50;
        for _ in 0..TURNS {
            let mut word = (1 + me).to_le_bytes();
            file.write(Start::Shared, memory(&mut word)).unwrap();
        }
        file.sync().unwrap();
        assert_eq!(file.shared_position().unwrap(), ranks * TURNS * 8);
        let mut all = vec![0; (ranks * TURNS * 8) as usize];
        file.read(Start::At(0), memory(&mut all)).unwrap();
        for rank in 0..ranks {
            let words = all.chunks(8).filter(|word| **word == (1 + rank).to_le_bytes());
            assert_eq!(words.count() as u64, TURNS, "rank {rank}");
        }
        file.seek_shared(3, oxmpi_files::Whence::Set).unwrap();
        // Rank r writes r + 1 bytes, in the order of ranks.
        let mut bytes = vec![100 + me as u8; me as usize + 1];
        file.write_all(Start::Ordered, memory(&mut bytes)).unwrap();
        file.sync().unwrap();
        let total = ranks * (ranks + 1) / 2;
        assert_eq!(file.shared_position().unwrap(), 3 + total);
        let mut got = vec![0; total as usize];
        file.read(Start::At(3), memory(&mut got)).unwrap();
        let wanted: Vec<u8> = (0..ranks as u8)
            .flat_map(|rank| std::iter::repeat_n(100 + rank, usize::from(rank) + 1))
            .collect();
        assert_eq!(got, wanted);
        file.close().unwrap();
        comm.process().finalize();
    }

    fn atomic_writes_do_not_mix([2, 4]) {
        let comm = world();
        let mode = Amode::CREATE | Amode::READ_WRITE | Amode::DELETE_ON_CLOSE;
        let file = File::open(&comm, &path("atomic", &comm), mode, None).unwrap();
        file.set_size(0).unwrap();
        file.set_atomicity(true).unwrap();
        assert!(file.atomicity());
        const BYTES: usize = 100_000;
        let mut data = vec![1 + comm.rank() as u8; BYTES];
        for _ in 0..10 {
            file.write(Start::At(0), memory(&mut data)).unwrap();
            let mut got = vec![0; BYTES];
            let report = file.read(Start::At(0), memory(&mut got)).unwrap();
            assert_eq!(report.bytes, BYTES as u64);
            assert!(got.iter().all(|byte| *byte == got[0]), "a mixture");
        }
        file.close().unwrap();
        comm.process().finalize();
    }

    fn external32_is_big_endian_in_any_view([1, 2]) {
        let comm = world();
        let mode = Amode::CREATE | Amode::READ_WRITE | Amode::DELETE_ON_CLOSE;
        let file = File::open(&comm, &path("external", &comm), mode, None).unwrap();
        file.set_size(0).unwrap();
        let (long, ranks) = (Datatype::named(Basic::Long), i64::from(comm.size()));
        let one = Datatype::vector(1, 1, 1, &long).unwrap();
        let tile = Datatype::resized(&one, 0, 4 * ranks).unwrap();
        tile.commit();
        let disp = 4 * i64::from(comm.rank());
        let external = Representation::External32;
        let view = |disp| View::new(disp, &long, &tile, external.clone());
        file.set_view(Some(disp), view, None).unwrap();
        let mut values: Vec<i64> = (0..300).map(|at| at * 1000 - 77 - disp).collect();
        let of = |values: &mut Vec<i64>| {
            // SAFETY: the values outlive the access.
            unsafe { Memory::new(values.as_mut_ptr().cast(), 300, &long) }.unwrap()
        };
        let report = file.write_all(Start::At(0), of(&mut values)).unwrap();
        assert_eq!(report.bytes, 2400);
        file.sync().unwrap();
        assert_eq!(file.size().unwrap(), 1200 * ranks as u64);
        let mut got = vec![0_i64; 300];
        let report = file.read_all(Start::At(0), of(&mut got)).unwrap();
        assert_eq!((report.bytes, &got), (2400, &values));
        let bytes = |disp| {
            let byte = Datatype::named(Basic::Byte);
            View::new(disp, &byte, &byte, Representation::Native)
        };
        file.set_view(Some(0), bytes, None).unwrap();
        let mut first = [0; 4];
        file.read(Start::At(disp), memory(&mut first)).unwrap();
        assert_eq!(i64::from(i32::from_be_bytes(first)), values[0]);
        file.close().unwrap();
        comm.process().finalize();
    }

    fn a_full_device_is_told_to_all([2]) {
        let comm = world();
        // A small file system of its own, which only the superuser can mount.
        let folder = std::env::temp_dir().join("oxmpi-files-small");
        if comm.rank() == 0 {
            std::fs::create_dir_all(&folder).unwrap();
            let mounted = std::process::Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=1m", "none"])
                .arg(&folder)
                .status();
            assert!(mounted.is_ok_and(|status| status.success()), "needs the superuser");
        }
        file_meets(&comm);
        let name = format!("{}/full.dat", folder.display()).into_bytes();
        let mode = Amode::CREATE | Amode::READ_WRITE;
        let file = File::open(&comm, &name, mode, None).unwrap();
        file.set_size(0).unwrap();
        let byte = Datatype::named(Basic::Byte);
        let piece = Datatype::contiguous(8, &byte).unwrap();
        let tile = Datatype::resized(&piece, 0, 16).unwrap();
        tile.commit();
        let disp = 8 * i64::from(comm.rank());
        let view = |disp| View::new(disp, &byte, &tile, Representation::Native);
        file.set_view(Some(disp), view, None).unwrap();
        let mut data = vec![7; 2 << 20];
        let error = file.write_all(Start::At(0), memory(&mut data)).unwrap_err();
        let oxmpi_core::ErrorKind::File(error) = error else {
            panic!("another error: {error}");
        };
        assert_eq!(error.fault, oxmpi_core::FileFault::NoSpace, "{error}");
        assert!(error.to_string().contains("full.dat"), "{error}");
        assert!(error.range.is_some(), "{error}");
        file.close().unwrap();
        drop(file);
        file_meets(&comm);
        if comm.rank() == 0 {
            let unmounted = std::process::Command::new("umount").arg(&folder).status();
            assert!(unmounted.is_ok_and(|status| status.success()));
            std::fs::remove_dir(&folder).unwrap();
        }
        comm.process().finalize();
    }
}

fn file_meets(comm: &Comm) {
    comm.collective(oxmpi_core::collective::Collective::Barrier)
        .unwrap();
}
