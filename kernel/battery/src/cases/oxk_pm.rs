//! oxk.ko with PM as what carries messages: the cases of oxk_test.ko once more, over loopback and
//! over a cable, with strangers on the cable, with the cable out and in and taken away, and over two
//! cards.

use std::fs::read_to_string;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::case;
use super::oxk::{FOLDER, ask, shell, soon, with_cable};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal};
use crate::sys::{self, Child};

/// The EtherType of PM, IEEE's first local experimental one.
const ETHERTYPE: u16 = 0x88b5;

/// Names of cases in the kernel; each is tried over loopback.
macro_rules! kernel_cases {
    ($($name:ident),*) => {
        $(fn $name(random: &mut Random) -> Outcome {
            ask(&format!("pm {} {}", stringify!($name), random.below(1 << 30)))
        })*
        pub const CASES: &[Case] = &[
            $(case(concat!("oxk_pm_", stringify!($name)), $name),)*
            case("oxk_pm_cable", cable),
            case("oxk_pm_strangers", strangers),
            case("oxk_pm_flapping", flapping),
            case("oxk_pm_cut", cut),
            case("oxk_pm_reaping", reaping),
        ];
    };
}

kernel_cases!(
    all_kinds,
    long_messages,
    changed_after,
    order,
    cancel,
    verdicts,
    outcomes,
    other_key,
    too_big,
    close_first,
    close_second,
    whole_stays
);

fn over_cable(name: &str, seed: u64, pid: i32) -> Outcome {
    ask(&format!("pm {name} {seed} {pid} 10.88.0.2"))
}

/// Between two namespaces.
fn cable(random: &mut Random) -> Outcome {
    let seed = random.below(1 << 30);
    with_cable(|pid| {
        for name in ["all_kinds", "order", "changed_after", "close_first"] {
            over_cable(name, seed, pid)?;
        }
        Ok(())
    })
}

/// Somebody else on the cable, who writes frames with the EtherType, the channels of endpoints and
/// anything else that comes to his mind, while messages are exchanged.
fn strangers(random: &mut Random) -> Outcome {
    let seed = random.below(1 << 30);
    with_cable(|pid| {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let babble = scope.spawn(|| babble(seed, &over));
            let outcome =
                over_cable("order", seed, pid).and_then(|()| over_cable("all_kinds", seed, pid));
            over.store(true, Ordering::Relaxed);
            let sent = babble
                .join()
                .map_err(|_| io::Error::other("it panicked"))??;
            outcome?;
            equal("he wrote much", sent > 500, true)
        })
    })
}

/// Writes frames to `cable` until it is over; how many.
fn babble(seed: u64, over: &AtomicBool) -> io::Result<u64> {
    // SAFETY: a plain system call; the descriptor is owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mut random = Random::new(seed);
    // SAFETY: all zeros is an address.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as u16;
    to.sll_protocol = ETHERTYPE.to_be();
    // SAFETY: a name that ends in 0.
    to.sll_ifindex = unsafe { libc::if_nametoindex(c"cable".as_ptr()) } as i32;
    to.sll_halen = 6;
    to.sll_addr = [0xff; 8];
    let mut sent = 0;
    while !over.load(Ordering::Relaxed) {
        let bytes = random.below(200) as usize;
        let mut frame: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
        if bytes >= 40 && random.below(4) > 0 {
            frame[0] = 2;
            frame[1] = 1 + random.below(8) as u8;
            let channel = 4096 + random.below(200) as u16;
            frame[2..4].copy_from_slice(&channel.to_le_bytes());
            frame[8..12].copy_from_slice(&(random.below(4) as u32).to_le_bytes());
            frame[12..14].copy_from_slice(&((bytes - 40) as u16).to_le_bytes());
        }
        // SAFETY: the frame and the address are as long as is said.
        let wrote = unsafe {
            libc::sendto(
                socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const to).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        sent += u64::from(wrote >= 0);
        if wrote < 0 || sent.is_multiple_of(16) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(sent)
}

/// The cable is out and in again, again and again: messages are late, and none is lost.
fn flapping(random: &mut Random) -> Outcome {
    let seed = random.below(1 << 30);
    with_cable(|pid| {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flap = scope.spawn(|| {
                let mut times = 0;
                // After the endpoints have connected, which needs the cable.
                std::thread::sleep(Duration::from_millis(700));
                while !over.load(Ordering::Relaxed) && times < 5 {
                    let script = "ip link set cable down; ip link set cable up";
                    assert!(shell(script), "{script}");
                    times += 1;
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
            let outcome = over_cable("all_kinds", seed, pid);
            over.store(true, Ordering::Relaxed);
            flap.join().map_err(|_| io::Error::other("it panicked"))?;
            outcome
        })
    })
}

/// The cable is taken away while messages are exchanged, at a random moment: those that wait are
/// told, and nothing is left behind.
fn cut(random: &mut Random) -> Outcome {
    for _ in 0..3 {
        let seed = random.below(1 << 30);
        let pause = Duration::from_millis(100 + random.below(600));
        with_cable(|pid| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(pause);
                    assert!(shell("ip link del cable"));
                });
                // Whether it comes through before is the random moment's; that it ends is not.
                let _ = over_cable("all_kinds", seed, pid);
            });
            Ok(())
        })?;
    }
    Ok(())
}

