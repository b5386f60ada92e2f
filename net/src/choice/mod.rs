//! Which network a job uses between hosts: raw Ethernet where every host may and hears its
//! neighbours, else UDP, else TCP; or what the user asks for.
//!
//! All processes of a job use the same network. It is found out while the job is wired up, when
//! everybody is known to listen: every process opens what it may ([`Equipment`]), the first process
//! of each host tries whether frames of the hosts beside it arrive ([`Equipment::try_out`]) and
//! reports, and [`decide`] makes one choice of all reports, with its reason. What the user asks for
//! by name is used or is an error, never something else.

mod equipment;
mod in_kernel;
mod trial;
mod wrap;

use std::fmt;
use std::str::FromStr;

use crate::tcp::Progress;
use oxmpi_settings::SettingError;

pub use equipment::{EquipError, Equipment, TRUNK};
pub use wrap::{CHECK, FAULT, PCAP, RAILS, TRACE, WrapError};

/// The variable behind `--net`.
pub const NET: &str = oxmpi_settings::NET.name;

/// What the user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The fastest that works.
    #[default]
    Auto,
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
    /// Raw frames through packet sockets.
    Ethernet,
    /// Raw frames through AF_XDP sockets.
    Xdp,
    /// PM in the kernel, by /dev/oxk-pm.
    PmKernel,
}

/// What the user asks for cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// There is no such network.
    ///
    /// Or no such way to look after connections.
    #[error(transparent)]
    Unknown(#[from] SettingError),
    /// The driver knows one network.
    #[error(
        "--progress {progress} and --net {mode} contradict each other: it is about TCP connections; leave one of them out, or say --net tcp"
    )]
    Progress {
        /// Who is to read connections.
        progress: Progress,
        /// What was asked for.
        mode: Mode,
    },
    /// The driver cannot decrypt.
    #[error("{}", crate::tcp::DriverError::Encrypted(*.0))]
    Encrypted(Progress),
}

impl Mode {
    /// What the environment says.
    pub fn from_env() -> Result<Mode, ModeError> {
        let mode: Mode = oxmpi_settings::NET.read().choice()?.parse()?;
        let progress = Progress::from_env()?;
        if progress.is_in_kernel() && wrap::is_encrypted()? {
            return Err(ModeError::Encrypted(progress));
        }
        mode.looked_after(progress)
    }

    /// The mode that goes with a way to look after connections.
    fn looked_after(self, progress: Progress) -> Result<Mode, ModeError> {
        match (progress, self) {
            (Progress::User | Progress::Sock, mode) => Ok(mode),
            (_, Mode::Auto | Mode::Tcp) => Ok(Mode::Tcp),
            (progress, mode) => Err(ModeError::Progress { progress, mode }),
        }
    }

    fn wants_frames(self) -> bool {
        matches!(
            self,
            Mode::Auto | Mode::Ethernet | Mode::Xdp | Mode::PmKernel
        )
    }

    fn wants_udp(self) -> bool {
        !matches!(self, Mode::Tcp | Mode::PmKernel)
    }
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Mode, ModeError> {
        match text {
            "auto" => Ok(Mode::Auto),
            "tcp" => Ok(Mode::Tcp),
            "udp" => Ok(Mode::Udp),
            "ethernet" => Ok(Mode::Ethernet),
            "xdp" => Ok(Mode::Xdp),
            "pm-kernel" => Ok(Mode::PmKernel),
            _ => Err(oxmpi_settings::NET.wrong(text).into()),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Mode::Auto => "auto",
            Mode::Tcp => "tcp",
            Mode::Udp => "udp",
            Mode::Ethernet => "ethernet",
            Mode::Xdp => "xdp",
            Mode::PmKernel => "pm-kernel",
        })
    }
}

/// Whether a host can use a network, as the first of its processes found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Frames of both neighbours arrived.
    Works,
    /// Nobody asked for it, or it cannot reach a process of the same host.
    Off,
    /// The process may not open such sockets.
    NotPermitted,
    /// No interface carries it.
    NoCard,
    /// It was opened, and a neighbour's frames did not arrive.
    Unheard,
    /// A neighbour offers none.
    NoPeer,
}

impl Verdict {
    const ALL: [Verdict; 6] = [
        Verdict::Works,
        Verdict::Off,
        Verdict::NotPermitted,
        Verdict::NoCard,
        Verdict::Unheard,
        Verdict::NoPeer,
    ];

    fn letter(self) -> char {
        match self {
            Verdict::Works => 'w',
            Verdict::Off => 'o',
            Verdict::NotPermitted => 'p',
            Verdict::NoCard => 'c',
            Verdict::Unheard => 'u',
            Verdict::NoPeer => 'n',
        }
    }

