//! How a layer reads its settings: the one place where OxMPI's variables come from the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::kind::{self, Kind};
use crate::setting::{Setting, WhenUnset};

/// A value that is not of its setting's type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingError {
    /// The setting.
    pub setting: &'static Setting,
    /// The name by which the value was given: the present one or a former one.
    pub name: &'static str,
    /// The value.
    pub value: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={:?}", self.name, self.value)?;
        if let Some(option) = self.setting.option {
            write!(formatter, " ({option})")?;
        }
        let accepted = self.setting.kind.accepted();
        write!(formatter, " makes no sense: expected {accepted}")?;
        match self.name == self.setting.name {
            true => Ok(()),
            false => write!(formatter, " (its new name is {})", self.setting.name),
        }
    }
}

/// Two settings are the same if they have the same name.
impl PartialEq for Setting {
    fn eq(&self, other: &Setting) -> bool {
        self.name == other.name
    }
}

impl Eq for Setting {}

/// Set once, before settings are read; no other memory depends on it.
static FILES_DISTRUSTED: AtomicBool = AtomicBool::new(false);

/// From now on, settings that name files or commands count as not set in this process.
///
/// A process with more rights than its caller (AT_SECURE) never reads them: whoever starts it
/// chooses its environment, and must not choose what it loads, writes or executes. A layer that
/// would otherwise do something else than it was told asks `oxmpi_trust::variable`, which is an
/// error.
pub fn distrust_files() {
    FILES_DISTRUSTED.store(true, Ordering::Relaxed);
}

/// What the environment says about a setting, not yet checked.
#[derive(Clone, Debug)]
pub struct Given {
    setting: &'static Setting,
    name: &'static str,
    value: Option<OsString>,
}

impl Setting {
    /// Reads this process's environment.
    pub fn read(&'static self) -> Given {
        self.read_from(|name| std::env::var_os(name))
    }

    /// Reads other variables. An empty value counts as not set; the present name counts more than a
    /// former one.
    pub fn read_from<V: Into<OsString>>(
        &'static self,
        variable: impl Fn(&str) -> Option<V>,
    ) -> Given {
        let unset = Given {
            setting: self,
            name: self.name,
            value: None,
        };
        let distrusted =
            || FILES_DISTRUSTED.load(Ordering::Relaxed) || oxmpi_trust::is_privileged();
        if self.kind.names_files() && distrusted() {
            return unset;
        }
        let names = std::iter::once(&self.name).chain(self.former);
        let mut given = names.filter_map(|name| {
            let value: OsString = variable(name)?.into();
            (!value.is_empty()).then_some(Given {
                setting: self,
                name,
                value: Some(value),
            })
        });
        given.next().unwrap_or(unset)
    }

    /// The error for a value that the layer which reads this setting cannot use.
    pub fn wrong(&'static self, value: &str) -> SettingError {
        SettingError {
            setting: self,
            name: self.name,
            value: value.to_owned(),
        }
    }
}

impl Given {
    /// True if the environment says anything.
    pub fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// The name by which the environment says it; the present one if it says nothing.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The value as it stands in the environment; None if it is not set.
    pub fn raw(&self) -> Option<&OsStr> {
        self.value.as_deref()
    }

    /// The value as text, or the default of the table; None if there is neither. Bytes that are not
    /// UTF-8 become replacement characters, which no parser takes for anything.
    pub fn text(&self) -> Option<String> {
        match (&self.value, self.setting.unset) {
            (Some(value), _) => Some(value.to_string_lossy().trim().to_owned()),
            (None, WhenUnset::Value(value)) => Some(value.to_owned()),
            (None, WhenUnset::Words(_)) => None,
        }
    }

    /// The value of a switch; None if it is not set and has no default.
    pub fn switch(&self) -> Result<Option<bool>, SettingError> {
        assert_eq!(self.setting.kind, Kind::Switch, "{}", self.setting.name);
        self.parsed(kind::switch)
    }

    /// The value of a number.
    pub fn number(&self) -> Result<Option<u64>, SettingError> {
        let Kind::Number { min, max } = self.setting.kind else {
            unreachable!("{} is read as a number", self.setting.name);
        };
        self.parsed(|value| kind::number(value, min, max))
    }

