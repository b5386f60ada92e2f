//! The hint `cb_config_list`: how many ranks of which hosts may access a file for the others.
//!
//! A list of hosts and numbers as ROMIO's guide has it: `n01:2,n02,*:0` means two ranks of n01, one
//! of n02 and none of any other host; `*` stands for every host that the list does not name before
//! it, and, behind a colon, for all ranks of a host. Names are those of MPI_Get_processor_name. A
//! process knows the name of its own host alone, so each tells what the list says of that.

/// A list, as the program gave it and as it is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigList {
    text: String,
    /// A host, or any; and its ranks at most.
    entries: Vec<(Option<String>, u32)>,
}

impl ConfigList {
    /// A list that can be understood.
    pub(crate) fn parse(text: &str) -> Option<ConfigList> {
        let mut entries = Vec::new();
        for entry in text.split(',') {
            let (host, count) = entry.trim().split_once(':').unwrap_or((entry.trim(), "1"));
            let count = match count.trim() {
                "*" => u32::MAX,
                count => count.parse().ok()?,
            };
            let host = match host.trim() {
                "" => return None,
                "*" => None,
                host => Some(host.to_owned()),
            };
            entries.push((host, count));
        }
        let text = text.trim().to_owned();
        Some(ConfigList { text, entries })
    }

    /// As the program gave it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What a rank of a host tells the others: the place of its host's entry, from 1 on, and how many
    /// ranks that allows; 0 if the list leaves the host out.
    pub(crate) fn word(&self, host: &str) -> u64 {
        let is_its = |name: &Option<String>| name.as_deref().is_none_or(|name| name == host);
        let mut entries = self.entries.iter().enumerate();
        match entries.find(|(_, (name, _))| is_its(name)) {
            Some((place, (_, count))) => (place as u64 + 1) << 32 | u64::from(*count),
            None => 0,
        }
    }
}

/// The ranks that lists choose, by what each rank has told and by the number of its host: hosts in
/// the order of the list, in turn; a host's lowest rank speaks for it. `None` if they choose no rank.
pub(crate) fn chosen(words: &[u64], hosts: &[u32]) -> Option<Vec<u32>> {
    let mut by_host: Vec<(u32, u64, Vec<u32>)> = Vec::new();
    for (rank, (host, word)) in hosts.iter().zip(words).enumerate() {
        match by_host.iter_mut().find(|(known, ..)| known == host) {
            Some((.., ranks)) => ranks.push(rank as u32),
            None => by_host.push((*host, *word, vec![rank as u32])),
        }
    }
    by_host.sort_by_key(|(_, word, _)| word >> 32);
    for (_, word, ranks) in &mut by_host {
        ranks.truncate(*word as u32 as usize);
    }
    Some(in_turn(
        by_host.into_iter().map(|(.., ranks)| ranks).collect(),
    ))
    .filter(|ranks| !ranks.is_empty())
}

/// One rank of each host, then another one of each, and so on.
pub(crate) fn in_turn(by_host: Vec<Vec<u32>>) -> Vec<u32> {
    let rounds = by_host.iter().map(Vec::len).max().unwrap_or(0);
    let round = |round| by_host.iter().filter_map(move |ranks| ranks.get(round));
    (0..rounds).flat_map(round).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks chosen by a list, on hosts with these names.
    fn of(list: &str, names: &[&str]) -> Option<Vec<u32>> {
        let list = ConfigList::parse(list)?;
        let words: Vec<u64> = names.iter().map(|name| list.word(name)).collect();
        let number = |name: &&str| names.iter().position(|other| other == name).unwrap() as u32;
        let hosts: Vec<u32> = names.iter().map(number).collect();
        chosen(&words, &hosts)
    }

    const NAMES: [&str; 6] = ["n01", "n01", "n01", "n02", "n02", "n03"];

    #[test]
    fn lists_choose_ranks_by_host_and_number() {
        assert_eq!(of("*:1", &NAMES), Some(vec![0, 3, 5]));
        assert_eq!(of("*:*", &NAMES), Some(vec![0, 3, 5, 1, 4, 2]));
        assert_eq!(of("n01:30,*:0", &NAMES), Some(vec![0, 1, 2]));
        assert_eq!(of("n03, n02", &NAMES), Some(vec![5, 3]));
        assert_eq!(of("n02:*,*", &NAMES), Some(vec![3, 0, 5, 4]));
        // The first entry that fits counts.
        assert_eq!(of("n01:1,n01:3", &NAMES), Some(vec![0]));
    }

    #[test]
    fn lists_that_choose_none_or_cannot_be_are_ignored() {
        for list in [
            "", ":2", "n01:", "n01:x", "n01:-1", "n01,,n02", "*:0", "n99:4",
        ] {
            assert_eq!(of(list, &NAMES), None, "{list}");
        }
        // A rank that gave none beside others that did.
        assert_eq!(chosen(&[0, 0], &[0, 0]), None);
    }
}
