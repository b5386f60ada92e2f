//! From registers and stack to lines of text.
//!
//! Return addresses are found by the unwind information that every compiled file carries, and by
//! frame pointers where there is none; names and lines come from debug information, or names alone
//! from the table of symbols. What cannot be known is left out of a line, never guessed.

use std::collections::HashMap;
use std::path::Path;

use framehop::{FrameAddress, Unwinder as _};

use oxmpi_join::crash::NO_ADDRESS;

use super::Crash;
use super::image::{Code, Place};

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{
    CacheAarch64 as Cache, UnwindRegsAarch64 as Registers, UnwinderAarch64 as Unwinder,
};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{
    CacheX86_64 as Cache, UnwindRegsX86_64 as Registers, UnwinderX86_64 as Unwinder,
};

/// Frames that are shown: the place of a crash is at the top, and recursion has no end.
const FRAMES_MAX: usize = 24;

/// The backtrace of a crash.
pub(super) fn lines(crash: &Crash) -> Vec<String> {
    let mut code = Code::new(&crash.maps, crash.has_all_maps);
    let (frames, more) = frames(crash, &mut code);
    let mut names = Names {
        code: &code,
        loaded: HashMap::new(),
        has_files: false,
        has_unreadable: false,
        has_lines: false,
    };
    let mut lines = Vec::new();
    lines.extend(access(crash));
    let mut number = 0;
    for frame in frames {
        for place in names.places(frame) {
            lines.push(format!("  #{number} {place}"));
            number += 1;
        }
        // What the C library does before it calls the program says nothing about a crash.
        if lines.last().is_some_and(|line| is_main(line)) {
            break;
        }
    }
    if more && !lines.last().is_some_and(|line| is_main(line)) {
        lines.push("  … and more".to_owned());
    }
    if names.has_files && !names.has_unreadable && !names.has_lines {
        lines.push("  (compile with -g to see files and lines)".to_owned());
    }
    lines
}

pub(super) fn is_main(line: &str) -> bool {
    let name = line.trim_start().split(' ').nth(1);
    name == Some("main")
}

/// What was accessed, for signals that say so.
fn access(crash: &Crash) -> Option<String> {
    let Crash { address, .. } = crash;
    match crash.signal {
        _ if *address == NO_ADDRESS => None,
        libc::SIGSEGV | libc::SIGBUS if *address == 0 => Some("  a NULL pointer was used".into()),
        libc::SIGSEGV | libc::SIGBUS => Some(format!("  the address was {address:#x}")),
        _ => None,
    }
}

/// The addresses of the frames, from the innermost, and whether there are more.
fn frames(crash: &Crash, code: &mut Code) -> (Vec<FrameAddress>, bool) {
    let mut unwinder: Unwinder<Vec<u8>> = Unwinder::new();
    for image in &mut code.images {
        let sections = std::mem::take(&mut image.sections);
        let name = image.path.to_string_lossy().into_owned();
        let module = framehop::Module::new(name, image.range.clone(), image.bias, sections);
        unwinder.add_module(module);
    }
    let mut read = |address: u64| word(crash, address).ok_or(());
    let mut found = Vec::new();
    let [mut counter, mut stack, frame, link] = crash.registers;
    let is_code = |address: u64| !matches!(code.place(address), Place::NoCode);
    if !is_code(counter) {
        // A call to where no code is: the frame that matters is the caller's.
        found.push(FrameAddress::from_instruction_pointer(counter));
        let caller = match cfg!(target_arch = "x86_64") {
            true => word(crash, stack).unwrap_or(0),
            false => link,
        };
        // The instruction before the one that it returns to is the call.
        counter = caller.saturating_sub(1);
        if cfg!(target_arch = "x86_64") {
            stack = stack.wrapping_add(8);
        }
        if !is_code(counter) {
            return (found, false);
        }
    }
    #[cfg(target_arch = "x86_64")]
    let registers = Registers::new(counter, stack, frame);
    #[cfg(target_arch = "aarch64")]
    let registers = Registers::new(link, stack, frame);
    let mut cache = Cache::<_>::new();
    let mut walk = unwinder.iter_frames(counter, registers, &mut cache, &mut read);
    while let Ok(Some(frame)) = walk.next() {
        if found.len() == FRAMES_MAX {
            return (found, true);
        }
        if !is_code(frame.address_for_lookup()) {
            // No return address: the walk has lost its way.
            break;
        }
        found.push(frame);
    }
    (found, false)
}

/// A word of the stack, as far as it was sent. Pieces end at page boundaries, and words never
/// cross one.
fn word(crash: &Crash, address: u64) -> Option<u64> {
    let (begin, bytes) = crash.stack.range(..=address).next_back()?;
    let place = usize::try_from(address - begin).ok()?;
    let word = bytes.get(place..place.checked_add(8)?)?;
    Some(u64::from_ne_bytes(word.try_into().ok()?))
}

/// Names for addresses; each file is loaded once.
struct Names<'a> {
    code: &'a Code,
    loaded: HashMap<&'a Path, Option<addr2line::Loader>>,
    /// The file of an address was found.
    has_files: bool,
    /// A file could not be read, with or without debug information.
    has_unreadable: bool,
    /// A file and line was found.
    has_lines: bool,
}

impl Names<'_> {
    /// What an address is: several places where functions were inlined, the innermost first.
    fn places(&mut self, frame: FrameAddress) -> Vec<String> {
        let address = frame.address_for_lookup();
        let shown = frame.address();
        let image = match self.code.place(address) {
            Place::Image(image) => image,
            Place::Unreadable(file) => {
                self.has_unreadable = true;
                return vec![format!("{shown:#x} in a file that cannot be read: {file}")];
            }
            Place::Unknown => return vec![format!("{shown:#x} of an unknown file")],
            Place::NoCode => return vec![format!("{shown:#x}, where no code is")],
        };
        self.has_files = true;
        let file = image.path.file_name().unwrap_or_default().to_string_lossy();
        let inside = address.wrapping_sub(image.bias);
        let load = || addr2line::Loader::new(&image.debug).ok();
        let loaded = self.loaded.entry(&image.path).or_insert_with(load);
        let Some(loader) = loaded else {
            return vec![format!("{inside:#x} in {file}")];
        };
        let mut places = Vec::new();
        if let Ok(mut frames) = loader.find_frames(inside) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame
                    .function
                    .as_ref()
                    .and_then(|name| name.demangle().ok());
                let location = frame.location.as_ref();
                let line = location.and_then(|location| Some((location.file?, location.line?)));
                if let (Some(name), Some((file, line))) = (name, line) {
                    self.has_lines |= !is_own(&image.path);
                    places.push(format!("{name} at {file}:{line}"));
                }
            }
        }
        if places.is_empty() {
            places.push(match loader.find_symbol(inside) {
                Some(name) => format!("{} in {file}", demangled(name)),
                None => format!("{inside:#x} in {file}"),
            });
        }
        places
    }
}

/// Whether a file is the library's own, whose lines say nothing about how the program was compiled.
fn is_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("libmpi")
}

fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}
