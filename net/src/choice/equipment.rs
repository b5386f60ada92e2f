//! What a process opens before its job has chosen a network: a listener always, and the devices
//! that it may use.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::in_kernel::{Kernel, Stage, kernel_addresses};
use super::trial::{self, Neighbour, Trial};
use super::wrap::{WrapError, is_checked, is_encrypted, rails, wrapped};
use super::{Choice, Mode, Network, Rails, Report, Verdict};
use crate::address::{self, Interface, Local, Policy, PortRange, Use, judge};
use crate::both::Both;
use crate::card::{Card, Wire};
use crate::device::ethernet::{self, Ethernet};
use crate::device::oxk::OxkError;
use crate::device::udp::{Families, Udp};
use crate::device::{Address, Channel, Device, Trunk, Xdp};
use crate::key::{JobKey, RandomError, random_salt};
use crate::pm::secret::Party;
use crate::pm::{self, Peer, Pm, Rail, RailKind};
use crate::seal::differing;
use crate::tcp::{BindError, Listener, Tcp};
use crate::transport::{Directory, Introductions, Transport};

/// Interfaces whose cards are used as one, separated by commas.
pub const TRUNK: &str = oxmpi_settings::NET_TRUNK.name;

/// Over paths of which nothing is known.
const MTU_DEFAULT: usize = 1500;
/// No IPv6 network has less.
const MTU_MIN: usize = 1280;
/// Jumbo frames; more exists only on loopback.
const MTU_MAX: usize = 9000;
/// UDP needs no channels: a process has a socket of its own.
const NO_CHANNEL: u16 = 0;

/// What a process has to reach others with.
pub struct Equipment {
    mode: Mode,
    /// Drawn for this process's conversations; its card tells it.
    salt: u64,
    listener: Listener,
    udp: Result<Box<dyn Device>, Verdict>,
    frames: Result<Frames, Verdict>,
    kernel: Result<Kernel, Verdict>,
    checked: bool,
    encrypted: bool,
    rails: Rails,
}

/// Cards that take raw frames, as one device.
struct Frames {
    device: Box<dyn Device>,
    wires: Vec<Wire>,
    /// Held as long as the device.
    channels: Vec<Channel>,
}

/// A process cannot be equipped.
#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    /// Nobody could reach the process.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// No keys without.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A setting.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// Asked for and refused.
    #[error("--net {mode}: {reason}")]
    Frames {
        /// What was asked for.
        mode: Mode,
        /// Why not.
        reason: String,
    },
    /// PM in the kernel.
    #[error("--net pm-kernel: {0}")]
    Kernel(#[from] OxkError),
    /// A setting.
    #[error(
        "{TRUNK}={value:?}: {word:?} is no Ethernet interface of this host that is up ({reason})"
    )]
    Trunk {
        /// The value.
        value: String,
        /// The name.
        word: String,
        /// Why not.
        reason: String,
    },
}

impl Equipment {
    /// Opens what process `rank` may use. `apart`: others are on this very host, where frames do
    /// not lead.
    pub fn open(mode: Mode, rank: u32, apart: bool) -> Result<Equipment, EquipError> {
        let salt = random_salt()?;
        let encrypted = is_encrypted().map_err(WrapError::from)?;
        if !mode.wants_udp() {
            let listener = Listener::bind(rank)?;
            let kernel = match mode == Mode::PmKernel && !apart {
                true => Ok(Kernel::reserve(
                    rank,
                    best_place(&listener),
                    PortRange::from_env().map_err(BindError::from)?,
                )?),
                false => Err(Verdict::Off),
            };
            return Ok(Equipment {
                mode,
                salt,
                listener,
                udp: Err(Verdict::Off),
                frames: Err(Verdict::Off),
                kernel,
                // TCP has no frames.
                checked: mode == Mode::PmKernel && is_checked()?,
                encrypted,
                rails: Rails::Off,
            });
        }
        let mtu = mtu_of(&offering()?);
        let (listener, udp) = Listener::bind_with(rank, |port, reach| {
            Udp::bind_at(reach, port, mtu, Families::Both).map_err(io::Error::other)
        })?;
        let own = own_address(&listener);
        let frames = match mode.wants_frames() && !apart {
            true => Frames::open(mode, rank, &listener)?,
            false => Err(Verdict::Off),
        };
        Ok(Equipment {
            mode,
            salt,
            listener,
            udp: Ok(wrapped(Box::new(udp), rank, "udp", own)?),
            frames,
            kernel: Err(Verdict::Off),
            checked: is_checked()?,
            encrypted,
            rails: rails(mode)?,
        })
    }