    /// The value of a size, in bytes.
    pub fn bytes(&self) -> Result<Option<u64>, SettingError> {
        let Kind::Size {
            min,
            max,
            power_of_two,
        } = self.setting.kind
        else {
            unreachable!("{} is read as a size", self.setting.name);
        };
        self.parsed(|value| kind::size(value, min, max, power_of_two))
    }

    /// The value of a time.
    pub fn duration(&self) -> Result<Option<Duration>, SettingError> {
        assert_eq!(self.setting.kind, Kind::Duration, "{}", self.setting.name);
        self.parsed(kind::duration)
    }

    /// The word that was chosen. Every choice has a default, which a test of the table makes sure.
    pub fn choice(&self) -> Result<&'static str, SettingError> {
        let Kind::Choice(words) = self.setting.kind else {
            unreachable!("{} is read as a choice", self.setting.name);
        };
        let known = |value: &str| words.iter().find(|word| **word == value).copied();
        Ok(self.parsed(known)?.unwrap_or_default())
    }

    /// Checks the value against the setting's type.
    pub fn check(&self) -> Result<(), SettingError> {
        let accepts = |value: &str| self.setting.kind.accepts(value).then_some(());
        match self.is_set() {
            true => self.parsed(accepts).map(|_| ()),
            false => Ok(()),
        }
    }

    fn parsed<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, SettingError> {
        let Some(text) = self.text() else {
            return Ok(None);
        };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(SettingError {
                setting: self.setting,
                name: self.name,
                value: text,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DRIVER, NET, NET_CHECK, SHARED_MEMORY, WAIT};

    fn of<'a>(variables: &'a [(&str, &'a str)]) -> impl Fn(&str) -> Option<&'a str> {
        |name| {
            let found = variables.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1)
        }
    }

    #[test]
    fn the_default_holds_where_nothing_is_said() {
        for variables in [&[][..], &[("OXMPI_WAIT", ""), ("OXMPI_DRIVER", "")]] {
            assert_eq!(WAIT.read_from(of(variables)).choice(), Ok("auto"));
            assert_eq!(DRIVER.read_from(of(variables)).switch(), Ok(Some(true)));
            assert_eq!(NET_CHECK.read_from(of(variables)).switch(), Ok(None));
        }
    }

    #[test]
    fn an_error_names_variable_value_and_what_is_accepted() {
        let said = |setting: &'static Setting, name, value| {
            let given = setting.read_from(of(&[(name, value)]));
            given.check().unwrap_err().to_string()
        };
        assert_eq!(
            said(&WAIT, "OXMPI_WAIT", "snooze"),
            "OXMPI_WAIT=\"snooze\" makes no sense: expected auto, spin, yield or sleep"
        );
        assert_eq!(
            said(&NET, "OXMPI_NET", "infiniband"),
            "OXMPI_NET=\"infiniband\" (--net) makes no sense: expected auto, ethernet, xdp, pm-kernel, udp or tcp"
        );
        assert_eq!(
            said(&SHARED_MEMORY, "OXMPI_PORTS", "no"),
            "OXMPI_PORTS=\"no\" makes no sense: expected on or off (its new name is OXMPI_SHARED_MEMORY)"
        );
    }

    #[test]
    fn a_former_name_works_and_the_present_one_counts_more() {
        let read = |variables| SHARED_MEMORY.read_from(of(variables)).switch();
        assert_eq!(read(&[("OXMPI_PORTS", "off")]), Ok(Some(false)));
        let both = &[("OXMPI_PORTS", "off"), ("OXMPI_SHARED_MEMORY", "on")];
        assert_eq!(read(both), Ok(Some(true)));
        let present_empty = &[("OXMPI_PORTS", "off"), ("OXMPI_SHARED_MEMORY", "")];
        assert_eq!(read(present_empty), Ok(Some(false)));
    }

    #[test]
    fn spaces_around_a_value_do_not_count() {
        let given = WAIT.read_from(of(&[("OXMPI_WAIT", " spin ")]));
        assert_eq!(given.choice(), Ok("spin"));
    }
}
