//! The Fortran procedures against the standard's own list, where that is at hand: every dummy
//! argument with its name, its types, its intent and whether it is ASYNCHRONOUS.
//!
//! The list is not part of this repository; without it the test says so and compares nothing.

use std::path::Path;

use oxmpi_abi_table::fortran::{
    Dummy, Intent, Procedure, Shape, dummies, procedures, procedures_f08,
};
use oxmpi_abi_table::{Face, Table};
use serde_json::Value;

/// Where the standard's list is at odds with its own rules, and the rule is followed.
const ODDITIES: [(&str, &str); 1] = [("MPI_Neighbor_allgatherv_init", "displs")];

fn standard() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/mpi5/fortran.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("nothing to compare with: {} is not here", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// The type in the list's words.
fn spelling(dummy: &Dummy, f08: bool) -> String {
    match (&dummy.shape, f08) {
        (Shape::Integer, _) => "INTEGER".into(),
        (Shape::Address, _) => "INTEGER(KIND=MPI_ADDRESS_KIND)".into(),
        (Shape::Count, _) => "INTEGER(KIND=MPI_COUNT_KIND)".into(),
        (Shape::Offset, _) => "INTEGER(KIND=MPI_OFFSET_KIND)".into(),
        (Shape::Logical, _) => "LOGICAL".into(),
        (Shape::Text, true) => "CHARACTER".into(),
        (Shape::Text, false) => "CHARACTER*(*)".into(),
        (Shape::Choice, true) => "TYPE(*), DIMENSION(..)".into(),
        (Shape::Choice, false) => "<type>".into(),
        (Shape::Pointer, true) => "TYPE(C_PTR)".into(),
        (Shape::Pointer, false) if dummy.name == "buffer_addr" => "<type>".into(),
        (Shape::Pointer, false) => "INTEGER(KIND=MPI_ADDRESS_KIND)".into(),
        (Shape::Status, true) => "TYPE(MPI_Status)".into(),
        (Shape::Handle(of), true) => format!("TYPE({of})"),
        (Shape::Status | Shape::Handle(_), false) => "INTEGER".into(),
        (Shape::Procedure(_), true) => "PROCEDURE".into(),
        (Shape::Procedure(_), false) => "EXTERNAL".into(),
    }
}

fn word(intent: Intent) -> &'static str {
    match intent {
        Intent::In => "in",
        Intent::Out => "out",
        Intent::InOut => "inout",
    }
}

/// Says where a procedure is not as listed.
fn compare(procedure: &Procedure<'_>, of: &Value, wrong: &mut Vec<String>) {
    let name = &procedure.function.name;
    let ours = dummies(procedure);
    let large = procedure.f08 && procedure.face == Face::Large;
    let in_fortran = |p: &&Value| !p["mpi"].is_null();
    let is_ours = |p: &&Value| ours.iter().any(|dummy| p["name"] == dummy.name.as_str());
    // Arguments of the large form alone are listed for both.
    let listed = of["params"].as_array().unwrap().iter().filter(in_fortran);
    let theirs: Vec<&Value> = listed.filter(|p| large || is_ours(p)).collect();
    if ours.len() != theirs.len() {
        wrong.push(format!(
            "{name} has {} arguments, not {}",
            ours.len(),
            theirs.len()
        ));
    }
    for (dummy, p) in ours.iter().zip(theirs) {
        let column = if procedure.f08 { "mpi_f08" } else { "mpi" };
        let kind = if large && p["large"].is_string() {
            &p["large"]
        } else {
            &p[column]
        };
        let asynchronous = p["asynchronous"].is_string() || p["asynchronous"] == true;
        let odd = ODDITIES.contains(&(name.as_str(), dummy.name.as_str()));
        let listed = (
            p["name"].as_str().unwrap().to_string(),
            kind.as_str().unwrap().to_string(),
            p["intent"].as_str().unwrap().to_lowercase(),
            asynchronous || odd,
        );
        let own = (
            dummy.name.clone(),
            spelling(dummy, procedure.f08),
            word(dummy.intent).to_string(),
            dummy.asynchronous,
        );
        if own != listed {
            wrong.push(format!(
                "{}: {own:?} is listed as {listed:?}",
                procedure.specific()
            ));
        }
    }
}

#[test]
fn dummy_arguments_are_the_standards() {
    let Some(standard) = standard() else { return };
    let table = Table::mpi5();
    let theirs = standard["functions"].as_object().unwrap();
    let mut wrong = Vec::new();
    for procedure in procedures(&table).iter().chain(&procedures_f08(&table)) {
        compare(procedure, &theirs[&procedure.function.name], &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Every listed procedure exists; callbacks and what C lacks are written elsewhere.
    let known: Vec<&str> = table.functions().map(|f| f.name.as_str()).collect();
    let elsewhere = ["MPI_Sizeof", "MPI_F_sync_reg"];
    let missing: Vec<&String> = theirs
        .keys()
        .filter(|name| !known.contains(&name.as_str()) && !elsewhere.contains(&name.as_str()))
        .filter(|name| !name.ends_with("_function") && !name.contains("_FN"))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