    /// What the user asked for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether everything that leaves this process is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// What may carry bulk.
    pub fn rails(&self) -> Rails {
        self.rails
    }

    /// What the others need to know to reach this process.
    pub fn card(&self, host: &str) -> Result<Card, BindError> {
        let card = self
            .listener
            .card(host)?
            .with_salt(self.salt, self.encrypted);
        Ok(match (&self.frames, &self.kernel) {
            (Ok(frames), _) => card.with_wires(frames.wires.clone()),
            (_, Ok(kernel)) => card.with_wires(vec![kernel.wire]),
            _ => card,
        })
    }

    /// The job's key and size are known: opens what needs them. Before a fence, after which others
    /// rely on it.
    pub fn open_with(&mut self, rank: u32, size: usize, key: &JobKey) -> Result<(), EquipError> {
        if let Ok(kernel) = &mut self.kernel
            && let Some((device, name)) = kernel.open(size, key)?
        {
            let own = own_address(&self.listener);
            kernel.stage = Stage::Open(wrapped(Box::new(device), rank, &name, own)?);
        }
        Ok(())
    }

    /// Greets the first processes of the hosts beside this one, and says what is heard from them.
    pub fn try_out(&mut self, me: u32, key: &JobKey, neighbours: &[(u32, Card)]) -> Report {
        let party = |process: u32, salt: u64| Party { process, salt };
        let me = party(me, self.salt);
        let on_wire = |(rank, card): &(u32, Card)| Neighbour {
            party: party(*rank, card.salt),
            addresses: frame_addresses(card),
            channel: card.wires.first().map_or(NO_CHANNEL, |wire| wire.channel),
        };
        let listener = &self.listener;
        let by_udp = |(rank, card): &(u32, Card)| Neighbour {
            party: party(*rank, card.salt),
            addresses: udp_addresses(card, listener.local(), listener.policy()),
            channel: NO_CHANNEL,
        };
        let by_kernel = |(rank, card): &(u32, Card)| Neighbour {
            addresses: kernel_addresses(card, listener.local(), listener.policy()),
            ..on_wire(&(*rank, card.clone()))
        };
        let mut trials = Vec::new();
        if let Ok(frames) = &mut self.frames {
            trials.push(Trial::new(
                frames.device.as_mut(),
                0,
                frames.wires[0].channel,
                self.mode != Mode::Auto,
                me,
                key,
                neighbours.iter().map(on_wire).collect(),
            ));
        }
        if let Ok(Kernel {
            wire,
            stage: Stage::Open(device),
        }) = &mut self.kernel
        {
            trials.push(Trial::new(
                device.as_mut(),
                0,
                wire.channel,
                true,
                me,
                key,
                neighbours.iter().map(by_kernel).collect(),
            ));
        }
        // Bulk beside frames is rail 1, and so is the trial of UDP: a process does not know yet
        // which it will be.
        if let Ok(device) = &mut self.udp {
            trials.push(Trial::new(
                device.as_mut(),
                1,
                NO_CHANNEL,
                self.mode == Mode::Udp,
                me,
                key,
                neighbours.iter().map(by_udp).collect(),
            ));
        }
        trial::try_out(&mut trials);
        let mut verdicts = trials
            .iter()
            .map(Trial::verdict)
            .collect::<Vec<Verdict>>()
            .into_iter();
        let mut verdict = |opened: Option<Verdict>| {
            opened.unwrap_or_else(|| verdicts.next().expect("each device was tried"))
        };
        let frames = match self.mode {
            Mode::PmKernel => verdict(self.kernel.as_ref().err().copied()),
            _ => verdict(self.frames.as_ref().err().copied()),
        };
        let udp = verdict(self.udp.as_ref().err().copied());
        Report { frames, udp }
    }

