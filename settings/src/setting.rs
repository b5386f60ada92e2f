//! What the table knows about a setting.

use crate::Kind;

/// A setting: an environment variable that OxMPI reads.
#[derive(Debug)]
pub struct Setting {
    /// The variable's name.
    pub name: &'static str,
    /// Names that it had before. They still work, and the launcher says the present one.
    pub former: &'static [&'static str],
    /// What its value may be.
    pub kind: Kind,
    /// What holds when it is not set.
    pub unset: WhenUnset,
    /// The launcher's option that says the same and counts more.
    pub option: Option<&'static str>,
    /// What it does, in a sentence or two.
    pub text: &'static str,
    /// Another setting that decides whether this one is used at all.
    pub used_with: Option<UsedWith>,
    /// The layer that reads it.
    pub layer: &'static str,
    /// The programs that read it.
    pub programs: &'static [Program],
    /// Where it comes from.
    pub set_by: SetBy,
    /// Under which heading documents show it.
    pub topic: Topic,
}

/// What holds when a setting is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUnset {
    /// The same as if it had this value.
    Value(&'static str),
    /// Something that no value says, or that depends on other things.
    Words(&'static str),
}

/// A setting is used only while another has one of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedWith {
    /// The other setting.
    pub name: &'static str,
    /// The values; none: the other one must not be set.
    pub values: &'static [&'static str],
}

/// A program that reads a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// mpiexec, mpirun, oxmpi run, and the agents on other hosts.
    Launcher,
    /// A program that calls MPI.
    Rank,
    /// mpicc, mpicxx, oxmpi bench.
    Tools,
    /// The project's own tests.
    Tests,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// From the user.
    User,
    /// From the launcher, for its ranks.
    Launcher,
}

/// What settings are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// How ranks wait and move messages.
    Messages,
    /// The network between hosts.
    Network,
    /// Joining a job of another launcher.
    Joining,
    /// Where ranks run.
    Hosts,
    /// Compiler wrappers.
    Compilers,
    /// What the launcher hands down.
    Internal,
    /// The project's own tests.
    Tests,
}

impl Topic {
    /// All of them, in the order of documents.
    pub const ALL: [Topic; 7] = [
        Topic::Messages,
        Topic::Network,
        Topic::Joining,
        Topic::Hosts,
        Topic::Compilers,
        Topic::Internal,
        Topic::Tests,
    ];

    /// The heading in documents.
    pub fn heading(self) -> &'static str {
        match self {
            Topic::Messages => "Waiting and moving messages",
            Topic::Network => "The network between hosts",
            Topic::Joining => "Joining a job of another launcher",
            Topic::Hosts => "Where ranks run",
            Topic::Compilers => "Compiler wrappers",
            Topic::Internal => "What the launcher hands down to its ranks",
            Topic::Tests => "OxMPI's own tests",
        }
    }
}

impl Program {
    /// The program, for people.
    pub fn name(self) -> &'static str {
        match self {
            Program::Launcher => "launcher",
            Program::Rank => "ranks",
            Program::Tools => "tools",
            Program::Tests => "tests",
        }
    }
}

impl Setting {
    /// True if no program but the project's own tests reads it.
    pub fn is_of_tests(&self) -> bool {
        self.programs == [Program::Tests]
    }

    /// What holds when it is not set, for people.
    pub fn default_text(&self) -> &'static str {
        match self.unset {
            WhenUnset::Value(text) | WhenUnset::Words(text) => text,
        }
    }
}
