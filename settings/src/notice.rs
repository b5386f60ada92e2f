//! What the launcher says about the variables of a job before it starts: names that no part of
//! OxMPI reads, former names, values that are not used.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::distance::distance;
use crate::setting::{Program, SetBy, Setting};
use crate::{ALL, PREFIX, SettingError, TEST_PREFIX, find};

/// Something about a variable that the user should know. It is no error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// No setting has this name.
    #[error(
        "{name} is no setting of OxMPI and is ignored; the nearest is {nearest} \
         (oxmpi info --settings lists all)"
    )]
    Unknown {
        /// The variable.
        name: String,
        /// The setting with the nearest name.
        nearest: &'static str,
    },
    /// The setting has a new name.
    #[error("{former} is now called {name}; the old name still works")]
    Former {
        /// The name that was used.
        former: &'static str,
        /// The present name.
        name: &'static str,
    },
    /// The present name and a former one say different things.
    #[error("{former} is now called {name}, which is set too: {name}={value} counts")]
    Both {
        /// The former name.
        former: &'static str,
        /// The present name.
        name: &'static str,
        /// What counts.
        value: String,
    },
    /// Another setting makes this one useless.
    #[error("{name}={value} is not used: it counts only {when}")]
    Unused {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// When it would count.
        when: String,
    },
}

/// The variables by name; the last of equal names counts, as for a process.
type Variables = BTreeMap<String, String>;

/// What is worth saying about these variables, in the order of their names.
pub fn notices(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<Notice> {
    let variables = ours(variables);
    let mut notices = Vec::new();
    for (name, value) in &variables {
        match find(name) {
            Some(setting) => notices.extend(about(setting, name, value, &variables)),
            None if name.starts_with(TEST_PREFIX) => {}
            None => notices.push(Notice::Unknown {
                name: name.clone(),
                nearest: nearest(name),
            }),
        }
    }
    notices
}

/// Checks the values that the user gave to the launcher and its ranks against the settings' types.
pub fn check(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), SettingError> {
    let variables = ours(variables);
    let concerned = |setting: &&&'static Setting| {
        let by_job = |program: &Program| matches!(program, Program::Launcher | Program::Rank);
        setting.set_by == SetBy::User && setting.programs.iter().any(by_job)
    };
    let mut settings = ALL.iter().filter(concerned);
    settings.try_for_each(|setting| {
        setting
            .read_from(|name| variables.get(name).cloned())
            .check()
    })
}

