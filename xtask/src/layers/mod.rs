//! `cargo xtask layers`: the dependency graph is the one that ARCHITECTURE.md shows, and no module
//! needs itself.
//!
//! Two checks. Crates: `list` reads the layers from ARCHITECTURE.md, `cargo tree` tells which crate
//! uses which, and a crate may use only its own layer and those below. Modules: `modules` reads the
//! sources of each crate, and `cycles` finds top-level modules that need each other. Dependencies
//! of tests count in neither.

mod cycles;
mod list;
mod modules;

use std::path::Path;

use crate::steps::{cargo, root};
use list::Layers;

/// Both checks; says what is wrong.
pub fn run() -> bool {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md"));
    let text = text.expect("ARCHITECTURE.md lies at the root of the workspace");
    let layers = match Layers::read(&text) {
        Ok(layers) => layers,
        Err(problem) => {
            eprintln!("ARCHITECTURE.md: {problem}");
            return false;
        }
    };
    let (folders, uses) = match dependencies() {
        Ok(found) => found,
        Err(problem) => {
            eprintln!("{problem}");
            return false;
        }
    };
    let mut problems = layers.missing(&folders);
    problems.extend(
        uses.iter()
            .filter_map(|(user, used)| layers.judge(user, used)),
    );
    for folder in &folders {
        problems.extend(module_cycles(folder));
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!(
            "{} crates, {} dependencies between them: all as ARCHITECTURE.md has it",
            folders.len(),
            uses.len()
        );
    }
    problems.is_empty()
}

/// The folders of the workspace's crates, and which uses which.
type Found = (Vec<String>, Vec<(String, String)>);

fn dependencies() -> Result<Found, String> {
    let mut tree = cargo(&["tree", "--workspace", "--locked", "--no-dedupe"]);
    tree.args(["--depth", "1", "--edges", "normal,build"]);
    tree.args(["--prefix", "depth", "--format", "{p}"]);
    let output = tree.current_dir(root()).output();
    let output = output.map_err(|error| format!("cargo tree cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(read_tree(&String::from_utf8_lossy(&output.stdout), &root()))
}

/// Reads lines like `1oxmpi-wire v0.1.0 (/folder/of/the/workspace/wire)`: a crate at depth 0, what
/// it uses at depth 1.
fn read_tree(text: &str, root: &Path) -> Found {
    let (mut folders, mut uses) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some(folder) = folder_of(line, root) else {
            continue;
        };
        match line.as_bytes()[0] {
            b'0' => folders.push(folder),
            _ => {
                let user = folders.last().expect("a tree begins with its root");
                uses.push((user.clone(), folder));
            }
        }
    }
    (folders, uses)
}

/// The folder in the workspace that a line names in brackets; crates from elsewhere have none.
fn folder_of(line: &str, root: &Path) -> Option<String> {
    let mut brackets = line.split('(').skip(1);
    brackets.find_map(|rest| {
        let path = Path::new(rest.split(')').next()?);
        let folder = path.strip_prefix(root).ok()?.to_str()?;
        Some(folder.to_owned())
    })
}

fn module_cycles(folder: &str) -> Vec<String> {
    let graph = match modules::graph(&root().join(folder).join("src")) {
        Ok(graph) => graph,
        Err(error) => return vec![format!("{folder}/src: {error}")],
    };
    let found = cycles::find(&graph);
    let told = found.iter().map(|cycle| {
        let edges = cycle
            .iter()
            .map(|(user, used, file)| format!("    {user} uses {used} in {folder}/src/{file}"));
        format!(
            "modules of {folder} need each other; move what both need to where both can \
             have it:\n{}",
            edges.collect::<Vec<_>>().join("\n")
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read() {
        let text = "0mpi v0.1.0 (/w/mpi)\n1libc v0.2.1\n1derive v0.1.0 (proc-macro) (/w/derive)\n\
                    0table v0.1.0 (/w/abi/table) (*)\n1elsewhere v1.0.0 (/elsewhere)\n";
        let (folders, uses) = read_tree(text, Path::new("/w"));
        assert_eq!(folders, ["mpi", "abi/table"]);
        assert_eq!(uses, [("mpi".to_owned(), "derive".to_owned())]);
    }

    #[test]
    fn this_workspace_keeps_its_layers() {
        assert!(run());
    }
}