    fn from_letter(letter: char) -> Option<Verdict> {
        Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.letter() == letter)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Verdict::Works => "works",
            Verdict::Off => "was not tried",
            Verdict::NotPermitted => "is not permitted (CAP_NET_RAW; see oxmpi setup-net)",
            Verdict::NoCard => "has no interface",
            Verdict::Unheard => "brought nothing from a neighbour in time",
            Verdict::NoPeer => "is not offered by a neighbour",
        })
    }
}

/// What one host found out, and its form for the launcher's key-value space: two letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Raw frames, or what stands for them: PM in the kernel.
    pub frames: Verdict,
    /// Datagrams.
    pub udp: Verdict,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.frames.letter(), self.udp.letter())
    }
}

impl FromStr for Report {
    type Err = ();

    fn from_str(text: &str) -> Result<Report, ()> {
        let mut letters = text.chars().map(Verdict::from_letter);
        match (letters.next(), letters.next(), letters.next()) {
            (Some(Some(frames)), Some(Some(udp)), None) => Ok(Report { frames, udp }),
            _ => Err(()),
        }
    }
}

/// The network of a job, and for the faster ones that it is not, what spoke against them and the
/// process that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub network: Network,
    /// Against raw frames.
    pub frames: (Verdict, u32),
    /// Against datagrams.
    pub udp: (Verdict, u32),
    /// Everything on it is encrypted. Not part of what is decided, and not of its text form: all
    /// processes were given the same.
    pub encrypted: bool,
    /// What may carry bulk (OXMPI_NET_RAILS); not part of it either.
    pub rails: Rails,
}

/// What may carry bulk beside the network for short messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rails {
    /// Nothing.
    Off,
    /// UDP beside raw frames.
    Udp,
    /// As above, and TCP for what is longest.
    All,
}

/// A network between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Raw frames, and bulk by UDP if that works too.
    Frames,
    /// Datagrams.
    Udp,
    /// Connections.
    Tcp,
    /// PM in the kernel.
    Kernel,
}

/// What was asked for does not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--net {mode}: {network} {verdict} at rank {rank}; {advice}")]
pub struct DecideError {
    /// What was asked for.
    pub mode: Mode,
    /// In words.
    pub network: &'static str,
    /// Who found it out.
    pub rank: u32,
    /// What.
    pub verdict: Verdict,
    /// What to try.
    pub advice: &'static str,
}

/// One choice of the reports of all hosts, each with the process that made it.
pub fn decide(
    mode: Mode,
    reports: impl Iterator<Item = (u32, Report)>,
) -> Result<Choice, DecideError> {
    let untried = |wanted: bool| if wanted { Verdict::Works } else { Verdict::Off };
    let mut choice = Choice {
        network: Network::Tcp,
        frames: (untried(mode.wants_frames()), 0),
        udp: (untried(mode.wants_udp()), 0),
        encrypted: false,
        rails: Rails::All,
    };
    for (rank, report) in reports {
        if choice.frames.0 == Verdict::Works {
            choice.frames = (report.frames, rank);
        }
        if choice.udp.0 == Verdict::Works {
            choice.udp = (report.udp, rank);
        }
    }
    let frames = mode.wants_frames() && choice.frames.0 == Verdict::Works;
    let udp = mode.wants_udp() && choice.udp.0 == Verdict::Works;
    choice.network = match mode {
        Mode::Tcp => Network::Tcp,
        Mode::PmKernel if frames => Network::Kernel,
        _ if frames => Network::Frames,
        Mode::PmKernel => {
            return Err(DecideError {
                mode,
                network: "PM in the kernel",
                verdict: choice.frames.0,
                rank: choice.frames.1,
                advice: match choice.frames.0 {
                    Verdict::Off => "processes of one host talk through ports or UDP",
                    _ => "are all hosts on one Ethernet segment? Try --net udp",
                },
            });
        }
        Mode::Ethernet | Mode::Xdp => {
            return Err(DecideError {
                mode,
                network: "raw Ethernet",
                verdict: choice.frames.0,
                rank: choice.frames.1,
                advice: match choice.frames.0 {
                    Verdict::NotPermitted => {
                        "grant the capability to the program: sudo setcap cap_net_raw+ep PROGRAM, or try --net udp"
                    }
                    Verdict::Off => "processes of one host talk through ports or UDP",
                    _ => "are all hosts on one Ethernet segment? Try --net udp",
                },
            });
        }
        _ if udp => Network::Udp,
        Mode::Udp => {
            return Err(DecideError {
                mode,
                network: "UDP",
                verdict: choice.udp.0,
                rank: choice.udp.1,
                advice: match choice.udp.0 {
                    // Filtered, lost, sent to a wrong address or not sent: all look alike from
                    // here.
                    Verdict::Unheard => {
                        "why is not known: 10 s were given; compare oxmpi info --net of both hosts, or use --net tcp"
                    }
                    _ => "use --net tcp",
                },
            });
        }
        Mode::Auto => Network::Tcp,
    };
    Ok(choice)
}

