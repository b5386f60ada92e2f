//! How the processes of a job agree on the network between their hosts, through the launcher's
//! key-value space.
//!
//! `oxmpi_net::choice` knows what there is and decides; this file carries cards, reports and the
//! choice. Everybody fences equally often, whatever its own part is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use oxmpi_net::choice::{Choice, DecideError, EquipError, Equipment, Mode, Report, decide};
use oxmpi_net::transport::{Directory, Transport};
use oxmpi_net::{Card, JobKey};
use oxmpi_pmi::{Client, PmiError};

use crate::error::WireUpError;
use crate::identity::Identity;

const CARD: &str = "oxmpi-card";
const KEY: &str = "oxmpi-key";
const REPORT: &str = "oxmpi-report";
const CHOICE: &str = "oxmpi-choice";
/// Behind the key: the first process encrypts, and so must all.
const SEALED: &str = "s";
/// Instead of a choice: what the user asked for does not work; behind it the reason, in hexadecimal
/// digits, because launchers' protocols take no blanks.
const NOTHING: &str = "nothing-";

/// Opens what this process may use and tells the others how it is reached. They may be asked after
/// the next fence.
pub(crate) fn announce(
    client: &mut Client,
    identity: &Identity,
    apart: bool,
) -> Result<Equipment, WireUpError> {
    let (rank, host) = (identity.rank, &identity.host);
    let equip = |error: EquipError| WireUpError::Equip {
        rank,
        host: host.clone(),
        error,
    };
    let mode = Mode::from_env().map_err(WireUpError::Mode)?;
    let equipment = Equipment::open(mode, rank, apart).map_err(equip)?;
    let card = equipment.card(host).map_err(|error| equip(error.into()))?;
    client.put(CARD, &card.to_string())?;
    if rank == 0 {
        let key = JobKey::random().map_err(|error| WireUpError::System {
            rank,
            host: host.clone(),
            what: "make the job's key",
            error: std::io::Error::other(error),
        })?;
        let sealed = if equipment.is_encrypted() { SEALED } else { "" };
        client.put(KEY, &format!("{}{sealed}", key.to_hex()))?;
    }
    Ok(equipment)
}

/// What this process needs to find the others: the key, and the network that all have agreed on.
pub(crate) struct Agreed {
    key: JobKey,
    choice: Choice,
}

/// Tries the devices out and agrees on one, together with all processes of the job. `hosts` are as
/// the processes talk: each its own if they are set apart.
pub(crate) fn agree(
    client: &mut Client,
    identity: &Identity,
    hosts: &[u32],
    equipment: &mut Equipment,
) -> Result<Agreed, WireUpError> {
    let rank = identity.rank;
    let told = told_by_first(client, rank, KEY)?;
    let (digits, encrypted) = match told.strip_suffix(SEALED) {
        Some(digits) => (digits, true),
        None => (&told[..], false),
    };
    if encrypted != equipment.is_encrypted() {
        let host = identity.host.clone();
        return Err(WireUpError::Encryption {
            rank,
            host,
            encrypted,
        });
    }
    let key: JobKey = digits.parse().map_err(|_| WireUpError::Told {
        rank: 0,
        key: KEY,
        // Nobody is told a key, not even a broken one.
        value: "…".into(),
        why: "it is no key".into(),
    })?;
    let opened = equipment.open_with(rank, hosts.len(), &key);
    opened.map_err(|error| WireUpError::Equip {
        rank,
        host: identity.host.clone(),
        error,
    })?;
    let mode = equipment.mode();
    if mode == Mode::Tcp {
        let choice = decide(mode, std::iter::empty()).map_err(WireUpError::from)?;
        return Ok(Agreed { key, choice });
    }
    let first = firsts(hosts);
    if let Some(place) = first.iter().position(|other| *other == rank) {
        let mut cards = Vec::new();
        for other in beside(&first, place) {
            // A rank that ended before it told where it is cannot be tried.
            if let Some(told) = get_unless_gone(client, other, CARD)? {
                cards.push((other, parse_card(other, told)?));
            }
        }
        let report = equipment.try_out(rank, &key, &cards);
        client.put(REPORT, &report.to_string())?;
    }
    client.fence()?;
    let mut refused = None;
    if rank == 0 {
        let mut reports = Vec::new();
        for other in first {
            let Some(told) = get_unless_gone(client, other, REPORT)? else {
                continue;
            };
            let report: Report = told.parse().map_err(|()| WireUpError::Told {
                rank: other,
                key: REPORT,
                value: told.clone(),
                why: "expected two letters".into(),
            })?;
            reports.push((other, report));
        }
        match decide(mode, reports.into_iter()) {
            Ok(choice) => client.put(CHOICE, &choice.to_word())?,
            Err(error) => {
                client.put(
                    CHOICE,
                    &format!("{NOTHING}{}", digits_of(&error.to_string())),
                )?;
                refused = Some(error);
            }
        }
    }
    client.fence()?;
    if let Some(error) = refused {
        return Err(error.into());
    }
    let told = told_by_first(client, rank, CHOICE)?;
    if let Some(digits) = told.strip_prefix(NOTHING) {
        let why = text_of(digits);
        return Err(WireUpError::Refused { rank, why });
    }
    let choice = Choice::from_word(&told).ok_or_else(|| WireUpError::Told {
        rank: 0,
        key: CHOICE,
        value: told,
        why: "expected the name of a network".into(),
    })?;
    Ok(Agreed { key, choice })
}

