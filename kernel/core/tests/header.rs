//! `kernel/include/o2g.h` and `kernel/shim/core.h` say in C what `wire::o2g` and the core say in
//! Rust: sizes, offsets and constants are compared by compiling the header.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use oxmpi_wire::o2g;

/// Names in C, with what they must be.
type Table = Vec<(String, u64)>;

fn constants() -> Table {
    let rows: [(&str, u64); 27] = [
        ("O2G_VERSION", o2g::VERSION.into()),
        ("O2G_PAGE_BYTES", o2g::PAGE_BYTES as u64),
        ("O2G_RECORD_ALIGN", o2g::RECORD_ALIGN as u64),
        ("O2G_DUMP_BYTES_MIN", o2g::DUMP_BYTES_MIN),
        ("O2G_DUMP_BYTES_MAX", o2g::DUMP_BYTES_MAX),
        ("O2G_ENTRIES_MAX", o2g::ENTRIES_MAX.into()),
        ("O2G_SOCKETS_MAX", o2g::SOCKETS_MAX.into()),
        ("O2G_EARLY_BYTES_MAX", o2g::EARLY_BYTES_MAX.into()),
        ("O2G_NO_SLOT", o2g::NO_SLOT.into()),
        ("O2G_ANY_SOURCE", o2g::ANY_SOURCE.into()),
        ("O2G_ANY_TAG", o2g::ANY_TAG.into()),
        ("O2G_NO_BUFFER", o2g::NO_BUFFER.into()),
        ("O2G_ANSWER", o2g::ANSWER.into()),
        ("O2G_ANSWERS", o2g::ANSWERS.into()),
        ("O2G_ANSWER_BYTES", oxmpi_o2g_core::ANSWER_BYTES as u64),
        ("O2G_FREE", o2g::FREE.into()),
        ("O2G_WAITING", o2g::WAITING.into()),
        ("O2G_MATCHED", o2g::MATCHED.into()),
        ("O2G_DONE", o2g::DONE.into()),
        ("O2G_FILLER", o2g::RecordKind::Filler as u64),
        ("O2G_PACKET", o2g::RecordKind::Packet as u64),
        ("O2G_PAYLOAD", o2g::RecordKind::Payload as u64),
        ("O2G_FAREWELL", o2g::RecordKind::Farewell as u64),
        ("O2G_GARBAGE", o2g::RecordKind::Garbage as u64),
        ("O2G_CLOSED", o2g::RecordKind::Closed as u64),
        (
            "sizeof(((struct o2g_record *)0)->prefix)",
            oxmpi_wire::PREFIX_BYTES as u64,
        ),
        ("sizeof(struct o2g_record)", o2g::RECORD_BYTES as u64),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// A structure's size and the offsets of its fields, which have the same names in both languages.
macro_rules! layout {
    ($table:ident, $c:literal, $rust:ty, $($field:ident),*) => {
        $table.push((format!("sizeof(struct {})", $c), size_of::<$rust>() as u64));
        $($table.push((
            format!("__builtin_offsetof(struct {}, {})", $c, stringify!($field)),
            std::mem::offset_of!($rust, $field) as u64,
        ));)*
    };
}

fn layouts() -> Table {
    let mut table = Table::new();
    layout!(
        table,
        "o2g_init",
        o2g::Init,
        version,
        n_socks,
        n_entries,
        reserved
    );
    layout!(
        table,
        "o2g_register",
        o2g::Register,
        fd,
        rank,
        early,
        early_bytes,
        desk
    );
    layout!(table, "o2g_dump_area", o2g::DumpArea, bytes, map_bytes);
    layout!(
        table,
        "o2g_entry",
        o2g::Entry,
        cookie,
        context,
        source,
        tag,
        flags,
        reserved,
        address,
        bytes,
        tail
    );
    layout!(
        table,
        "o2g_done",
        o2g::Done,
        state,
        source,
        tag,
        error,
        bytes,
        cookie
    );
    layout!(
        table,
        "o2g_control",
        o2g::Control,
        head,
        stopped,
        reserved,
        tail
    );
    layout!(table, "o2g_desk", o2g::Desk, busy, owed);
    layout!(
        table,
        "o2g_record",
        o2g::Record,
        length,
        kind,
        reserved,
        rank,
        slot,
        cookie,
        payload,
        here,
        detail,
        placed,
        prefix
    );
    layout!(
        table,
        "o2g_counters",
        o2g::Counters,
        packets,
        matched,
        unexpected,
        placed_bytes_softirq,
        placed_bytes_thread,
        dumped_bytes,
        runs_softirq,
        runs_thread,
        stops,
        wakeups,
        agains,
        answers,
        pages_pinned,
        pages_kept,
        pins,
        pins_reused,
        sockets,
        pages_pinned_all,
        sockets_all,
        contexts_all
    );
    table
}

/// A file that compiles only if the headers agree.
fn program(table: &Table) -> String {
    let mut text = String::from("#include \"core.h\"\n");
    for (name, value) in table {
        let line = format!("_Static_assert({name} == {value}u, \"{name} is {value} in Rust\");");
        writeln!(text, "{}", line.replace('\n', " ")).expect("a string takes everything");
    }
    text
}

/// Has a compiler look at a program that sees the headers of the kernel's folders.
fn check(name: &str, text: &str, folders: &[&str]) {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = std::env::temp_dir().join(format!("o2g-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let source = folder.join("program.c");
    std::fs::write(&source, text).expect("a temporary file");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Werror", "-fsyntax-only"]);
    for folder in folders {
        compiler.arg("-I").arg(kernel.join(folder));
    }
    let run = compiler.arg(&source).output();
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    match run {
        Err(error) => eprintln!("skipped: no C compiler `cc` ({error}); install gcc or clang"),
        Ok(run) => {
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{name}:\n{said}");
        }
    }
}

#[test]
fn c_and_rust_agree() {
    let table = [constants(), layouts()].concat();
    check("header", &program(&table), &["shim"]);
}

/// The example of docs/o2g.md compiles, and speaks the packets of this version.
#[test]
fn the_example_is_of_this_version() {
    let page = include_str!("../../../docs/o2g.md");
    let (_, example) = page.split_once("```c\n").expect("an example in C");
    let (example, _) = example.split_once("```").expect("its end");
    check("example", example, &["include"]);
    let version = format!(".version = {}, .kind = 1", oxmpi_wire::VERSION);
    assert!(example.contains(&version), "the example has no {version:?}");
}

/// The numbers that follow `before` and a name, by name.
fn numbers<'a>(text: &'a str, before: &str, between: &str) -> Vec<(&'a str, &'a str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(before));
    let pairs = lines.filter_map(|line| line.split_once(between));
    let number = |text: &'a str| text.split([';', ' ']).next().unwrap_or(text);
    pairs.map(|(name, rest)| (name, number(rest))).collect()
}

/// The steps and the functions between shim and core, which only the module's own crate has in
/// Rust: by their text.
#[test]
fn the_faces_are_those_of_the_header() {
    let header = include_str!("../../shim/core.h");
    let faces = include_str!("../../module/src/faces.rs");
    let steps = numbers(header, "#define O2G_STEP_", " ");
    assert_eq!(steps.len(), 5);
    let ours = numbers(faces, "const ", ": u32 = ");
    assert_eq!(steps, ours);
    let declared = header.split("o2g_core_").skip(1);
    let declared = declared.filter_map(|text| text.split_once('('));
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names: Vec<&str> = declared
        .map(|(name, _)| name)
        .filter(|name| is_name(name))
        .collect();
    assert!(
        names.len() >= 18,
        "only {} functions were found",
        names.len()
    );
    for name in names {
        let face = format!("extern \"C\" fn o2g_core_{name}(");
        assert!(
            faces.contains(&face),
            "core.h declares o2g_core_{name}, faces.rs has none"
        );
    }
}