impl Choice {
    /// The text for the launcher's key-value space.
    pub fn to_word(&self) -> String {
        let network = match self.network {
            Network::Frames => 'e',
            Network::Udp => 'u',
            Network::Tcp => 't',
            Network::Kernel => 'k',
        };
        let ((frames, first), (udp, second)) = (self.frames, self.udp);
        let (frames, udp) = (frames.letter(), udp.letter());
        format!("{network}.{frames}{first}.{udp}{second}")
    }

    /// The choice out of such a text.
    pub fn from_word(word: &str) -> Option<Choice> {
        let mut parts = word.split('.');
        let network = match parts.next()? {
            "e" => Network::Frames,
            "u" => Network::Udp,
            "t" => Network::Tcp,
            "k" => Network::Kernel,
            _ => return None,
        };
        let mut finding = || {
            let part = parts.next()?;
            let mut letters = part.chars();
            let verdict = Verdict::from_letter(letters.next()?)?;
            Some((verdict, letters.as_str().parse().ok()?))
        };
        Some(Choice {
            network,
            frames: finding()?,
            udp: finding()?,
            encrypted: false,
            rails: Rails::All,
        })
    }

    /// Whether bulk may go by UDP beside frames.
    pub fn has_udp_rail(&self) -> bool {
        let is_wanted = self.rails != Rails::Off;
        is_wanted && self.network == Network::Frames && self.udp.0 == Verdict::Works
    }

