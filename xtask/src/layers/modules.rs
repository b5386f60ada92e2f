//! Which top-level modules of a crate use which, read from the paths in its sources.
//!
//! A path counts if it begins with `crate::` or climbs to the root by `super::`, and names a
//! top-level module or something that the root re-exports from one. Comments, texts and tests do
//! not count. A scan of the text is enough for that: what a macro makes up is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::cycles::Graph;

/// The graph of the crate whose sources lie in `src`.
pub fn graph(src: &Path) -> io::Result<Graph> {
    let mut files = Vec::new();
    collect(src, &mut files)?;
    let mut sources = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(src).expect("it lies there");
        let name = name.to_string_lossy().into_owned();
        sources.insert(name, bare(&std::fs::read_to_string(&file)?));
    }
    Ok(graph_of(&sources))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The graph of sources without comments, by their paths below `src`.
fn graph_of(sources: &BTreeMap<String, String>) -> Graph {
    let tops: BTreeSet<&str> = sources
        .keys()
        .map(|file| top(file))
        .filter(|top| !is_root(top))
        .collect();
    let root = sources.get("lib.rs").map_or("", String::as_str);
    let again = re_exports(root, &tops);
    let mut graph = Graph::new();
    for (file, text) in sources {
        let user = top(file);
        if is_root(user) || file.split(['/', '.']).any(|part| part == "tests") {
            continue;
        }
        for name in names_at_root(text, depth(file)) {
            let used = match tops.get(name.as_str()) {
                Some(top) => top,
                None => again.get(&name).map_or("", String::as_str),
            };
            if !used.is_empty() && used != user {
                let uses = graph.entry(user.to_owned()).or_default();
                uses.entry(used.to_owned()).or_insert_with(|| file.clone());
            }
        }
    }
    graph
}

fn top(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

fn is_root(top: &str) -> bool {
    top == "lib" || top == "main" || top == "bin"
}

/// How many modules lie between the root and the file's own, itself included.
fn depth(file: &str) -> usize {
    let folders = file.matches('/').count();
    folders + usize::from(!file.ends_with("/mod.rs"))
}

/// The names that the root has from its modules by `use`.
fn re_exports(root: &str, tops: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut again = BTreeMap::new();
    for (at, _) in root.match_indices("use ") {
        let rest = &root[at + 4..];
        let path = rest.split(';').next().unwrap_or("");
        let path = path.strip_prefix("crate::").unwrap_or(path);
        let Some((module, names)) = path.split_once("::") else {
            continue;
        };
        if tops.contains(module.trim()) {
            let words = names.split(|letter: char| !is_word(letter));
            for word in words.filter(|word| !word.is_empty()) {
                again
                    .entry(word.to_owned())
                    .or_insert_with(|| module.trim().to_owned());
            }
        }
    }
    again
}

/// The first names of all paths that begin at the root.
fn names_at_root(text: &str, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    let climb = "super::".repeat(depth);
    for start in ["crate::", climb.as_str()] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|letter| is_word(letter) || letter == ':' || letter == '$') {
                continue;
            }
            first_names(&text[at + start.len()..], &mut names);
        }
    }
    names
}

/// The first name of a path, or of each path in braces.
fn first_names(path: &str, names: &mut Vec<String>) {
    let word = |text: &str| -> String { text.chars().take_while(|c| is_word(*c)).collect() };
    let Some(list) = path.strip_prefix('{') else {
        names.push(word(path));
        return;
    };
    let (mut braces, mut begins) = (1, true);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => braces += 1,
            '}' => braces -= 1,
            ',' if braces == 1 => begins = true,
            letter if begins && is_word(letter) => {
                names.push(word(&list[at..]));
                begins = false;
            }
            _ => {}
        }
        if braces == 0 {
            return;
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The source without comments, texts and modules of tests.
fn bare(source: &str) -> String {
    without_tests(&without_comments(source))
}

/// Comments and the contents of texts become nothing. A quote that begins a lifetime is left alone.
fn without_comments(source: &str) -> String {
    let mut bare = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = text_length(rest) {
            bare.push_str("\"\"");
            length
        } else {
            bare.push(letter);
            letter.len_utf8()
        };
        rest = &rest[length..];
    }
    bare
}