/// A text as hexadecimal digits.
fn digits_of(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The text that the digits stand for.
fn text_of(digits: &str) -> String {
    let pairs = digits.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8_lossy(&pairs.filter_map(byte).collect::<Vec<u8>>()).into_owned()
}

impl From<DecideError> for WireUpError {
    fn from(error: DecideError) -> WireUpError {
        WireUpError::Network(error)
    }
}

impl Agreed {
    /// The transport; it asks the launcher for the card of each process that it first talks to.
    pub(crate) fn assemble(
        self,
        identity: &Identity,
        client: &Arc<Mutex<Client>>,
        equipment: Equipment,
    ) -> Result<(Transport, Choice), WireUpError> {
        let (rank, size) = (identity.rank, identity.size);
        let directory = directory(client);
        let choice = Choice {
            encrypted: equipment.is_encrypted(),
            rails: equipment.rails(),
            ..self.choice
        };
        let transport = equipment
            .assemble(rank, size, self.key, &choice, directory)
            .map_err(|error| WireUpError::System {
                rank,
                host: identity.host.clone(),
                what: "set up the network",
                error,
            })?;
        Ok((transport, choice))
    }
}

fn card_of(client: &mut Client, rank: u32) -> Result<Card, WireUpError> {
    let text = client.get(rank, CARD)?;
    parse_card(rank, text)
}

fn parse_card(rank: u32, text: String) -> Result<Card, WireUpError> {
    text.parse()
        .map_err(|error: oxmpi_net::card::CardError| WireUpError::Told {
            rank,
            key: CARD,
            value: text,
            why: error.to_string(),
        })
}

/// What a rank told before a fence; None if it ended before it told.
pub(crate) fn get_unless_gone(
    client: &mut Client,
    rank: u32,
    key: &str,
) -> Result<Option<String>, WireUpError> {
    match client.get(rank, key) {
        Ok(told) => Ok(Some(told)),
        Err(PmiError::NotThere { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What rank 0 tells all others, and nobody else can.
fn told_by_first(client: &mut Client, rank: u32, key: &'static str) -> Result<String, WireUpError> {
    get_unless_gone(client, 0, key)?.ok_or(WireUpError::FirstGone { rank, key })
}

fn directory(client: &Arc<Mutex<Client>>) -> Directory {
    let client = Arc::clone(client);
    let mut known: HashMap<u32, Card> = HashMap::new();
    Box::new(move |peer| {
        if let Some(card) = known.get(&peer) {
            return Ok(card.clone());
        }
        let mut client = client
            .lock()
            .map_err(|_| "the line to the launcher is broken".to_string())?;
        let card = card_of(&mut client, peer).map_err(|error| error.to_string())?;
        known.insert(peer, card.clone());
        Ok(card)
    })
}

/// The first process of each host.
fn firsts(hosts: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; hosts.len()];
    (0..hosts.len() as u32)
        .filter(|rank| {
            let host = hosts[*rank as usize] as usize;
            !std::mem::replace(&mut seen[host], true)
        })
        .collect()
}

/// Those beside a place in a ring.
fn beside(ring: &[u32], place: usize) -> Vec<u32> {
    let before = ring[(place + ring.len() - 1) % ring.len()];
    let after = ring[(place + 1) % ring.len()];
    let mut others = vec![before];
    if after != before {
        others.push(after);
    }
    others.retain(|other| *other != ring[place]);
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_tried_in_a_ring() {
        let first = firsts(&[0, 0, 1, 2, 1, 3]);
        assert_eq!(first, [0, 2, 3, 5]);
        assert_eq!(beside(&first, 0), [5, 2]);
        assert_eq!(beside(&first, 3), [3, 0]);
        assert_eq!(beside(&[4, 7], 1), [4]);
        assert_eq!(beside(&[4], 0), []);
    }
}
