//! The list of layers in ARCHITECTURE.md.
//!
//! It is the first indented text of the page: a line per folder, the name first, the uppermost
//! layer at the top. What follows after an empty line stands beside the layers: it may use any of
//! them, and none of them may use it. A crate belongs to the nearest folder around it that is
//! listed: `kernel/oxk/core` may be a layer although `kernel` stands beside.

/// The layers, by the names of their folders.
#[derive(Debug, PartialEq, Eq)]
pub struct Layers {
    /// From the top.
    stacked: Vec<String>,
    /// In no order.
    beside: Vec<String>,
}

impl Layers {
    /// Reads the list from the page's text.
    pub fn read(page: &str) -> Result<Layers, &'static str> {
        let is_listed = |line: &&str| line.starts_with("    ");
        let list = page.lines().skip_while(|line| !is_listed(line));
        let list: Vec<&str> = list
            .take_while(|line| line.is_empty() || is_listed(line))
            .collect();
        let mut parts = list.split(|line| line.is_empty());
        let mut names = || {
            let part = parts.next().unwrap_or_default().iter();
            part.filter_map(|line| line.split_whitespace().next().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let (stacked, beside) = (names(), names());
        if stacked.is_empty() || beside.is_empty() {
            return Err("the list of layers, or of what stands beside them, is not there");
        }
        Ok(Layers { stacked, beside })
    }

    /// What is wrong with a crate's use of another, both given by their folders.
    pub fn judge(&self, user: &str, used: &str) -> Option<String> {
        let (above, below) = (self.layer(user), self.layer(used));
        let height = |name: &str| self.stacked.iter().position(|layer| layer == name);
        let is_legal = above == below
            || match (height(above), height(below)) {
                (Some(above), Some(below)) => above < below,
                (None, below) => below.is_some(),
                (Some(_), None) => false,
            };
        (!is_legal).then(|| {
            format!(
                "{user} uses {used}: in ARCHITECTURE.md {below} is not below {above}; move what \
                 {user} needs down, or correct the list if it is the list that is wrong"
            )
        })
    }

    /// Folders that are not in the list.
    pub fn missing(&self, folders: &[String]) -> Vec<String> {
        let unlisted = folders
            .iter()
            .filter(|folder| !self.lists(self.layer(folder)));
        let told = unlisted.map(|folder| {
            format!(
                "{folder} is not in ARCHITECTURE.md's list of layers; give it a line at its height"
            )
        });
        told.collect()
    }

    fn lists(&self, name: &str) -> bool {
        self.stacked
            .iter()
            .chain(&self.beside)
            .any(|listed| listed == name)
    }

    /// The layer of a crate: the nearest folder around it that is listed, or the one at the root of
    /// the workspace.
    fn layer<'a>(&self, folder: &'a str) -> &'a str {
        let mut around = folder;
        loop {
            match around.rsplit_once('/') {
                Some((outer, _)) if !self.lists(around) => around = outer,
                _ => return around,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\nWords.\n\n    cli   commands\n    mpi   more\n    wire  headers\n\
                        \n    sim   beside\n    derive  too\n\n## Next\n\n    code\n";

    #[test]
    fn a_page_is_read() {
        let layers = Layers::read(PAGE).unwrap();
        assert_eq!(layers.stacked, ["cli", "mpi", "wire"]);
        assert_eq!(layers.beside, ["sim", "derive"]);
        assert!(Layers::read("no list").is_err());
    }

    #[test]
    fn only_what_is_below_may_be_used() {
        let layers = Layers::read(PAGE).unwrap();
        let wrong = |user, used| layers.judge(user, used).is_some();
        assert!(!wrong("cli", "wire") && !wrong("mpi/table", "mpi") && !wrong("sim", "mpi"));
        assert!(wrong("wire", "mpi") && wrong("mpi", "sim") && wrong("sim", "derive"));
        let folders = ["mpi/table", "new"].map(str::to_owned);
        assert_eq!(layers.missing(&folders).len(), 1);
    }

    #[test]
    fn a_folder_below_what_stands_beside_may_be_a_layer() {
        let page = PAGE.replace("    wire ", "    sim/core  pure\n    wire ");
        let layers = Layers::read(&page).unwrap();
        let wrong = |user, used| layers.judge(user, used).is_some();
        assert!(!wrong("mpi", "sim/core") && !wrong("sim/core", "wire"));
        assert!(!wrong("sim/other", "sim/core") && !wrong("sim", "sim/core"));
        assert!(wrong("mpi", "sim/other") && wrong("wire", "sim/core"));
    }
}