    /// The transport that was chosen.
    pub fn assemble(
        self,
        me: u32,
        size: u32,
        key: JobKey,
        choice: &Choice,
        directory: Directory,
    ) -> io::Result<Transport> {
        let unavailable = |what: &str| {
            let text = format!("rank 0 chose {what}, which this process could not open");
            io::Error::other(text)
        };
        let introductions = Introductions::default();
        let directory = introductions.before(directory);
        let mut rails = Vec::new();
        let mut channels = Vec::new();
        let mut held = Vec::new();
        match choice.network {
            Network::Tcp => {
                let tcp = Tcp::new(me, size, key, self.listener, directory)?;
                let tcp = tcp.with_encryption(self.encrypted);
                return Ok(Transport::Tcp(tcp.with_introductions(introductions)));
            }
            Network::Kernel => {
                let Ok(Kernel {
                    wire,
                    stage: Stage::Open(device),
                }) = self.kernel
                else {
                    return Err(unavailable("PM in the kernel"));
                };
                rails.push(Rail {
                    device,
                    kind: RailKind::Kernel,
                });
                channels.push(wire.channel);
            }
            Network::Udp => {
                let device = self.udp.map_err(|_| unavailable("UDP"))?;
                rails.push(Rail {
                    device,
                    kind: RailKind::Udp,
                });
                channels.push(NO_CHANNEL);
            }
            Network::Frames => {
                let frames = self.frames.map_err(|_| unavailable("raw Ethernet"))?;
                let kind = match frames.wires.len() {
                    1 => RailKind::Ethernet,
                    _ => RailKind::Trunk,
                };
                channels.push(frames.wires[0].channel);
                held = frames.channels;
                rails.push(Rail {
                    device: frames.device,
                    kind,
                });
                if choice.has_udp_rail()
                    && let Ok(device) = self.udp
                {
                    rails.push(Rail {
                        device,
                        kind: RailKind::Udp,
                    });
                    channels.push(NO_CHANNEL);
                }
            }
        }
        let network = choice.network;
        let frames_first = matches!(network, Network::Frames | Network::Kernel);
        let encrypted = self.encrypted;
        let (local, policy) = (
            self.listener.local().clone(),
            self.listener.policy().clone(),
        );
        // PM's finder and TCP ask it under the engine's lock, one after the other.
        let directory = Arc::new(Mutex::new(directory));
        let asked = directory.clone();
        let card_of = move |process: u32| {
            let mut directory = asked.lock().unwrap_or_else(PoisonError::into_inner);
            directory(process)
        };
        // The listener stays open, in TCP or in the finder: whether this process lives is asked
        // there when it is silent.
        let (tcp, listener) = match choice.has_tcp_rail() {
            true => {
                let card_of = Box::new(card_of.clone());
                let tcp = Tcp::new(me, size, key.clone(), self.listener, card_of)?;
                let tcp = tcp.with_encryption(encrypted);
                (Some(tcp.with_introductions(introductions.clone())), None)
            }
            false => (None, Some(self.listener)),
        };
        let finder = move |node: u32, rail: usize| {
            let _held = (&held, &listener);
            let card = card_of(node)?;
            if card.encrypted != encrypted {
                return Err(differing("it", card.encrypted));
            }
            let probe = address::order(&card, &local, &policy);
            let probe = probe.into_iter().map(|candidate| candidate.address);
            let by_frame = frames_first && rail == 0;
            let (addresses, channel) = match by_frame {
                true => (
                    match network {
                        Network::Kernel => kernel_addresses(&card, &local, &policy),
                        _ => frame_addresses(&card),
                    },
                    card.wires.first().map_or(NO_CHANNEL, |wire| wire.channel),
                ),
                false => (udp_addresses(&card, &local, &policy), NO_CHANNEL),
            };
            let frame_bytes_max = card.wires.iter().map(|wire| usize::from(wire.mtu)).min();
            if addresses.is_empty() {
                let explained = address::explain(&card, &local, &policy);
                return Err(format!("no way leads to it: {explained}"));
            }
            Ok(Peer {
                addresses,
                channel,
                // Processes of a job call each other by their numbers.
                name: me,
                salt: card.salt,
                frame_bytes_max: by_frame.then_some(frame_bytes_max).flatten(),
                host: card.host,
                probe: probe.collect(),
            })
        };
        let options = pm::Options {
            salt: self.salt,
            checked: self.checked,
            encrypted,
            ..pm::Options::default()
        };
        let pm = Pm::new(me, size, key, rails, channels, Box::new(finder), options)?;
        let pm = pm.with_introductions(introductions);
        Ok(match tcp {
            Some(tcp) => Transport::Both(Both::new(pm, tcp, size)?),
            None => Transport::Pm(pm),
        })
    }
}

