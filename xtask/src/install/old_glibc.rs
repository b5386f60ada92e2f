//! Libraries to link with, so that what is built here runs on systems as old as glibc 2.28.
//!
//! A linker writes down the newest version of each symbol that the C library here has:
//! `pthread_create` of 2.34, `log` of 2.29, although older ones are there and do the same. The
//! libraries made here stand before the real ones in the search. They have no code, only the
//! symbols of the real ones, each by its newest version up to 2.28 and under the library that it
//! was in then; younger symbols are not there, so a program that uses one cannot be linked. Nothing
//! of them is installed. `stat` and its kin were no functions of the library before 2.33: they are
//! defined here, by the system call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The build scripts of what is linked look for the folder under this name.
pub const VARIABLE: &str = "OLD_GLIBC_FOLDER";

/// The oldest C library that installations run on.
pub const OLDEST: Version = (2, 28, 0);

type Version = (u32, u32, u32);

const STATUS: &str = "
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define HIDDEN __attribute__((visibility(\"hidden\")))
static int status(int folder, const char *path, void *into, int flags) {
    return (int)syscall(SYS_newfstatat, folder, path, into, flags);
}
HIDDEN int stat64(const char *path, void *into) { return status(AT_FDCWD, path, into, 0); }
HIDDEN int lstat64(const char *path, void *into) {
    return status(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
HIDDEN int fstat64(int file, void *into) { return status(file, \"\", into, AT_EMPTY_PATH); }
HIDDEN int stat(const char *path, void *into) { return stat64(path, into); }
HIDDEN int lstat(const char *path, void *into) { return lstat64(path, into); }
HIDDEN int fstat(int file, void *into) { return fstat64(file, into); }
HIDDEN int fstatat64(int folder, const char *path, void *into, int flags) {
    return status(folder, path, into, flags);
}
HIDDEN int mknodat(int folder, const char *path, unsigned mode, unsigned long device) {
    return (int)syscall(SYS_mknodat, folder, path, mode, device);
}
HIDDEN int mknod(const char *path, unsigned mode, unsigned long device) {
    return mknodat(AT_FDCWD, path, mode, device);
}
";

/// A symbol of a library: how it is offered, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol {
    version: String,
    number: Version,
    /// The size of what is no function.
    object: Option<u64>,
}

/// Where the libraries are made, and where they go.
struct Place<'a> {
    work: &'a Path,
    folder: &'a Path,
}

impl Place<'_> {
    /// Puts a file in place, and says where. Another task may be linking with the one that is
    /// there: it reads that one or this one, which says the same, and never a part.
    fn put(&self, name: &str) -> Option<PathBuf> {
        let to = self.folder.join(name);
        std::fs::rename(self.work.join(name), &to).ok()?;
        Some(to)
    }
}

/// Makes them in `folder`; none where this is another C library, or tools are missing: then the
/// linker finds what it finds.
pub fn make(folder: &Path) -> Option<PathBuf> {
    if !cfg!(target_env = "gnu") {
        return None;
    }
    let work = folder.join("work");
    std::fs::create_dir_all(&work).ok()?;
    // One task at a time makes them.
    let lock = std::fs::File::create(folder.join("lock")).ok()?;
    lock.lock().ok()?;
    make_at(&Place {
        work: &work,
        folder,
    })?;
    Some(folder.to_owned())
}

fn make_at(place: &Place) -> Option<()> {
    let (status, object) = (place.work.join("status.c"), place.work.join("status.o"));
    std::fs::write(&status, STATUS).ok()?;
    compile(&["-c", "-O1", "-fPIC", "-fno-builtin"], &status, &object)?;
    let status = place.put("status.o")?;
    let mut libraries: BTreeMap<&str, BTreeMap<String, Symbol>> = BTreeMap::new();
    for (name, file) in [("c", "libc.so.6"), ("m", "libm.so.6")] {
        for (symbol, versions) in symbols(Path::new(&found(file)?))? {
            let newest = versions.iter().map(|version| version.number).max();
            let moved = name == "c" && newest > Some(OLDEST);
            let old = versions
                .into_iter()
                .filter(|version| version.number <= OLDEST);
            let home = if moved { home(&symbol) } else { name };
            if let Some(old) = old.max_by_key(|version| version.number) {
                libraries.entry(home).or_default().insert(symbol, old);
            }
        }
    }
    for (name, loaded) in [
        ("c", "libc.so.6"),
        ("m", "libm.so.6"),
        ("pthread", "libpthread.so.0"),
        ("dl", "libdl.so.2"),
        ("rt", "librt.so.1"),
    ] {
        let symbols = libraries.remove(name).unwrap_or_default();
        let old = library(place, name, loaded, &symbols)?;
        let text = match name {
            "c" => format!(
                "GROUP ( \"{}\" \"{}\" \"{}\" AS_NEEDED ( \"{}\" ) )\n",
                old.display(),
                status.display(),
                found("libc_nonshared.a")?,
                found(loader())?
            ),
            _ => format!("INPUT ( \"{}\" )\n", old.display()),
        };
        let script = format!("lib{name}.so");
        std::fs::write(place.work.join(&script), text).ok()?;
        place.put(&script)?;
    }
    Some(())
}

/// The library of glibc 2.28 that had what is in libc.so.6 since.
fn home(symbol: &str) -> &'static str {
    let begins = |words: &[&str]| words.iter().any(|word| symbol.starts_with(word));
    if begins(&["pthread_", "sem_", "__pthread_"]) {
        "pthread"
    } else if begins(&["dl"]) {
        "dl"
    } else if begins(&["aio_", "lio_", "mq_", "shm_", "timer_"]) {
        "rt"
    } else {
        "c"
    }
}

/// The symbols that a library offers, each with all its versions.
fn symbols(library: &Path) -> Option<BTreeMap<String, Vec<Symbol>>> {
    let mut symbols: BTreeMap<String, Vec<Symbol>> = BTreeMap::new();
    for line in dynamic_symbols(library).ok()?.lines() {
        if let Some((name, symbol)) = defined(line) {
            symbols.entry(name).or_default().push(symbol);
        }
    }
    Some(symbols)
}

/// `address flags section size version name`, the version in brackets if it is not the default one.
fn defined(line: &str) -> Option<(String, Symbol)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., section, size, version, name] = words.as_slice() else {
        return None;
    };
    let version = version.trim_matches(['(', ')']);
    if section.starts_with('*') {
        return None;
    }
    let symbol = Symbol {
        number: number(version)?,
        version: version.to_owned(),
        object: match line.contains(" DO ") {
            true => Some(u64::from_str_radix(size, 16).ok()?),
            false => None,
        },
    };
    Some(((*name).to_owned(), symbol))
}

fn number(version: &str) -> Option<Version> {
    let mut numbers = version.strip_prefix("GLIBC_")?.split('.');
    let mut next = || numbers.next().map_or(Some(0), |number| number.parse().ok());
    Some((next()?, next()?, next()?))
}

/// A library without code that offers these symbols; where it is.
fn library(
    place: &Place,
    name: &str,
    loaded: &str,
    symbols: &BTreeMap<String, Symbol>,
) -> Option<PathBuf> {
    let mut code = String::from(".section .note.GNU-stack,\"\"\n");
    let mut versions: BTreeMap<&str, String> = BTreeMap::new();
    for (
        symbol,
        Symbol {
            version, object, ..
        },
    ) in symbols
    {
        let _ = match object {
            Some(size) => writeln!(
                code,
                ".bss\n.globl {symbol}\n.type {symbol} STT_OBJECT\n\
                 .size {symbol}, {size}\n{symbol}: .zero {size}"
            ),
            None => writeln!(
                code,
                ".text\n.globl {symbol}\n.type {symbol} STT_FUNC\n{symbol}: .byte 0"
            ),
        };
        let _ = write!(versions.entry(version).or_default(), "{symbol}; ");
    }
    let mut script = String::new();
    for (version, symbols) in versions {
        let _ = writeln!(script, "{version} {{ global: {symbols} }};");
    }
    let (source, map) = (
        place.work.join(format!("{name}.s")),
        place.work.join(format!("{name}.map")),
    );
    std::fs::write(&source, code).ok()?;
    std::fs::write(&map, script).ok()?;
    let old = format!("old-{name}.so");
    let soname = format!("-Wl,-soname,{loaded}");
    let script = format!("-Wl,--version-script={}", map.display());
    let words = ["-shared", "-nostdlib", &soname, &script];
    compile(&words, &source, &place.work.join(&old))?;
    place.put(&old)
}

fn loader() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "ld-linux-aarch64.so.1",
        _ => "ld-linux-x86-64.so.2",
    }
}

