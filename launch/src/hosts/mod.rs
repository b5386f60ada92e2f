//! Hosts of a job: how people name them, and what is refused.
//!
//! A list (`-host a:2,b:2`), a hostfile (`file`), a batch system (`allocation`), where ranks go (`place`), how a host is reached
//! (`template`), and the settings that hold all of it together (`spread`). No I/O except for
//! reading the hostfile; every name has been checked before it can become a word of a command.

mod allocation;
pub(crate) mod file;
mod place;
mod spread;
mod template;

use std::path::PathBuf;

pub use allocation::Allocation;
pub use place::MapBy;
pub use spread::Spread;
pub(crate) use spread::{Placement, fanout};
pub use template::{Template, split_words};

/// Ranks one host carries at most: one port each.
pub const HOST_RANKS_MAX: u32 = oxmpi_ports::layout::PORTS_MAX;

/// Hosts one job may use: as many as it may have ranks, for a host without ranks is not used.
pub const HOSTS_MAX: usize = oxmpi_join::RANKS_MAX as usize;

/// Longer than a host name (253, RFC 1035 §2.3.4) with a user before it.
const NAME_BYTES_MAX: usize = 320;

/// A host and how many ranks it is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the remote shell gets it; an IPv6 address is without brackets.
    pub name: String,
    /// Ranks before the next host has its turn.
    pub slots: u32,
    /// Ranks it never exceeds.
    pub slots_max: Option<u32>,
}