impl Frames {
    /// Opens the card of the address that others try first, or those that the user trunks.
    fn open(
        mode: Mode,
        rank: u32,
        listener: &Listener,
    ) -> Result<Result<Frames, Verdict>, EquipError> {
        let asked = mode != Mode::Auto;
        let refuse = |verdict: Verdict, reason: String| match asked {
            true => Err(EquipError::Frames { mode, reason }),
            false => Ok(Err(verdict)),
        };
        if let Err(error) = ethernet::permitted() {
            return refuse(Verdict::NotPermitted, error.to_string());
        }
        let trunk = oxmpi_settings::NET_TRUNK.read().text().unwrap_or_default();
        let names: Vec<String> = match trunk.is_empty() {
            true => best_interface(listener).into_iter().collect(),
            false => trunk.split(',').map(|word| word.trim().into()).collect(),
        };
        if names.is_empty() {
            let reason = "no Ethernet interface with an address that other hosts could use";
            return refuse(Verdict::NoCard, reason.into());
        }
        let cards: Result<Vec<ethernet::Interface>, (String, String)> = names
            .iter()
            .map(|name| card(name).map_err(|reason| (name.clone(), reason)))
            .collect();
        let opened = cards.and_then(|cards| {
            let whole = |reason: String| (names.join(","), reason);
            open_cards(mode, rank, &cards).map_err(whole)
        });
        let (members, wires, channels) = match opened {
            Ok(opened) => opened,
            Err((_, reason)) if trunk.is_empty() => return refuse(Verdict::NoCard, reason),
            Err((word, reason)) => {
                let value = trunk;
                return Err(EquipError::Trunk {
                    value,
                    word,
                    reason,
                });
            }
        };
        let mut wrapped_members = Vec::new();
        for ((member, wire), name) in members.into_iter().zip(&wires).zip(&names) {
            let own = Address::Ethernet(wire.mac);
            wrapped_members.push(wrapped(member, rank, name, own)?);
        }
        let device = match wrapped_members.len() {
            1 => wrapped_members.remove(0),
            _ => match Trunk::new(wrapped_members) {
                Ok(trunk) => Box::new(trunk) as Box<dyn Device>,
                Err(error) => return refuse(Verdict::NoCard, error.to_string()),
            },
        };
        Ok(Ok(Frames {
            device,
            wires,
            channels,
        }))
    }
}