fn compile(words: &[&str], from: &Path, to: &Path) -> Option<()> {
    let mut command = Command::new("cc");
    let done = command.args(words).arg(from).arg("-o").arg(to).status();
    done.is_ok_and(|status| status.success()).then_some(())
}

/// Where the compiler finds a file of the C library.
fn found(name: &str) -> Option<String> {
    let option = format!("-print-file-name={name}");
    let output = Command::new("cc").arg(option).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    Path::new(&path).is_absolute().then_some(path)
}

/// The symbols that a file needs and the C library has only since after [`OLDEST`], each with its
/// version; weak ones are looked for at run time and may be missing.
pub fn too_young(file: &Path) -> Result<Vec<String>, String> {
    Ok(dynamic_symbols(file)?.lines().filter_map(young).collect())
}

fn dynamic_symbols(file: &Path) -> Result<String, String> {
    let output = Command::new("objdump").arg("-T").arg(file).output();
    let output = output.map_err(|error| format!("objdump: {error}"))?;
    if !output.status.success() {
        return Err(format!("objdump -T {}: {}", file.display(), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn young(line: &str) -> Option<String> {
    let is_weak = line.split_whitespace().nth(1) == Some("w");
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., version, symbol] = words.as_slice() else {
        return None;
    };
    let version = version.trim_matches(['(', ')']);
    let is_young = number(version)? > OLDEST && !is_weak;
    is_young.then(|| format!("{symbol} of {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_after_the_oldest_are_seen() {
        let line = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) dlopen";
        assert_eq!(young(line), Some("dlopen of GLIBC_2.34".to_owned()));
        let line = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) free";
        assert_eq!(young(line), None);
        let line = "0000000000000000  w   DF *UND*\t0000000000000000 (GLIBC_2.30) gettid";
        assert_eq!(young(line), None);
        assert_eq!(
            young("0000000000012340 g    DF .text\t1 Base MPI_Send"),
            None
        );
    }

    /// What Rust's library uses of the C library, in a program and in a library, and that it runs.
    #[test]
    fn what_is_linked_with_them_needs_nothing_younger() {
        let folder = std::env::temp_dir().join(format!("oxmpi old glibc {}", std::process::id()));
        let Some(old) = make(&folder) else {
            return eprintln!("skipped: another machine, or no C compiler");
        };
        let source = folder.join("program.rs");
        let text = "
            fn main() {
                let length = std::fs::metadata(\"/proc/self/exe\").unwrap().len();
                assert!(length > 0 && std::fs::symlink_metadata(\"/nonesuch\").is_err());
                let file = std::fs::File::open(\"/proc/self/exe\").unwrap();
                assert_eq!(file.metadata().unwrap().len(), length);
                let one: f64 = std::env::args().count() as f64;
                let thread = std::thread::Builder::new().name(\"other\".into());
                let thread = thread.spawn(move || one.ln() + one.powf(one) + one.exp().log2());
                println!(\"{}\", thread.unwrap().join().unwrap() > 0.0);
            }";
        std::fs::write(&source, text).unwrap();
        let program = folder.join("program");
        let made = Command::new("rustc")
            .args(["-O", "-C", "link-arg=-Wl,--allow-shlib-undefined", "-L"])
            .arg(&old)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .status();
        assert!(made.unwrap().success());
        assert_eq!(too_young(&program).unwrap(), Vec::<String>::new());
        let ran = Command::new(&program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "true\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
