//! Every setting that OxMPI reads from the environment, in one table.
//!
//! [`ALL`] lists the settings: name, type, default, meaning, the layer that reads it. A layer reads
//! its settings through the table (`WAIT.read().choice()`), never by a name of its own; a test
//! searches the sources for names that are not read here. The same table yields
//! docs/environment.md, a section of the manual pages, `oxmpi info --settings`, and what the
//! launcher says about a variable that it does not know.
//!
//! The layer is the lowest beside `wire` and `trust`, which it asks whether files may be named: it
//! uses no other and knows none. It keeps no values: a
//! setting is read when its layer starts, once, and never on the data path.

#![forbid(unsafe_code)]

mod distance;
mod document;
mod kind;
mod notice;
mod read;
mod report;
mod setting;
mod table;

pub use document::{json, manual, markdown};
pub use kind::Kind;
pub use notice::{Notice, check, notices};
pub use read::{Given, SettingError, distrust_files};
pub use report::{Row, Source, report};
pub use setting::{Program, SetBy, Setting, Topic, WhenUnset};
pub use table::*;

/// How the name of every setting begins.
pub const PREFIX: &str = "OXMPI_";

/// How names begin that the project's own tests use. They are not settings of the product.
pub const TEST_PREFIX: &str = "OXMPI_TEST_";

/// The setting of this name, present or former.
pub fn find(name: &str) -> Option<&'static Setting> {
    let is_called = |setting: &&&Setting| setting.name == name || setting.former.contains(&name);
    ALL.iter().find(is_called).copied()
}

/// True for a variable by which the launcher tells a rank about its job. A launcher inside a rank
/// must not hand it down to the ranks of another job.
pub fn is_handed_down(name: &str) -> bool {
    find(name).is_some_and(|setting| setting.set_by == SetBy::Launcher)
}