/// Round trips that are counted.
const ROUND_TRIPS: u64 = 200;
/// Interrupts that one run may have more than another for no reason.
const NOISE_INTERRUPTS: u64 = 10;

/// What the machine has counted so far.
struct Counted {
    /// Of the near card's receive queue.
    interrupts: u64,
    /// Receive softirqs, of both cards.
    softirqs: u64,
    switches: u64,
}

/// The sum of the numbers behind the first word of the lines that contain a text.
fn sum_of(place: &str, text: &str) -> io::Result<u64> {
    let listing = read_to_string(place)?;
    let lines = listing.lines().filter(|line| line.contains(text));
    let numbers = lines.flat_map(|line| line.split_whitespace().skip(1).map_while(number));
    Ok(numbers.sum())
}

fn number(word: &str) -> Option<u64> {
    word.parse().ok()
}

fn counted(device: &str) -> io::Result<Counted> {
    Ok(Counted {
        interrupts: sum_of("/proc/interrupts", &format!("{device}-input"))?,
        softirqs: sum_of("/proc/softirqs", "NET_RX")?,
        switches: sum_of("/proc/stat", "ctxt")?,
    })
}

/// Two cards whose driver has interrupts: what a round trip costs when the waiter runs the driver's
/// receive itself, when it spins and the interrupt runs it, and when it sleeps.
fn reaping(_: &mut Random) -> Outcome {
    let Ok(device) = std::fs::read_link("/sys/class/net/eth0/device") else {
        return Err(Trouble::Skip("there are no two cards of virtio".into()));
    };
    let device = device
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let child = Child::fork(|| {
        sys::new_network_namespace().expect("root may");
        let far = "ip link show eth1 && ip addr add 10.89.0.2/24 dev eth1 &&
                   ip link set eth1 up && touch /tmp/card";
        assert!(soon(|| shell(far)), "{far}");
        std::thread::sleep(Duration::from_secs(600));
        0
    })?;
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id();
    let near = format!(
        "ip link set eth1 netns {pid} && ip addr add 10.89.0.1/24 dev eth0 &&
         ip link set eth0 up"
    );
    equal("the cards", shell(&near), true)?;
    let is_up = soon(|| std::fs::exists("/tmp/card").unwrap_or(false));
    equal("the far card", is_up, true)?;
    let mut interrupts = [0; 3];
    let mut wakeups = [0; 3];
    let mut reaps = 0u64;
    for (at, (way, name)) in [("r", "reaping"), ("s", "spinning"), ("w", "sleeping")]
        .into_iter()
        .enumerate()
    {
        let before = counted(&device)?;
        ask(&format!("ping {way} {ROUND_TRIPS} {pid} 10.89.0.2"))?;
        let after = counted(&device)?;
        interrupts[at] = after.interrupts - before.interrupts;
        println!("count pm_{name}_round_trips={ROUND_TRIPS}");
        println!("count pm_{name}_interrupts={}", interrupts[at]);
        println!(
            "count pm_{name}_softirqs={}",
            after.softirqs - before.softirqs
        );
        println!(
            "count pm_{name}_switches={}",
            after.switches - before.switches
        );
        let said = read_to_string(format!("{FOLDER}/why"))?;
        let words: Vec<&str> = said.split_whitespace().collect();
        for pair in words.chunks_exact(2) {
            println!("count pm_{name}_{}={}", pair[0], pair[1]);
            let value = pair[1].parse().unwrap_or(0);
            match (name, pair[0]) {
                ("reaping", "reaps") => reaps = value,
                (_, "wakeups") => wakeups[at] = value,
                _ => {}
            }
        }
    }
    child.kill(libc::SIGKILL);
    child.wait(Duration::from_secs(20))?;
    equal("somebody reaped", reaps > 0, true)?;
    let woken = format!("{} of {}", wakeups[0], wakeups[2]);
    equal(&woken, wakeups[0] < wakeups[2], true)?;
    let [reaped, _, slept] = interrupts;
    // On a busy machine many answers are there before their wait, and nothing is left to reap.
    let spared = reaped + reaps / 4 <= slept + NOISE_INTERRUPTS;
    equal("reaping spares interrupts", spared, true)
}
