//! Choices for hosts as people have them: clusters, laptops with docker and a VPN, containers,
//! namespaces of one machine.

use super::*;
use crate::Card;
use proptest::prelude::*;
use std::net::SocketAddr;

const HERE: u64 = 1;
const ELSEWHERE: u64 = 2;

/// "eth0 10.1.0.7/24 ordinary", with "down" or a speed behind it if wanted.
fn interface(text: &str) -> Interface {
    let words: Vec<&str> = text.split(' ').collect();
    let (address, prefix) = words[1].split_once('/').unwrap();
    Interface {
        name: words[0].to_owned(),
        index: words[0].bytes().last().unwrap().into(),
        address: address.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
        kind: Kind::ALL
            .into_iter()
            .find(|kind| kind.to_string() == words[2])
            .unwrap(),
        up: !words.contains(&"down"),
        speed_mbit: words.last().and_then(|word| word.parse().ok()),
    }
}

fn host<const N: usize>(machine: u64, interfaces: [&str; N]) -> Local {
    Local {
        machine,
        interfaces: interfaces.map(interface).to_vec(),
    }
}

fn policy(include: &str, exclude: &str) -> Policy {
    Policy::from_variables(|name| Some(if name == INCLUDE { include } else { exclude }.to_owned()))
        .unwrap()
}

fn card(local: &Local, policy: &Policy) -> Card {
    let addresses = offered(&local.interfaces, policy).unwrap();
    Card::new("peer", local.machine, 5000, addresses)
}

fn addresses(local: &Local, policy: &Policy) -> Vec<String> {
    let text = |offered: &Offered| offered.address.to_string();
    card(local, policy).addresses.iter().map(text).collect()
}

/// How a process at `from` tries to reach one at `to`, when both have the same policy.
fn tried(from: &Local, to: &Local, policy: &Policy) -> String {
    explain(&card(to, policy), from, policy)
}

/// A laptop: two cards, docker, a VPN.
fn laptop(machine: u64, last: u8) -> Local {
    let mut local = host(
        machine,
        [
            "lo 127.0.0.1/8 loopback",
            "lo ::1/128 loopback",
            "wg0 10.8.0.1/24 tunnel",
            "docker0 172.17.0.1/16 bridge",
            "docker0 fe80::42/64 bridge",
            "eth0 192.168.7.1/24 ordinary 1000",
            "eth0 2001:db8::1/64 ordinary 1000",
            "eth0 fe80::1/64 link-local 1000",
            "eth1 10.1.0.1/16 ordinary 10000",
        ],
    );
    for interface in &mut local.interfaces {
        match &mut interface.address {
            IpAddr::V4(address) if matches!(interface.kind, Kind::Ordinary | Kind::Tunnel) => {
                let [a, b, c, _] = address.octets();
                *address = [a, b, c, last].into();
            }
            IpAddr::V6(address) if interface.kind != Kind::Loopback => {
                *address = (address.to_bits() - 1 + u128::from(last)).into();
            }
            _ => {}
        }
    }
    local
}

#[test]
fn the_best_is_offered_first() {
    assert_eq!(
        addresses(&laptop(HERE, 1), &Policy::default()),
        [
            "10.1.0.1",
            "192.168.7.1",
            "2001:db8::1",
            "fe80::1",
            "10.8.0.1",
            "172.17.0.1",
            "127.0.0.1",
            "::1"
        ]
    );
}

#[test]
fn what_cannot_lead_there_is_not_tried() {
    assert_eq!(
        tried(&laptop(HERE, 1), &laptop(ELSEWHERE, 2), &Policy::default()),
        "10.1.0.2:5000 (same network as eth1), 192.168.7.2:5000 (same network as eth0), [2001:db8::2]:5000 (same network as eth0), \
         [fe80::2%48]:5000 (link-local, only if nothing else reaches it), 10.8.0.2:5000 (tunnel, only if nothing else reaches it), \
         not 172.17.0.1 (docker0 of this host has it, too), not 127.0.0.1 (loopback of another machine), not ::1 (loopback of another machine)"
    );
}

