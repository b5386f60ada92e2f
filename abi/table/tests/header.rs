//! `mpi.h` compiles without a warning in every language it is meant for, and its values are those
//! of the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use oxmpi_abi_table::{Table, header};

const MODES: [(&str, &str, &str); 8] = [
    ("cc", "c89", "c"),
    ("cc", "c99", "c"),
    ("cc", "c11", "c"),
    ("cc", "c17", "c"),
    ("g++", "c++98", "cpp"),
    ("g++", "c++11", "cpp"),
    ("g++", "c++17", "cpp"),
    ("g++", "c++20", "cpp"),
];

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("mpi.h"), header(&Table::mpi5())).unwrap();
    directory
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.is_empty(),
        "{command:?}:\n{told}"
    );
}

#[test]
fn compiles_in_every_language_without_a_warning() {
    let directory = directory("languages");
    let program = "#include <mpi.h>\n#include <mpi.h>\n\
        static int ignored(MPI_Comm c, int k, void *e, void *i, void *o, int *f)\n\
        { (void)c; (void)k; (void)e; (void)i; (void)o; *f = 0; return MPI_SUCCESS; }\n\
        int uses(MPI_Comm *comm, MPI_Status *status) {\n\
        MPI_Comm_copy_attr_function *fn = ignored;\n\
        if (fn == MPI_COMM_DUP_FN) return MPI_ERR_OTHER;\n\
        *comm = MPI_COMM_WORLD;\n\
        if (MPI_Send(MPI_BOTTOM, 0, MPI_INT, MPI_PROC_NULL, 0, *comm)) return MPI_ANY_SOURCE;\n\
        return PMPI_Recv_c(MPI_IN_PLACE, (MPI_Count)1, MPI_LONG_LONG_INT, 0, MPI_ANY_TAG, *comm, status);\n}\n";
    for (compiler, standard, extension) in MODES {
        let source = directory.join(format!("uses.{extension}"));
        std::fs::write(&source, program).unwrap();
        run(Command::new(compiler)
            .arg(format!("-std={standard}"))
            .args(["-Wall", "-Wextra", "-pedantic", "-fsyntax-only", "-I"])
            .arg(&directory)
            .arg(&source));
    }
}

#[test]
fn values_are_those_of_the_table() {
    let directory = directory("values");
    let table = Table::mpi5();
    let mut program = String::from("#include <mpi.h>\nint main(void) {\nint wrong = 0;\n");
    for constant in &table.integers {
        program += &format!("wrong += ({}) != ({});\n", constant.name, constant.value);
    }
    for constant in table
        .handles
        .iter()
        .chain(&table.pointers)
        .flat_map(|of| &of.items)
    {
        program += &format!(
            "wrong += (intptr_t)({}) != {};\n",
            constant.name, constant.value
        );
    }
    program += "return wrong != 0;\n}\n";
    let (source, binary) = (directory.join("values.c"), directory.join("values"));
    std::fs::write(&source, program).unwrap();
    run(Command::new("cc")
        .arg("-I")
        .arg(&directory)
        .arg(&source)
        .arg("-o")
        .arg(&binary));
    run(&mut Command::new(&binary));
}

/// A program of MPI-1 compiles, and the compiler says what to write instead (§16.1).
#[test]
fn removed_functions_are_warnings_and_constants_errors_that_name_the_successor() {
    let directory = directory("removed");
    // The statement, what the compiler says about it, and whether it compiles.
    let uses = [
        (
            "MPI_Aint a; MPI_Address(&a, &a);",
            "MPI_Address was removed in MPI 3.0; use MPI_Get_address",
            true,
        ),
        (
            "MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);",
            "use MPI_Comm_set_errhandler",
            true,
        ),
        (
            "MPI_Handler_function *f = 0; MPI_Errhandler h; MPI_Errhandler_create(f, &h);",
            "use MPI_Comm_create_errhandler",
            true,
        ),
        (
            "MPI_Aint e; PMPI_Type_ub(MPI_INT, &e);",
            "PMPI_Type_ub was removed in MPI 3.0; use MPI_Type_get_extent",
            true,
        ),
        (
            "MPI_Datatype t = MPI_UB; (void)t;",
            "MPI_UB_was_removed_in_MPI_3_0_use_MPI_Type_create_resized",
            false,
        ),
    ];
    for (index, (statement, told, compiles)) in uses.into_iter().enumerate() {
        for (compiler, extension) in [("cc", "c"), ("g++", "cpp")] {
            let source = directory.join(format!("old{index}.{extension}"));
            let program = format!("#include <mpi.h>\nint main(void) {{ {statement} return 0; }}\n");
            std::fs::write(&source, program).unwrap();
            let output = Command::new(compiler)
                .args(["-c", "-o", "/dev/null", "-I"])
                .arg(&directory)
                .arg(&source)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), compiles, "{text}");
            assert!(text.contains(told), "{text}");
        }
    }
    // Programs that bring their own go on.
    let source = directory.join("own.c");
    let own = "#define MPI_Address MPI_Get_address\n#include <mpi.h>\n\
               int main(void) { MPI_Aint a = 0; return MPI_Address(&a, &a); }\n";
    std::fs::write(&source, own).unwrap();
    run(Command::new("cc")
        .args(["-Wall", "-c", "-o", "/dev/null", "-I"])
        .arg(&directory)
        .arg(&source));
}
