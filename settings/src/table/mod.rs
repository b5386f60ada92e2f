//! The table itself. A new setting gets an entry here, stands in [`ALL`], and is read by its layer
//! through that entry; documents follow by `OXMPI_TEST_WRITE=1 cargo test -p oxmpi-settings`.

mod hosts;
mod internal;
mod messages;
mod network;
mod tools;

pub use hosts::*;
pub use internal::*;
pub use messages::*;
pub use network::*;
pub use tools::*;

use crate::Kind;
use crate::setting::{Program, SetBy, Setting, Topic, WhenUnset};

/// Every setting, in the order of documents.
pub static ALL: &[&Setting] = &[
    &WAIT,
    &SPIN_US,
    &DRIVER,
    &PROGRESS,
    &DUMP_BYTES,
    &SHARED_MEMORY,
    &SINGLE_COPY,
    &EAGER_BYTES,
    &BOARDS,
    &NET,
    &NET_INCLUDE,
    &NET_EXCLUDE,
    &PORT_RANGE,
    &NET_RAILS,
    &NET_TRUNK,
    &NET_CHECK,
    &ENCRYPT,
    &NET_FAULT,
    &NET_PCAP,
    &NET_TRACE,
    &PMI,
    &LIBPMIX,
    &HOST,
    &HOSTFILE,
    &ALLOCATION,
    &PPN,
    &MAP_BY,
    &LAUNCHER,
    &AGENT,
    &AGENT_FANOUT,
    &BACKTRACE,
    &INITIAL_ERRHANDLER,
    &CC,
    &CXX,
    &FC,
    &RANK,
    &SIZE,
    &LOCAL_RANK,
    &LOCAL_SIZE,
    &APPNUM,
    &SEGMENT,
    &CRASH_SOCKET,
    &JOINED,
    &FROM_OPTIONS,
    &TEST_LONG,
    &TEST_SEED,
    &TEST_PREFIX_FOLDER,
    &TEST_MPICH,
    &TEST_HOSTS,
    &TEST_WRITE,
    &SIM_TIMES,
    &SEED,
    &PREFIX_FOLDER,
    &ABI_TEST_CASE,
];

/// What most settings have in common: a rank reads them, and the user sets them.
const FOR_RANKS: Setting = Setting {
    name: "",
    former: &[],
    kind: Kind::Switch,
    unset: WhenUnset::Value("on"),
    option: None,
    text: "",
    used_with: None,
    layer: "",
    programs: &[Program::Rank],
    set_by: SetBy::User,
    topic: Topic::Messages,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PREFIX, find};

    #[test]
    fn every_entry_is_complete() {
        for (index, setting) in ALL.iter().enumerate() {
            let name = setting.name;
            assert!(name.starts_with(PREFIX), "{name}");
            assert!(setting.text.ends_with('.'), "{name}: a sentence");
            assert!(!setting.layer.is_empty(), "{name}: which layer?");
            assert!(!setting.default_text().is_empty(), "{name}: a default");
            assert!(std::ptr::eq(find(name).unwrap(), *setting), "{name} twice");
            for former in setting.former {
                assert_eq!(find(former).unwrap().name, name, "{former}");
            }
            let topics: Vec<Topic> = ALL[..index].iter().map(|known| known.topic).collect();
            let last = topics.last().copied().unwrap_or(setting.topic);
            let again = last != setting.topic && topics.contains(&setting.topic);
            assert!(!again, "{name} stands apart from its topic");
        }
    }

    #[test]
    fn defaults_are_values_of_their_type() {
        for setting in ALL {
            if let WhenUnset::Value(value) = setting.unset {
                assert!(setting.kind.accepts(value), "{}", setting.name);
            } else {
                let is_choice = matches!(setting.kind, Kind::Choice(_));
                assert!(!is_choice, "{}: a choice has a default", setting.name);
            }
        }
    }

    #[test]
    fn conditions_name_settings_and_their_values() {
        for setting in ALL {
            let Some(condition) = setting.used_with else {
                continue;
            };
            let other = find(condition.name).unwrap();
            for value in condition.values {
                assert!(other.kind.accepts(value), "{}: {value}", setting.name);
            }
        }
    }
}