#[test]
fn a_shared_network_comes_before_a_faster_one() {
    let here = host(HERE, ["eth0 10.1.0.1/16 ordinary 1000"]);
    let there = host(
        ELSEWHERE,
        [
            "eth1 10.2.0.2/16 ordinary 40000",
            "eth0 10.1.0.2/16 ordinary 1000",
        ],
    );
    assert_eq!(
        tried(&here, &there, &Policy::default()),
        "10.1.0.2:5000 (same network as eth0), 10.2.0.2:5000 (by routing)"
    );
}

/// Two hosts of a test are namespaces of one machine: another number for the machine, and veth
/// pairs that look like cards.
#[test]
fn namespaces_meet_by_their_pair() {
    let a = host(
        HERE,
        [
            "lo 127.0.0.1/8 loopback",
            "eth0 10.77.0.1/16 ordinary 10000",
        ],
    );
    let b = host(
        ELSEWHERE,
        [
            "lo 127.0.0.1/8 loopback",
            "eth0 10.77.0.2/16 ordinary 10000",
        ],
    );
    assert_eq!(
        tried(&a, &b, &Policy::default()),
        "10.77.0.2:5000 (same network as eth0), not 127.0.0.1 (loopback of another machine)"
    );
}

#[test]
fn loopback_serves_one_machine() {
    let alone = host(HERE, ["lo 127.0.0.1/8 loopback", "lo ::1/128 loopback"]);
    assert_eq!(
        tried(&alone, &alone, &Policy::default()),
        "127.0.0.1:5000 (loopback, same machine), [::1]:5000 (loopback, same machine)"
    );
    let other = Local {
        machine: ELSEWHERE,
        ..alone.clone()
    };
    assert!(
        order(
            &card(&alone, &Policy::default()),
            &other,
            &Policy::default()
        )
        .is_empty()
    );
    // Two processes of one host that has a card reach each other by either.
    let usual = host(
        HERE,
        ["lo 127.0.0.1/8 loopback", "eth0 10.1.0.1/24 ordinary"],
    );
    assert_eq!(
        tried(&usual, &usual, &Policy::default()),
        "10.1.0.1:5000 (same network as eth0), 127.0.0.1:5000 (loopback, same machine)"
    );
}

#[test]
fn docker_is_used_where_it_is_all_there_is() {
    let here = host(HERE, ["docker0 172.17.0.1/16 bridge"]);
    let container = host(ELSEWHERE, ["eth0 172.17.0.2/16 ordinary"]);
    assert_eq!(
        tried(&here, &container, &Policy::default()),
        "172.17.0.2:5000 (by routing)"
    );
    assert_eq!(
        tried(&container, &here, &Policy::default()),
        "172.17.0.1:5000 (bridge, only if nothing else reaches it)"
    );
}

