//! The settings as they are in a process: `oxmpi info --settings`.

use crate::setting::{SetBy, Setting};
use crate::{ALL, FROM_OPTIONS};

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is not set.
    Default,
    /// From the environment.
    Environment,
    /// From the environment, where an option of the launcher put it.
    Option,
}

impl Source {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Environment => "environment",
            Source::Option => "launcher option",
        }
    }
}

/// A setting as it is in this process.
#[derive(Clone, Debug)]
pub struct Row {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value, or what holds without one.
    pub value: String,
    /// Where the value comes from.
    pub source: Source,
    /// What is wrong with the value.
    pub error: Option<String>,
}

/// The settings that a user may set, as these variables have them, in the order of the table.
pub fn report(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<Row> {
    let options = FROM_OPTIONS.read_from(&variable).text().unwrap_or_default();
    let options: Vec<&str> = options.split(',').collect();
    let of_users = ALL
        .iter()
        .filter(|setting| setting.set_by == SetBy::User && !setting.is_of_tests());
    of_users
        .map(|setting| {
            let given = setting.read_from(&variable);
            let source = match given.is_set() {
                false => Source::Default,
                true if options.contains(&given.name()) => Source::Option,
                true => Source::Environment,
            };
            let value = given.text();
            Row {
                setting,
                value: value.unwrap_or_else(|| setting.default_text().to_owned()),
                source,
                error: given.check().err().map(|error| error.to_string()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_where_its_value_comes_from() {
        let rows = report(|name| match name {
            "OXMPI_NET" => Some("tcp".into()),
            "OXMPI_WAIT" => Some("snooze".into()),
            "OXMPI_FROM_OPTIONS" => Some("OXMPI_NET".into()),
            _ => None,
        });
        let row = |name| rows.iter().find(|row| row.setting.name == name).unwrap();
        assert_eq!(row("OXMPI_NET").source, Source::Option);
        assert_eq!(row("OXMPI_WAIT").source, Source::Environment);
        assert!(row("OXMPI_WAIT").error.is_some());
        assert_eq!(row("OXMPI_DRIVER").source, Source::Default);
        assert_eq!(row("OXMPI_DRIVER").value, "on");
        assert_eq!(row("OXMPI_PORT_RANGE").value, "any free port");
        assert!(rows.iter().all(|row| row.setting.name != "OXMPI_RANK"));
    }
}
