//! The table against the standard's own list, where that is at hand: every constant, handle,
//! callback and prototype.
//!
//! The list is not part of this repository; without it these tests have nothing to compare with and
//! say so.

use std::collections::BTreeMap;
use std::path::Path;

use oxmpi_abi_table::{Face, Table};
use serde_json::Value;

fn standard() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/mpi5/abi.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("nothing to compare with: {} is not here", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// One spelling for C types: `const int[] x`, `const int x[]` and `const int *x` are the same
/// parameter.
fn spelling(c: &str) -> String {
    let c = c.replace("[]", "*").replace("*[3]", "(*)[3]");
    let mut c: String = c.split_whitespace().collect();
    if let Some(rest) = c.strip_prefix("const") {
        c = format!("const {rest}");
    }
    c
}

fn parameters(of: &Value) -> Vec<String> {
    let one = |p: &Value| spelling(p["type"].as_str().unwrap());
    of["params"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn constants_are_the_standards() {
    let Some(standard) = standard() else { return };
    let table = Table::mpi5();
    let values = |of: &Value| -> BTreeMap<String, i64> {
        let object = of.as_object().unwrap();
        object
            .iter()
            .map(|(name, value)| (name.clone(), value.as_i64().unwrap()))
            .collect()
    };
    let ours: BTreeMap<_, _> = table
        .integers
        .iter()
        .map(|c| (c.name.clone(), c.value))
        .collect();
    assert_eq!(ours, values(&standard["integers"]));
    for (name, of) in standard["handles"].as_object().unwrap() {
        let handle = table
            .handles
            .iter()
            .find(|handle| &handle.name == name)
            .unwrap();
        let ours: BTreeMap<_, _> = handle
            .items
            .iter()
            .map(|c| (c.name.clone(), c.value))
            .collect();
        assert_eq!(ours, values(of), "{name}");
    }
    assert_eq!(
        table.handles.len(),
        standard["handles"].as_object().unwrap().len()
    );
    for (name, of) in &table.aliases {
        assert_eq!(standard["handle_aliases"][name], of.as_str());
    }
    let pointers = standard["pointers"].as_object().unwrap();
    let ours = table
        .pointers
        .iter()
        .flat_map(|of| of.items.iter().map(move |c| (of, c)));
    let mut count = 0;
    for (of, constant) in ours {
        count += 1;
        assert_eq!(pointers[&constant.name]["type"], of.name.as_str());
        assert_eq!(pointers[&constant.name]["value"], constant.value);
    }
    assert_eq!(count, pointers.len());
}

#[test]
fn callbacks_are_the_standards() {
    let Some(standard) = standard() else { return };
    let table = Table::mpi5();
    let theirs = standard["callbacks"].as_object().unwrap();
    assert_eq!(theirs.len(), table.callbacks.len());
    for callback in &table.callbacks {
        let of = &theirs[&callback.name];
        assert_eq!(of["returns"], callback.returns.as_str());
        let ours: Vec<String> = callback
            .parameters
            .iter()
            .map(|p| spelling(p.rsplit_once(' ').map_or(p.as_str(), |(kind, _)| kind)))
            .filter(|p| p != "...")
            .collect();
        let mut theirs = parameters(of);
        theirs.retain(|p| !p.is_empty() && p != "...");
        assert_eq!(ours, theirs, "{}", callback.name);
    }
}

#[test]
fn prototypes_are_the_standards() {
    let Some(standard) = standard() else { return };
    let table = Table::mpi5();
    let theirs = standard["functions"].as_object().unwrap();
    assert_eq!(theirs.len(), table.names().len());
    for function in table.functions() {
        for face in function.faces() {
            let name = function.c_name(face);
            let of = &theirs[&name];
            assert_eq!(
                of["returns"],
                function.returns.as_deref().unwrap_or("int"),
                "{name}"
            );
            let large = face == Face::Large;
            let ours: Vec<String> = function
                .parameters_of(face)
                .map(|p| spelling(&p.kind.c_declaration(large, "")))
                .collect();
            let mut theirs = parameters(of);
            if function.variadic {
                assert_eq!(theirs, ["const int", "..."]);
                theirs = vec!["int".into()];
            }
            assert_eq!(ours, theirs, "{name}");
            let named = of["params"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| p["name"].as_str().unwrap());
            let ours: Vec<&str> = function
                .parameters_of(face)
                .map(|p| p.name.as_str())
                .collect();
            assert_eq!(ours, named.take(ours.len()).collect::<Vec<_>>(), "{name}");
        }
    }
}
