//! Cycles in a graph of modules.

use std::collections::{BTreeMap, BTreeSet};

/// What each module uses, and a file that does so.
pub type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// A use: the module, what it uses, the file.
pub type Edge = (String, String, String);

/// Groups of modules each of which reaches all others of its group, as the uses within the group.
pub fn find(graph: &Graph) -> Vec<Vec<Edge>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reach(graph, module)))
        .collect();
    let mutual = |a: &str, b: &str| {
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|set| set.contains(to));
        reaches(a, b) && reaches(b, a)
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for module in graph.keys() {
        let group: BTreeSet<&str> = graph
            .keys()
            .map(String::as_str)
            .filter(|other| mutual(module, other))
            .collect();
        if !group.is_empty() && seen.insert(group.clone()) {
            found.push(edges_within(graph, &group));
        }
    }
    found
}

fn edges_within(graph: &Graph, group: &BTreeSet<&str>) -> Vec<Edge> {
    let inside = |name: &str| group.contains(name);
    let uses = graph.iter().filter(|(user, _)| inside(user));
    uses.flat_map(|(user, used)| {
        used.iter()
            .filter(|(used, _)| inside(used))
            .map(|(used, file)| (user.clone(), used.clone(), file.clone()))
    })
    .collect()
}

/// All that can be reached from a module; itself only if it is in a cycle.
fn reach<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = used_by(graph, from).collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(used_by(graph, module));
        }
    }
    reached
}

fn used_by<'a>(graph: &'a Graph, module: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    graph
        .get(module)
        .into_iter()
        .flat_map(|used| used.keys().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (user, used) in edges {
            let uses = graph.entry((*user).to_owned()).or_default();
            uses.insert((*used).to_owned(), format!("{user}.rs"));
        }
        graph
    }

    #[test]
    fn chains_are_no_cycles() {
        assert!(find(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    }

    #[test]
    fn each_cycle_is_found_once_with_its_edges() {
        let found = find(&graph(&[
            ("a", "b"),
            ("b", "c"),
            ("c", "a"),
            ("c", "d"),
            ("d", "e"),
            ("e", "d"),
        ]));
        let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 2]);
        assert_eq!(found[1][0], ("d".into(), "e".into(), "d.rs".into()));
    }
}