/// The length of the text or character that begins here, if one does.
fn text_length(rest: &str) -> Option<usize> {
    let raw = rest.strip_prefix('r').map(|after| {
        let hashes = after.len() - after.trim_start_matches('#').len();
        (hashes, &after[hashes..])
    });
    if let Some((hashes, after)) = raw
        && after.starts_with('"')
    {
        let end = format!("\"{}", "#".repeat(hashes));
        let begin = 2 + hashes;
        let length = rest[begin..].find(&end)?;
        return Some(begin + length + end.len());
    }
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let mut letters = rest.char_indices().skip(1);
    let mut count = 0;
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return Some(at + 1);
        }
        count += 1;
        match letter {
            '\\' => {
                letters.next();
            }
            // More than one letter: a lifetime. Escapes are at most '\u{10ffff}'.
            _ if quote == '\'' && count == 2 && !rest.starts_with("'\\") => return None,
            _ => {}
        }
    }
    None
}

/// Modules behind `#[cfg(test)]` become nothing.
fn without_tests(source: &str) -> String {
    let mut bare = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("#[cfg(test)]") {
        bare.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find([';', '{']).unwrap_or(rest.len());
        let is_module = rest[..end].split_whitespace().any(|word| word == "mod");
        let length = match (is_module, rest[end..].starts_with('{')) {
            (true, true) => end + block_length(&rest[end..]),
            _ => end.max(1),
        };
        rest = &rest[length..];
    }
    bare + rest
}

fn block_length(block: &str) -> usize {
    let mut braces = 0_usize;
    for (at, letter) in block.char_indices() {
        match letter {
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if braces == 0 {
            return at + 1;
        }
    }
    block.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(sources: &[(&str, &str)]) -> Vec<String> {
        let sources = sources
            .iter()
            .map(|(file, text)| ((*file).to_owned(), bare(text)));
        let graph = graph_of(&sources.collect());
        let edges = graph.iter().flat_map(|(user, used)| {
            used.keys()
                .map(move |used| format!("{user} > {used}"))
                .collect::<Vec<_>>()
        });
        edges.collect()
    }

    #[test]
    fn paths_from_the_root_count() {
        let a = "use crate::b::{C, D};\nuse crate::{c::E, d};\nfn f() { crate::e::g() }";
        let rest = [("b.rs", ""), ("c.rs", ""), ("d/mod.rs", ""), ("e.rs", "")];
        let mut sources = vec![("a.rs", a)];
        sources.extend(rest);
        assert_eq!(uses(&sources), ["a > b", "a > c", "a > d", "a > e"]);
    }

    #[test]
    fn climbing_counts_when_it_reaches_the_root() {
        let sources = [
            ("a/mod.rs", "use super::b::X; use self::c::Y;"),
            ("a/c.rs", "use super::c::Z; use super::super::d;"),
            ("b.rs", "use super::d;"),
            ("c.rs", ""),
            ("d.rs", ""),
        ];
        assert_eq!(uses(&sources), ["a > b", "a > d", "b > d"]);
    }

    #[test]
    fn what_the_root_hands_on_counts_for_its_module() {
        let sources = [
            ("lib.rs", "mod a; mod b; pub use b::{Thing, other as name};"),
            ("a.rs", "use crate::Thing;"),
            ("b.rs", ""),
        ];
        assert_eq!(uses(&sources), ["a > b"]);
    }

    #[test]
    fn comments_texts_and_tests_do_not_count() {
        let a = "// crate::b\n/* crate::b */ const T: &str = \"crate::b \\\" {\";\n\
                 const R: &str = r#\"crate::b\"#;\n\
                 fn f<'a>(q: char) -> bool { q == '\"' || q == '\\'' }\n\
                 #[cfg(test)]\nmod tests { use crate::b; fn g() { let _ = '{'; } }\nuse crate::c;";
        let sources = [
            ("a.rs", a),
            ("b.rs", ""),
            ("c/tests.rs", "use crate::a;"),
            ("c/mod.rs", ""),
        ];
        assert_eq!(uses(&sources), ["a > c"]);
    }
}
