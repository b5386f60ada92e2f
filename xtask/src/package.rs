//! `cargo xtask package`: what is to be published can be packaged, and builds from its packages
//! alone.
//!
//! That is the crate `oxmpi` and all of the workspace that it uses. The packages are left in
//! target/package.

use crate::steps::{cargo, root};

/// Packages them and builds each from its package; says what is wrong.
pub fn run() -> bool {
    let names = match published() {
        Ok(names) => names,
        Err(problem) => {
            eprintln!("{problem}");
            return false;
        }
    };
    println!("packaging {}", names.join(", "));
    let mut package = cargo(&["package", "--locked", "--allow-dirty"]);
    for name in &names {
        package.args(["--package", name]);
    }
    let status = package.current_dir(root()).status();
    status.is_ok_and(|status| status.success())
}

/// The names of the crates, each once.
fn published() -> Result<Vec<String>, String> {
    let mut tree = cargo(&["tree", "--locked", "--package", "oxmpi"]);
    tree.args(["--edges", "normal,build", "--prefix", "none"]);
    tree.args(["--format", "{p}"]);
    let output = tree.current_dir(root()).output();
    let output = output.map_err(|error| format!("cargo tree cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let here = format!("({}/", root().display());
    let ours = text.lines().filter(|line| line.contains(&here));
    let mut names: Vec<String> = ours
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_crate_and_what_it_uses_are_published() {
        let names = published().unwrap();
        for name in ["oxmpi", "oxmpi-core", "oxmpi-wire"] {
            assert!(names.iter().any(|published| published == name), "{name}");
        }
        assert!(!names.iter().any(|name| name == "oxmpi-launch"));
    }
}