/// Why hosts cannot be used as they were given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// A variable names a file or a program, and the launcher is privileged.
    #[error(transparent)]
    Untrusted(#[from] oxmpi_trust::Untrusted),
    /// A list or a file without hosts.
    #[error("{given} names no host; write for example a:2,b:2")]
    None {
        /// Where it was given.
        given: String,
    },
    /// A name that a shell or ssh could take for something else.
    #[error("{given}: '{name}' is not used as a host: {why}")]
    Name {
        /// Where it was given.
        given: String,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A count that is none.
    #[error(
        "{given}: {what} '{value}' of host {name} is not a number from 1 to {}",
        oxmpi_join::RANKS_MAX
    )]
    Count {
        /// Where it was given.
        given: String,
        /// Which count.
        what: &'static str,
        /// The host.
        name: String,
        /// What stands there.
        value: String,
    },
    /// A word of a hostfile that has no meaning here.
    #[error(
        "{given}: '{word}' is not understood; a line is host, host:4, or host slots=4 max_slots=8"
    )]
    Word {
        /// File and line.
        given: String,
        /// The word.
        word: String,
    },
    /// A batch system tells its hosts in a way that is not known.
    #[error(
        "{variable}={value} is not understood: {why}; name the hosts with -host or -hostfile, or set OXMPI_ALLOCATION=off"
    )]
    Allocation {
        /// The batch system's variable.
        variable: &'static str,
        /// What it says.
        value: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The hostfile cannot be read.
    #[error("cannot read the hostfile {}: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Too many of them.
    #[error("{given} names more than {HOSTS_MAX} hosts")]
    TooMany {
        /// Where they were given.
        given: String,
    },
    /// Every host has as many ranks as its max_slots allow.
    #[error("{ranks} ranks do not fit: max_slots of the {hosts} hosts add up to {places}")]
    Full {
        /// The ranks asked for.
        ranks: u32,
        /// How many hosts there are.
        hosts: usize,
        /// What they take together.
        places: u64,
    },
    /// More ranks on one host than it can carry.
    #[error(
        "host {name} would get {ranks} ranks and carries at most {}: name more hosts (-host, -hostfile) or start fewer ranks",
        HOST_RANKS_MAX
    )]
    Crowded {
        /// The host.
        name: String,
        /// What would run there.
        ranks: u32,
    },
    /// A mapping that is none of ours.
    #[error(
        "{given}: expected node, slot, core, socket or ppr:N:node; --bind-to and --cpus-per-rank say which CPUs a rank has"
    )]
    MapBy {
        /// Option or variable with its value.
        given: String,
    },
    /// A setting makes no sense.
    #[error(transparent)]
    Setting(#[from] oxmpi_settings::SettingError),
    /// A template that is no command.
    #[error("{given}: {why}; write for example 'ssh -x {{host}}'")]
    Template {
        /// Option or variable with its value.
        given: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The agent's path would not survive a remote shell.
    #[error("the agent's path {} contains '{character}', which a remote shell would not leave alone: give a plain path with --agent (a link will do)", .path.display())]
    AgentPath {
        /// The path.
        path: PathBuf,
        /// The first character that is not plain.
        character: char,
    },
    /// No program to start on other hosts.
    #[error("no oxmpi beside {} to start as agent on other hosts: give its path with --agent or OXMPI_AGENT", .beside.display())]
    NoAgent {
        /// The running program.
        beside: PathBuf,
    },
}

impl Host {
    /// The hosts of a list such as `a:2,b:2` or `[fe80::1]:4,b`; `given` is what an error calls it.
    pub fn list(text: &str, given: &str) -> Result<Vec<Host>, HostsError> {
        let words = text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        let hosts = words.map(|word| Host::parse(word, given));
        merged(hosts.collect::<Result<_, _>>()?, given)
    }

    /// The hosts of a hostfile; see the module `file` for what it may hold.
    pub fn file(path: &std::path::Path) -> Result<Vec<Host>, HostsError> {
        file::read(path)
    }

    /// `a`, `a:2`, `[::1]:2` or `::1`.
    fn parse(word: &str, given: &str) -> Result<Host, HostsError> {
        let (name, count) = if let Some((name, rest)) = bracketed(word) {
            (
                name,
                rest.strip_prefix(':')
                    .or((!rest.is_empty()).then_some(rest)),
            )
        } else {
            match word.rsplit_once(':') {
                // Two colons without brackets are an IPv6 address and no count.
                Some((name, count)) if !name.contains(':') => (name, Some(count)),
                _ => (word, None),
            }
        };
        let mut host = Host::named(name, given)?;
        if let Some(count) = count {
            host.slots = number(count, "the count", name, given)?;
        }
        Ok(host)
    }

    /// A host with one slot.
    fn named(name: &str, given: &str) -> Result<Host, HostsError> {
        check_name(name, given)?;
        Ok(Host {
            name: name.to_owned(),
            slots: 1,
            slots_max: None,
        })
    }

    /// Whether this is the host that this process runs on.
    pub fn is_local(&self) -> bool {
        self.is_here(&oxmpi_join::host_name())
    }

    /// Whether this is the host the launcher runs on, which `own` is the name of.
    pub(crate) fn is_here(&self, own: &str) -> bool {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        // A name in full is compared in full: two domains may each have a "node1".
        let same = self.name == own
            || (!self.name.contains('.') && !own.is_empty() && self.name == short(own));
        same || ["localhost", "127.0.0.1", "::1"].contains(&self.name.as_str())
    }
}

/// The inside of brackets and what follows them.
fn bracketed(word: &str) -> Option<(&str, &str)> {
    word.strip_prefix('[')?.split_once(']')
}

/// A host that is named twice has the slots of both, at its first place.
fn merged(hosts: Vec<Host>, given: &str) -> Result<Vec<Host>, HostsError> {
    let mut places = std::collections::HashMap::new();
    let mut merged: Vec<Host> = Vec::with_capacity(hosts.len());
    for host in hosts {
        let place = *places.entry(host.name.clone()).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(known) => {
                known.slots = known.slots.saturating_add(host.slots);
                known.slots_max = match (known.slots_max, host.slots_max) {
                    (Some(one), Some(other)) => Some(one.saturating_add(other)),
                    (one, other) => one.or(other),
                };
                known.slots = known.slots.min(known.slots_max.unwrap_or(known.slots));
            }
            None => merged.push(host),
        }
    }
    match merged.len() {
        0 => Err(HostsError::None {
            given: given.to_owned(),
        }),
        1..=HOSTS_MAX => Ok(merged),
        _ => Err(HostsError::TooMany {
            given: given.to_owned(),
        }),
    }
}