#[test]
fn link_local_is_tried_on_every_wire() {
    let here = host(
        HERE,
        [
            "a fe80::a/64 link-local",
            "b fe80::b/64 link-local",
            "docker0 fe80::d/64 bridge",
        ],
    );
    let there = host(ELSEWHERE, ["eth0 fe80::2/64 link-local"]);
    let scopes = |candidates: Vec<Candidate>| -> Vec<u32> {
        let scope = |candidate: Candidate| match candidate.address {
            SocketAddr::V6(address) => address.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        candidates.into_iter().map(scope).collect()
    };
    let all = Policy::default();
    assert_eq!(
        scopes(order(&card(&there, &all), &here, &all)),
        [u32::from(b'a'), u32::from(b'b')]
    );
    let only_b = policy("b,eth0", "");
    assert_eq!(
        explain(&card(&there, &only_b), &here, &only_b),
        "[fe80::2%98]:5000 (same network as b)"
    );
    let without = host(HERE, ["eth0 10.0.0.1/8 ordinary"]);
    assert_eq!(
        explain(&card(&there, &all), &without, &all),
        "not fe80::2 (link-local, and no interface here is)"
    );
}

#[test]
fn the_user_chooses() {
    let laptop = laptop(HERE, 1);
    assert_eq!(addresses(&laptop, &policy("wg0", "")), ["10.8.0.1"]);
    assert_eq!(
        addresses(&laptop, &policy("192.168.0.0/16,10.0.0.0/8", "")),
        ["192.168.7.1", "10.1.0.1", "10.8.0.1"]
    );
    assert_eq!(
        addresses(&laptop, &policy("eth0", "fe80::/10,2001:db8::/32")),
        ["192.168.7.1"]
    );
    // What is chosen is not a last resort any more.
    assert_eq!(
        tried(&laptop, &self::laptop(ELSEWHERE, 2), &policy("wg0", "")),
        "10.8.0.2:5000 (same network as wg0)"
    );
    // An exclusion here counts for what others offer; an inclusion elsewhere is their matter.
    let peer = card(&self::laptop(ELSEWHERE, 2), &policy("eth1,wg0", ""));
    assert_eq!(
        explain(&peer, &laptop, &policy("", "10.1.0.0/16")),
        "10.8.0.2:5000 (by routing), not 10.1.0.2 (excluded by OXMPI_NET_EXCLUDE (10.1.0.0/16))"
    );
}

#[test]
fn nothing_to_offer_is_an_error_that_lists_what_there_is() {
    let host = host(
        HERE,
        [
            "lo 127.0.0.1/8 loopback",
            "eth0 10.1.0.1/16 ordinary",
            "eth1 10.9.0.1/16 ordinary down",
        ],
    );
    let error = |policy| offered(&host.interfaces, &policy).unwrap_err().to_string();
    assert_eq!(
        error(policy("10.9.0.0/16,ib0", "")),
        "OXMPI_NET_INCLUDE=10.9.0.0/16,ib0 matches no interface of this host that is up: there is lo 127.0.0.1/8, eth0 10.1.0.1/16, \
         eth1 10.9.0.1/16 (down); name one of these or unset OXMPI_NET_INCLUDE"
    );
    assert_eq!(
        error(policy("eth0", "10.0.0.0/8")),
        "OXMPI_NET_INCLUDE=eth0 matches no interface of this host that is up and not excluded by OXMPI_NET_EXCLUDE=10.0.0.0/8: \
         there is lo 127.0.0.1/8, eth0 10.1.0.1/16, eth1 10.9.0.1/16 (down); name one of these or unset OXMPI_NET_INCLUDE"
    );
    assert_eq!(
        error(policy("", "0.0.0.0/0")),
        "OXMPI_NET_EXCLUDE=0.0.0.0/0 leaves no address of this host: there is lo 127.0.0.1/8, eth0 10.1.0.1/16, eth1 10.9.0.1/16 (down); \
         leave one of these"
    );
    assert_eq!(
        offered(&[], &Policy::default()).unwrap_err().to_string(),
        "no network interface of this host is up (there is none): ip link set lo up makes at least loopback work"
    );
}

prop_compose! {
    fn any_interface()(
        name in "[a-c]",
        address: IpAddr,
        prefix in 0u8..=32,
        kind in 0..Kind::ALL.len(),
        up: bool,
        speed_mbit: Option<u32>,
    ) -> Interface {
        Interface { index: name.as_bytes()[0].into(), name, address, prefix, kind: Kind::ALL[kind], up, speed_mbit }
    }
}

proptest! {
    /// Whatever the interfaces are: a card of this very process is tried at each of its addresses,
    /// ordinary ones before all others.
    #[test]
    fn a_process_of_this_machine_is_tried_everywhere(
        interfaces in proptest::collection::vec(any_interface(), 1..8),
    ) {
        let local = Local { machine: HERE, interfaces };
        let all = Policy::default();
        let Ok(addresses) = offered(&local.interfaces, &all) else {
            prop_assert!(local.interfaces.iter().all(|interface| judge(interface, &all) != Use::Offered));
            return Ok(());
        };
        prop_assert_eq!(addresses.len(), local.interfaces.iter().filter(|interface| judge(interface, &all) == Use::Offered).count());
        let candidates = order(&Card::new("me", HERE, 1, addresses.clone()), &local, &all);
        for offered in &addresses {
            let link_local = matches!(offered.address, IpAddr::V6(address) if address.is_unicast_link_local());
            prop_assert!(link_local || candidates.iter().any(|candidate| candidate.address.ip() == offered.address));
        }
        let last_good = candidates.iter().rposition(|candidate| matches!(candidate.why, Why::SameNetwork(_) | Why::Routed));
        let first_other = candidates.iter().position(|candidate| matches!(candidate.why, Why::LastResort(_) | Why::SameMachine));
        prop_assert!(last_good.zip(first_other).is_none_or(|(good, other)| good < other));
    }
}