fn ours(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Variables {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let ours = |(name, _): &(OsString, OsString)| {
        let name = name.as_encoded_bytes();
        name.starts_with(PREFIX.as_bytes())
    };
    let variables = variables.into_iter().filter(ours);
    variables
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// What is worth saying about a setting that was given by this name.
fn about(
    setting: &'static Setting,
    name: &str,
    value: &str,
    variables: &Variables,
) -> Option<Notice> {
    if value.is_empty() {
        return None;
    }
    if let Some(former) = setting.former.iter().find(|former| **former == name) {
        let present = variables.get(setting.name);
        let present = present.filter(|present| !present.is_empty());
        return match present {
            // Both say the same: the launcher itself adds the present name to a former one.
            Some(present) if present != value => Some(Notice::Both {
                former,
                name: setting.name,
                value: present.clone(),
            }),
            _ => Some(Notice::Former {
                former,
                name: setting.name,
            }),
        };
    }
    unused(setting, value, variables)
}

fn unused(setting: &'static Setting, value: &str, variables: &Variables) -> Option<Notice> {
    let condition = setting.used_with?;
    let other = find(condition.name)?;
    let other = other.read_from(|name| variables.get(name).cloned());
    let text = other.text().unwrap_or_default();
    let met = match condition.values {
        [] => !other.is_set(),
        values => values.contains(&text.as_str()),
    };
    let when = match condition.values {
        [] => format!("where {} is not set", condition.name),
        values => format!("with {}={}", condition.name, values.join(" or ")),
    };
    (!met).then(|| Notice::Unused {
        name: setting.name,
        value: value.to_owned(),
        when,
    })
}

/// The setting whose name is nearest, of those that a user sets.
fn nearest(name: &str) -> &'static str {
    let bare = |name: &'static str| name.strip_prefix(PREFIX).unwrap_or(name);
    let typed = name
        .strip_prefix(PREFIX)
        .unwrap_or(name)
        .to_ascii_uppercase();
    let of_users = |setting: &&&Setting| {
        setting.set_by == SetBy::User && !setting.programs.contains(&Program::Tests)
    };
    let candidates = ALL.iter().filter(of_users);
    let nearest = candidates.min_by_key(|setting| distance(&typed, bare(setting.name)));
    // The table is never empty.
    nearest.map_or("", |setting| setting.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
        variables.iter().map(pair).collect()
    }

    fn said(variables: &[(&str, &str)]) -> Vec<String> {
        let notices = notices(pairs(variables));
        notices.iter().map(Notice::to_string).collect()
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        for (name, near) in [
            ("OXMPI_WIAT", "OXMPI_WAIT"),
            ("OXMPI_EAGER", "OXMPI_EAGER_BYTES"),
            ("OXMPI_EAGER_SIZE", "OXMPI_EAGER_BYTES"),
            ("OXMPI_HOSTS", "OXMPI_HOST"),
            ("OXMPI_NET_INCLUDES", "OXMPI_NET_INCLUDE"),
            ("OXMPI_PROGRES", "OXMPI_PROGRESS"),
            ("OXMPI_net", "OXMPI_NET"),
        ] {
            assert_eq!(nearest(name), near, "{name}");
        }
        assert_eq!(
            said(&[
                ("OXMPI_WIAT", "spin"),
                ("PATH", "/bin"),
                ("OXMPI_NET", "tcp")
            ]),
            [
                "OXMPI_WIAT is no setting of OxMPI and is ignored; the nearest is OXMPI_WAIT \
              (oxmpi info --settings lists all)"
            ]
        );
    }

    #[test]
    fn variables_of_tests_and_of_the_launcher_are_known() {
        let known = [
            ("OXMPI_TEST_ANYTHING", "1"),
            ("OXMPI_SIM_TIMES", "20"),
            ("OXMPI_RANK", "3"),
        ];
        assert_eq!(said(&known), [""; 0]);
    }

    #[test]
    fn a_former_name_is_told_with_the_present_one() {
        assert_eq!(
            said(&[("OXMPI_PORTS", "off")]),
            ["OXMPI_PORTS is now called OXMPI_SHARED_MEMORY; the old name still works"]
        );
        assert_eq!(
            said(&[("OXMPI_PORTS", "off"), ("OXMPI_SHARED_MEMORY", "on")]),
            [
                "OXMPI_PORTS is now called OXMPI_SHARED_MEMORY, which is set too: \
              OXMPI_SHARED_MEMORY=on counts"
            ]
        );
    }

    #[test]
    fn values_that_are_not_used_are_told() {
        assert_eq!(
            said(&[("OXMPI_DUMP_BYTES", "1M")]),
            ["OXMPI_DUMP_BYTES=1M is not used: it counts only with OXMPI_PROGRESS=kernel or bpf"]
        );
        let used = [("OXMPI_DUMP_BYTES", "1M"), ("OXMPI_PROGRESS", "kernel")];
        assert_eq!(said(&used), [""; 0]);
        assert_eq!(
            said(&[("OXMPI_HOSTFILE", "hosts"), ("OXMPI_HOST", "a,b")]),
            ["OXMPI_HOSTFILE=hosts is not used: it counts only where OXMPI_HOST is not set"]
        );
    }

    #[test]
    fn values_are_checked_before_a_job_starts() {
        let error = |variables| check(pairs(variables)).unwrap_err().to_string();
        assert_eq!(
            error(&[("OXMPI_PPN", "a")]),
            "OXMPI_PPN=\"a\" (-ppn) makes no sense: expected a number from 1 to 65535"
        );
        // The last of equal names counts.
        assert_eq!(
            check(pairs(&[("OXMPI_NET", "x"), ("OXMPI_NET", "tcp")])),
            Ok(())
        );
        // What the launcher itself hands down is not the user's.
        assert_eq!(check(pairs(&[("OXMPI_RANK", "x")])), Ok(()));
    }
}
