//! Which rank is on which host, as launchers write it: `(vector,(first host, hosts, ranks per
//! host),...)`.
//!
//! A block gives each of its hosts, one after the other, its number of ranks; when the list is used
//! up and ranks are left it is used again from the start, so `(vector,(0,2,1))` deals ranks like
//! cards. MPICH's Hydra and Slurm write this under the key [`KEY`]; MPICH reads it from our server.

use crate::RANKS_MAX;

/// The key under which a launcher offers the mapping.
pub(crate) const KEY: &str = "PMI_process_mapping";

/// The key under which our own server offers a mapping that is longer than a value, in pieces.
pub(crate) const KEY_OF_PIECES: &str = "oxmpi-process-mapping";

/// Why a text says nothing about hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MappingError {
    /// The text has another form.
    #[error("(vector,(host,hosts,ranks),...) was expected")]
    Form,
    /// No block holds a rank.
    #[error("its blocks hold no rank")]
    Empty,
    /// More ranks than any job has.
    #[error("the job would have {0} ranks, the limit is {RANKS_MAX}")]
    Ranks(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    host: u32,
    hosts: u32,
    ranks: u32,
}

/// The host of every rank. Hosts are numbered in the order in which ranks first meet them. None:
/// the launcher left it empty.
pub(crate) fn parse(text: &str, size: u32) -> Result<Option<Vec<u32>>, MappingError> {
    if size > RANKS_MAX {
        return Err(MappingError::Ranks(size));
    }
    let text: String = text.split_whitespace().collect();
    if text.is_empty() {
        return Ok(None);
    }
    let list = text
        .strip_prefix("(vector")
        .and_then(|text| text.strip_suffix(')'))
        .ok_or(MappingError::Form)?;
    if list.is_empty() {
        return Ok(None);
    }
    let blocks = list
        .strip_prefix(",(")
        .and_then(|list| list.strip_suffix(')'))
        .ok_or(MappingError::Form)?
        .split("),(")
        .map(|block| {
            let mut numbers = block.split(',').map(str::parse);
            match (
                numbers.next(),
                numbers.next(),
                numbers.next(),
                numbers.next(),
            ) {
                (Some(Ok(host)), Some(Ok(hosts)), Some(Ok(ranks)), None) => {
                    Some(Block { host, hosts, ranks })
                }
                _ => None,
            }
        })
        .collect::<Option<Vec<_>>>()
        .ok_or(MappingError::Form)?;
    if blocks
        .iter()
        .all(|block| block.hosts == 0 || block.ranks == 0)
    {
        return Err(MappingError::Empty);
    }
    Ok(Some(in_order_of_ranks(expand(&blocks).take(size as usize))))
}

/// The shortest list of blocks that says where every rank is.
pub(crate) fn emit(hosts: &[u32]) -> String {
    let blocks = blocks(hosts);
    // Usually one or two blocks; a layout without pattern costs a failed comparison per prefix.
    let period = (1..blocks.len())
        .find(|&length| {
            expand(&blocks[..length])
                .zip(hosts)
                .all(|(host, &other)| host == other)
        })
        .unwrap_or(blocks.len());
    let list: String = blocks[..period]
        .iter()
        .map(|block| format!(",({},{},{})", block.host, block.hosts, block.ranks))
        .collect();
    format!("(vector{list})")
}

/// The same hosts, numbered in the order in which ranks first meet them.
pub(crate) fn in_order_of_ranks(hosts: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers = std::collections::HashMap::new();
    hosts
        .map(|host| {
            let next = numbers.len() as u32;
            *numbers.entry(host).or_insert(next)
        })
        .collect()
}

/// Host after host without end; at least one block holds a rank.
fn expand(blocks: &[Block]) -> impl Iterator<Item = u32> {
    blocks
        .iter()
        .filter(|block| block.ranks > 0)
        .cycle()
        .flat_map(|block| {
            (0..block.hosts).flat_map(|offset| {
                std::iter::repeat_n(block.host.wrapping_add(offset), block.ranks as usize)
            })
        })
}

fn blocks(hosts: &[u32]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for run in hosts.chunk_by(|one, other| one == other) {
        let (host, ranks) = (run[0], run.len() as u32);
        match blocks.last_mut() {
            Some(last) if last.ranks == ranks && last.host.wrapping_add(last.hosts) == host => {
                last.hosts += 1
            }
            _ => blocks.push(Block {
                host,
                hosts: 1,
                ranks,
            }),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_mappings() {
        let cases: [(&str, &[u32]); 6] = [
            ("(vector,(0,1,4))", &[0, 0, 0, 0]),
            ("(vector,(0,2,2))", &[0, 0, 1, 1]),
            ("(vector,(0,2,1))", &[0, 1, 0, 1, 0]),
            ("(vector,(0,1,3),(1,1,1))", &[0, 0, 0, 1]),
            ("(vector,(0,1,2),(1,2,1))", &[0, 0, 1, 2, 0, 0, 1]),
            ("(vector,(0,2,1),(1,1,1),(0,1,1))", &[0, 1, 1, 0]),
        ];
        for (text, hosts) in cases {
            assert_eq!(
                parse(text, hosts.len() as u32).unwrap().unwrap(),
                hosts,
                "{text}"
            );
        }
        assert_eq!(emit(&[0, 0, 0, 0]), "(vector,(0,1,4))");
        assert_eq!(emit(&[0, 0, 1, 1, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(emit(&[0, 1, 0, 1, 0]), "(vector,(0,2,1))");
        assert_eq!(emit(&[0, 0, 0, 1]), "(vector,(0,1,3),(1,1,1))");
        assert_eq!(emit(&[]), "(vector)");
    }

    #[test]
    fn hosts_are_numbered_as_ranks_meet_them() {
        assert_eq!(
            parse("(vector,(7,1,1),(3,1,2))", 3).unwrap().unwrap(),
            [0, 1, 1]
        );
        assert_eq!(parse(" (vector, (0, 2, 1)) ", 2).unwrap().unwrap(), [0, 1]);
    }

    #[test]
    fn no_mapping_and_bad_ones() {
        assert_eq!(parse("", 4), Ok(None));
        assert_eq!(parse("(vector)", 4), Ok(None));
        for text in [
            "vector",
            "(vector,)",
            "(vector,(0,1))",
            "(vector,(0,1,1)",
            "(vector,(a,1,1))",
            "(0,1,1)",
        ] {
            assert_eq!(parse(text, 4), Err(MappingError::Form), "{text}");
        }
        assert_eq!(
            parse("(vector,(0,0,4),(0,4,0))", 4),
            Err(MappingError::Empty)
        );
        assert_eq!(
            parse("(vector,(0,1,1))", u32::MAX),
            Err(MappingError::Ranks(u32::MAX))
        );
        assert_eq!(
            parse("(vector,(4294967295,2,4294967295))", 3)
                .unwrap()
                .unwrap(),
            [0, 0, 0]
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(hosts in proptest::collection::vec(0u32..5, 1..60)) {
            let hosts = in_order_of_ranks(hosts.into_iter());
            prop_assert_eq!(parse(&emit(&hosts), hosts.len() as u32).unwrap().unwrap(), hosts);
        }

        #[test]
        fn any_text_is_a_mapping_or_an_error(text in "[(vector),0-9 ]{0,60}", size in 0u32..100) {
            let _ = parse(&text, size);
            let _ = parse(&format!("(vector,({text}))"), size);
        }
    }
}