/// Names become words of a command, often one that a remote shell reads once more: what could be an
/// option or mean something to a shell is refused, not quoted, for nobody knows how many shells
/// there are.
fn check_name(name: &str, given: &str) -> Result<(), HostsError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:%@/".contains(&byte);
    let why = match name.as_bytes() {
        [] => "it is empty",
        [b'-', ..] => "it begins with '-', so the remote shell would take it for an option",
        bytes if bytes.len() > NAME_BYTES_MAX => "it is longer than any host name",
        bytes if !bytes.iter().all(|byte| plain(*byte)) => {
            "it contains characters other than letters, digits and . _ - : % @ /"
        }
        _ => return Ok(()),
    };
    Err(HostsError::Name {
        given: given.to_owned(),
        // Control characters must not reach the user's terminal.
        name: name.chars().take(80).flat_map(char::escape_debug).collect(),
        why,
    })
}

fn number(text: &str, what: &'static str, name: &str, given: &str) -> Result<u32, HostsError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|number| digits && (1..=oxmpi_join::RANKS_MAX).contains(number));
    number.ok_or_else(|| HostsError::Count {
        given: given.to_owned(),
        what,
        name: name.to_owned(),
        value: text.chars().take(80).flat_map(char::escape_debug).collect(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(name: &str, slots: u32) -> Host {
        Host {
            name: name.to_owned(),
            slots,
            slots_max: None,
        }
    }

    fn list(text: &str) -> Result<Vec<Host>, String> {
        Host::list(text, "-host").map_err(|error| error.to_string())
    }

    #[test]
    fn lists_with_and_without_counts() {
        assert_eq!(list("a:2,b:3"), Ok(vec![host("a", 2), host("b", 3)]));
        assert_eq!(list("a, b,"), Ok(vec![host("a", 1), host("b", 1)]));
        assert_eq!(
            list("a,b,a:2"),
            Ok(vec![host("a", 3), host("b", 1)]),
            "a host named twice has the slots of both"
        );
        assert_eq!(
            list("[fe80::1%eth0]:4,[::1],fd77::2,me@c.example:2"),
            Ok(vec![
                host("fe80::1%eth0", 4),
                host("::1", 1),
                host("fd77::2", 1),
                host("me@c.example", 2)
            ])
        );
    }

    #[test]
    fn names_that_could_mean_something_else_are_refused() {
        assert_eq!(
            list("-oProxyCommand=x").unwrap_err(),
            "-host: '-oProxyCommand=x' is not used as a host: it begins with '-', so the remote shell would take it for an option"
        );
        for name in [
            "a;b", "a b", "$(x)", "`x`", "a|b", "a&b", "a'b", "a\"b", "a\\b", "a>b", "ä",
            "a\u{1b}b", "{host}", "*",
        ] {
            let error = list(name).unwrap_err();
            assert!(error.contains("contains characters other than"), "{error}");
            assert!(!error.contains('\u{1b}'), "{error:?}");
        }
        assert_eq!(
            list("[]:2").unwrap_err(),
            "-host: '' is not used as a host: it is empty"
        );
    }

    #[test]
    fn counts_are_checked() {
        assert_eq!(
            list("a:0").unwrap_err(),
            "-host: the count '0' of host a is not a number from 1 to 65535"
        );
        for text in [
            "a:",
            "a:x",
            "a:+1",
            "a:65536",
            "a:99999999999999999999",
            "[::1]x",
        ] {
            assert!(list(text).is_err(), "{text}");
        }
        assert_eq!(
            list(" , ").unwrap_err(),
            "-host names no host; write for example a:2,b:2"
        );
    }

    #[test]
    fn this_host_goes_by_several_names() {
        for name in ["localhost", "127.0.0.1", "::1", "vm", "vm.example"] {
            assert!(host(name, 1).is_here("vm.example"), "{name}");
        }
        for name in ["vm.other", "v", "vm1", "me@vm"] {
            assert!(!host(name, 1).is_here("vm.example"), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_list_panics_and_no_name_is_dangerous(text in ".{0,200}") {
            for host in list(&text).unwrap_or_default() {
                prop_assert!(!host.name.starts_with('-'));
                let safe = host.name.bytes().all(|byte| !b" ;&|<>$`'\"\\*?()[]{}!#~\n".contains(&byte));
                prop_assert!(safe, "{}", host.name);
                prop_assert!(host.slots >= 1);
            }
        }
    }
}