    /// Whether what is longest may go by TCP beside frames or datagrams.
    pub fn has_tcp_rail(&self) -> bool {
        let is_beside = matches!(self.network, Network::Frames | Network::Udp);
        is_beside && self.rails == Rails::All
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((frames, first), (udp, second)) = (self.frames, self.udp);
        formatter.write_str(match self.network {
            Network::Frames => "raw Ethernet",
            Network::Udp => "UDP",
            Network::Tcp => "TCP",
            Network::Kernel => "PM in the kernel",
        })?;
        formatter.write_str(match (self.has_udp_rail(), self.has_tcp_rail()) {
            (true, true) => ", bulk by UDP and TCP",
            (true, false) => ", bulk by UDP",
            (false, true) => ", bulk by TCP",
            (false, false) => "",
        })?;
        if self.encrypted {
            formatter.write_str(", encrypted")?;
        }
        match self.network {
            Network::Udp if frames != Verdict::Off => {
                write!(formatter, " (raw Ethernet {frames} at rank {first})")
            }
            Network::Tcp if udp != Verdict::Off => write!(
                formatter,
                " (raw Ethernet {frames} at rank {first}, UDP {udp} at rank {second})"
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Report = Report {
        frames: Verdict::Works,
        udp: Verdict::Works,
    };

    fn chosen(mode: Mode, reports: &[Report]) -> Result<Network, String> {
        let reports = reports.iter().copied();
        let choice = decide(mode, (0..).step_by(2).zip(reports));
        choice
            .map(|choice| choice.network)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_fastest_that_works_everywhere_is_taken() {
        let frames = |frames| Report { frames, ..GOOD };
        assert_eq!(chosen(Mode::Auto, &[GOOD, GOOD]), Ok(Network::Frames));
        let one_may_not = [GOOD, frames(Verdict::NotPermitted)];
        assert_eq!(chosen(Mode::Auto, &one_may_not), Ok(Network::Udp));
        let udp_is_blocked = [
            GOOD,
            Report {
                frames: Verdict::Unheard,
                udp: Verdict::Unheard,
            },
        ];
        assert_eq!(chosen(Mode::Auto, &udp_is_blocked), Ok(Network::Tcp));
        assert_eq!(chosen(Mode::Tcp, &[GOOD]), Ok(Network::Tcp));
        assert_eq!(chosen(Mode::Udp, &one_may_not), Ok(Network::Udp));
    }

    #[test]
    fn what_is_asked_for_by_name_is_used_or_an_error() {
        let may_not = Report {
            frames: Verdict::NotPermitted,
            ..GOOD
        };
        assert_eq!(
            chosen(Mode::Ethernet, &[GOOD, may_not]).unwrap_err(),
            "--net ethernet: raw Ethernet is not permitted (CAP_NET_RAW; see oxmpi setup-net) at rank 2; grant the capability to the program: sudo setcap cap_net_raw+ep PROGRAM, or try --net udp"
        );
        let unheard = Report {
            udp: Verdict::Unheard,
            ..GOOD
        };
        assert_eq!(
            chosen(Mode::Udp, &[unheard]).unwrap_err(),
            "--net udp: UDP brought nothing from a neighbour in time at rank 0; why is not known: 10 s were given; compare oxmpi info --net of both hosts, or use --net tcp"
        );
    }

    #[test]
    fn pm_in_the_kernel_is_taken_when_it_is_asked_for() {
        let report = |frames| Report {
            frames,
            udp: Verdict::Off,
        };
        let works = [report(Verdict::Works), report(Verdict::Works)];
        assert_eq!(chosen(Mode::PmKernel, &works), Ok(Network::Kernel));
        assert_eq!(chosen(Mode::Auto, &[GOOD]), Ok(Network::Frames));
        let unheard = [works[0], report(Verdict::Unheard)];
        assert_eq!(
            chosen(Mode::PmKernel, &unheard).unwrap_err(),
            "--net pm-kernel: PM in the kernel brought nothing from a neighbour in time at rank 2; are all hosts on one Ethernet segment? Try --net udp"
        );
        let choice = decide(Mode::PmKernel, [(0, works[0])].into_iter()).unwrap();
        assert_eq!(choice.to_string(), "PM in the kernel");
        assert_eq!(Choice::from_word(&choice.to_word()), Some(choice));
        assert!(!choice.has_udp_rail() && !choice.has_tcp_rail());
    }

    #[test]
    fn choices_travel_as_words() {
        let choice = Choice {
            network: Network::Tcp,
            frames: (Verdict::NoCard, 3),
            udp: (Verdict::Unheard, 12),
            encrypted: false,
            rails: Rails::All,
        };
        assert_eq!(choice.to_word(), "t.c3.u12");
        assert_eq!(Choice::from_word("t.c3.u12"), Some(choice));
        assert_eq!(
            choice.to_string(),
            "TCP (raw Ethernet has no interface at rank 3, UDP brought nothing from a neighbour in time at rank 12)"
        );
        for word in ["", "t", "t.c3", "x.c3.u12", "t.z3.u12", "t.c.u12"] {
            assert_eq!(Choice::from_word(word), None, "{word}");
        }
        assert_eq!(
            "wp".parse(),
            Ok(Report {
                frames: Verdict::Works,
                udp: Verdict::NotPermitted
            })
        );
        assert_eq!("wpw".parse::<Report>(), Err(()));
    }

    #[test]
    fn what_nobody_asked_for_is_no_reason() {
        let choice = decide(Mode::Tcp, std::iter::empty()).unwrap();
        assert_eq!(choice.to_string(), "TCP");
        let choice = decide(Mode::Udp, [(0, GOOD)].into_iter()).unwrap();
        assert_eq!(choice.to_string(), "UDP, bulk by TCP");
        let choice = Choice {
            rails: Rails::Udp,
            ..choice
        };
        assert_eq!(choice.to_string(), "UDP");
        let encrypted = Choice {
            encrypted: true,
            ..choice
        };
        assert_eq!(encrypted.to_string(), "UDP, encrypted");
        let choice = decide(Mode::Auto, [(0, GOOD)].into_iter()).unwrap();
        assert_eq!(choice.to_string(), "raw Ethernet, bulk by UDP and TCP");
        let rails = |rails| Choice { rails, ..choice }.to_string();
        assert_eq!(rails(Rails::Udp), "raw Ethernet, bulk by UDP");
        assert_eq!(rails(Rails::Off), "raw Ethernet");
    }

    #[test]
    fn the_driver_takes_tcp_only() {
        assert_eq!(Mode::Auto.looked_after(Progress::Kernel), Ok(Mode::Tcp));
        assert_eq!(Mode::Auto.looked_after(Progress::Uring), Ok(Mode::Tcp));
        assert!(Mode::Ethernet.looked_after(Progress::Uring).is_err());
        assert_eq!(Mode::Auto.looked_after(Progress::Bpf), Ok(Mode::Tcp));
        assert!(Mode::Udp.looked_after(Progress::Bpf).is_err());
        assert_eq!(Mode::Udp.looked_after(Progress::Sock), Ok(Mode::Udp));
        assert_eq!(
            Mode::Udp
                .looked_after(Progress::Kernel)
                .unwrap_err()
                .to_string(),
            "--progress kernel and --net udp contradict each other: it is about TCP connections; leave one of them out, or say --net tcp"
        );
    }

    #[test]
    fn modes_have_names() {
        let frames = [Mode::Ethernet, Mode::Xdp, Mode::PmKernel];
        for mode in [Mode::Auto, Mode::Tcp, Mode::Udp].into_iter().chain(frames) {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!(
            "infiniband".parse::<Mode>().unwrap_err().to_string(),
            "OXMPI_NET=\"infiniband\" (--net) makes no sense: expected auto, ethernet, xdp, pm-kernel, udp or tcp"
        );
    }
}