/// An interface that carries frames; why it does not, in words.
fn card(name: &str) -> Result<ethernet::Interface, String> {
    let card = ethernet::Interface::named(name).map_err(|error| error.to_string())?;
    match card.is_suitable() {
        true => Ok(card),
        false => Err(format!("{name} is down or carries no Ethernet frames")),
    }
}

/// Devices on cards, how others reach them, and the channels they hold.
type Opened = (Vec<Box<dyn Device>>, Vec<Wire>, Vec<Channel>);

/// Opens cards; why not, in words.
fn open_cards(mode: Mode, rank: u32, cards: &[ethernet::Interface]) -> Result<Opened, String> {
    let indices: Vec<u32> = cards.iter().map(|card| card.index).collect();
    let channels = Channel::claim_all(&indices).map_err(|error| error.to_string())?;
    let mut devices = Vec::new();
    let mut wires = Vec::new();
    for (card, channel) in cards.iter().zip(&channels) {
        let device: Box<dyn Device> = match mode {
            Mode::Xdp => {
                let device = Xdp::open(&card.name, channel, rank);
                Box::new(device.map_err(|error| error.to_string())?)
            }
            _ => {
                let device = Ethernet::open(&card.name, channel, rank);
                Box::new(device.map_err(|error| error.to_string())?)
            }
        };
        let frame_bytes_max = device.frame_bytes_max();
        devices.push(device);
        wires.push(Wire {
            mac: card.mac,
            channel: channel.number(),
            mtu: frame_bytes_max.min(usize::from(u16::MAX)) as u16,
        });
    }
    Ok((devices, wires, channels))
}

/// Where others find this process first, for captures.
fn own_address(listener: &Listener) -> Address {
    let offered = address::offered(&listener.local().interfaces, listener.policy());
    let ip = offered
        .ok()
        .and_then(|offered| Some(offered.first()?.address));
    let ip = ip.unwrap_or(std::net::Ipv4Addr::LOCALHOST.into());
    Address::Udp((ip, listener.port()).into())
}

/// The interfaces of this host that others may use, as the policy says.
fn offering() -> Result<Vec<Interface>, BindError> {
    let policy = address::Policy::from_env()?;
    let local = address::Local::read()?;
    let used = |interface: &Interface| {
        matches!(judge(interface, &policy), Use::Chosen | Use::Offered)
            && interface.kind != address::Kind::Loopback
    };
    Ok(local.interfaces.into_iter().filter(used).collect())
}

/// The least that any interface in use carries.
fn mtu_of(interfaces: &[Interface]) -> usize {
    let mtu = |interface: &Interface| {
        let path = format!("/sys/class/net/{}/mtu", interface.name);
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let least = interfaces.iter().filter_map(mtu).min();
    least.unwrap_or(MTU_DEFAULT).clamp(MTU_MIN, MTU_MAX)
}

/// The address that this process offers first, and its interface.
fn best_place(listener: &Listener) -> Option<(IpAddr, String)> {
    let interfaces = &listener.local().interfaces;
    let offered = address::offered(interfaces, listener.policy()).ok()?;
    let best = offered.first()?.address;
    let has_it = |interface: &&Interface| interface.address == best;
    let interface = interfaces.iter().find(has_it)?;
    (interface.kind != address::Kind::Loopback).then(|| (best, interface.name.clone()))
}

/// The interface of that address.
fn best_interface(listener: &Listener) -> Option<String> {
    Some(best_place(listener)?.1)
}

fn frame_addresses(card: &Card) -> Vec<Address> {
    let address = |wire: &Wire| Address::Ethernet(wire.mac);
    card.wires.iter().map(address).collect()
}

fn udp_addresses(card: &Card, local: &Local, policy: &Policy) -> Vec<Address> {
    let candidates = address::order(card, local, policy);
    let udp = |candidate: address::Candidate| Address::Udp(candidate.address);
    candidates.into_iter().map(udp).collect()
}
