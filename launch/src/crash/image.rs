//! The files that a crashed process had mapped, and where: programs and libraries.
//!
//! /proc/PID/maps gives address ranges, offsets and paths; the file's program headers say which
//! address inside the file a mapping is. Debug information may lie in a file of its own, found by
//! the build identifier or by the name that the stripped file gives (`.gnu_debuglink`).

use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSegment};

/// A file that is read in parts.
type Cache = object::ReadCache<std::fs::File>;

/// A file with code, mapped into the process.
pub(super) struct Image {
    pub(super) path: PathBuf,
    /// The addresses of its mappings, from the first to the last.
    pub(super) range: Range<u64>,
    /// What is added to an address in the file.
    pub(super) bias: u64,
    /// To be taken once, by the unwinder.
    pub(super) sections: framehop::ExplicitModuleSectionInfo<Vec<u8>>,
    /// Where its debug information is: itself, or another file.
    pub(super) debug: PathBuf,
}

/// All code of a process, as far as it is known.
pub(super) struct Code {
    pub(super) images: Vec<Image>,
    /// The executable mappings, and their files if they have any.
    ranges: Vec<(Range<u64>, Option<String>)>,
    /// There are no other executable mappings.
    whole: bool,
}

/// What an address is.
pub(super) enum Place<'a> {
    /// Of a file with code.
    Image(&'a Image),
    /// Of a file that is gone, another one by now, or out of sight here.
    Unreadable(&'a str),
    /// Of code that a program has made, or of a mapping that was not told.
    Unknown,
    /// Not code.
    NoCode,
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    range: Range<u64>,
    executable: bool,
    offset: u64,
    inode: u64,
    /// What does not begin with a stroke is no file.
    path: &'a str,
}

impl Code {
    /// The code in a list of mappings, which may be the beginning of one.
    pub(super) fn new(maps: &[u8], whole: bool) -> Code {
        let text = String::from_utf8_lossy(maps);
        let mappings: Vec<Mapping<'_>> = text.lines().filter_map(mapping).collect();
        let executable = mappings.iter().filter(|mapping| mapping.executable);
        let ranges = executable.map(|mapping| {
            let file = mapping.is_file().then(|| mapping.path.to_owned());
            (mapping.range.clone(), file)
        });
        Code {
            ranges: ranges.collect(),
            images: images(&mappings),
            whole,
        }
    }

    pub(super) fn place(&self, address: u64) -> Place<'_> {
        let mut ranges = self.ranges.iter();
        let Some((_, file)) = ranges.find(|(range, _)| range.contains(&address)) else {
            return match self.whole {
                true => Place::NoCode,
                false => Place::Unknown,
            };
        };
        let Some(file) = file else {
            return Place::Unknown;
        };
        let image = self
            .images
            .iter()
            .find(|image| image.path == Path::new(file.as_str()) && image.range.contains(&address));
        image.map_or(Place::Unreadable(file), Place::Image)
    }
}

impl Mapping<'_> {
    fn is_file(&self) -> bool {
        self.path.starts_with('/')
    }
}

/// The files with code in a list of mappings.
fn images(mappings: &[Mapping<'_>]) -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    let executable = mappings.iter().filter(|mapping| mapping.executable);
    for code in executable.filter(|mapping| mapping.is_file()) {
        let known = images
            .iter()
            .any(|image| image.path == Path::new(code.path));
        if known {
            continue;
        }
        let of_file = mappings.iter().filter(|other| other.path == code.path);
        let (mut start, mut end) = (u64::MAX, 0);
        for part in of_file {
            (start, end) = (start.min(part.range.start), end.max(part.range.end));
        }
        images.extend(image(code, start..end));
    }
    images
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    // address perms offset device inode path, the path after spaces.
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start();
    Some(Mapping {
        range: u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?,
        executable: permissions.contains('x'),
        offset,
        inode,
        path,
    })
}

/// Opens the file of a mapping; none if it is not the file that was mapped any more.
fn image(code: &Mapping<'_>, range: Range<u64>) -> Option<Image> {
    let path = PathBuf::from(code.path);
    let found = path.metadata().ok()?;
    if found.ino() != code.inode || !found.is_file() {
        return None;
    }
    // Reads what it is asked for: programs of gigabytes exist.
    let cache = object::ReadCache::new(std::fs::File::open(&path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let in_segment = |segment: &object::Segment<'_, '_, &Cache>| {
        let (offset, length) = segment.file_range();
        // A mapping begins at the page in which its segment does.
        let begin = offset & !0xfff;
        is_executable(segment) && (begin..offset + length).contains(&code.offset)
    };
    let segment = file.segments().find(in_segment)?;
    let (offset, _) = segment.file_range();
    let address = segment
        .address()
        .wrapping_sub(offset)
        .wrapping_add(code.offset);
    let bias = code.range.start.wrapping_sub(address);
    let section = |name: &str| {
        let section = file.section_by_name(name)?;
        let data = section.uncompressed_data().ok()?.into_owned();
        let start = section.address();
        Some((start..start + section.size(), data))
    };
    let (text_svma, text) = section(".text").unzip();
    let (eh_frame_svma, eh_frame) = section(".eh_frame").unzip();
    let (eh_frame_hdr_svma, eh_frame_hdr) = section(".eh_frame_hdr").unzip();
    let sections = framehop::ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma,
        text,
        eh_frame_svma,
        eh_frame,
        eh_frame_hdr_svma,
        eh_frame_hdr,
        got_svma: section(".got").map(|(range, _)| range),
        debug_frame: section(".debug_frame").map(|(_, data)| data),
        ..Default::default()
    };
    let debug = separate(&file, &path).unwrap_or_else(|| path.clone());
    Some(Image {
        path,
        range,
        bias,
        sections,
        debug,
    })
}

/// Two segments may share a page of the file, so the place alone does not tell them apart.
fn is_executable<'a>(segment: &object::Segment<'a, '_, &'a Cache>) -> bool {
    match segment.flags() {
        object::SegmentFlags::Elf { p_flags } => p_flags & object::elf::PF_X != 0,
        _ => false,
    }
}

/// The file that has the debug information of a stripped one.
fn separate<'a>(file: &object::File<'a, &'a Cache>, path: &Path) -> Option<PathBuf> {
    if file.section_by_name(".debug_info").is_some() {
        return None;
    }
    let mut places = Vec::new();
    let folder = path.parent()?;
    let system = Path::new("/usr/lib/debug");
    if let Ok(Some(id)) = file.build_id() {
        let hexadecimal: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = hexadecimal.split_at_checked(2)?;
        places.push(system.join(format!(".build-id/{first}/{rest}.debug")));
    }
    if let Ok(Some((name, _))) = file.gnu_debuglink() {
        let name = Path::new(std::str::from_utf8(name).ok()?);
        places.push(folder.join(name));
        places.push(folder.join(".debug").join(name));
        let below = folder.strip_prefix("/").ok()?;
        places.push(system.join(below).join(name));
    }
    places
        .into_iter()
        .find(|place| place.is_file() && place != path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = "55d0c0a01000-55d0c0a02000 r-xp 00001000 fe:01 123456   /home/me/a b.out";
        let expected = Mapping {
            range: 0x55d0_c0a0_1000..0x55d0_c0a0_2000,
            executable: true,
            offset: 0x1000,
            inode: 123_456,
            path: "/home/me/a b.out",
        };
        assert_eq!(mapping(line), Some(expected));
        for line in [
            "7ffe0000-7ffe1000 rw-p 00000000 00:00 0    [stack]",
            "7f00-7f01 rw-p 00000000 00:00 0 ",
            "7f00-7f01 rw-p 00000000 00:00 0",
        ] {
            assert!(mapping(line).is_some_and(|mapping| !mapping.is_file()));
        }
        assert_eq!(mapping("nonsense"), None);
    }

    #[test]
    fn this_program_is_found_among_its_own_mappings() {
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let here = lines_are_read as *const () as u64;
        let code = Code::new(&maps, true);
        let Place::Image(own) = code.place(here) else {
            panic!("this function is in a file");
        };
        let symbols = addr2line::Loader::new(&own.debug).unwrap();
        let name = symbols.find_symbol(here - own.bias).unwrap();
        assert!(name.contains("lines_are_read"), "{name}");
        // Of the same file, and not executable.
        let data = &raw const DATA as u64;
        assert!(matches!(code.place(data), Place::NoCode));
    }

    static DATA: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);

    #[test]
    fn code_without_a_file_that_can_be_read_is_still_code() {
        let maps = "1000-2000 r-xp 00000000 fe:01 1 /nowhere/a.out (deleted)\n\
                    3000-4000 rwxp 00000000 00:00 0 \n\
                    5000-6000 rw-p 00000000 00:00 0 [heap]\n";
        let code = Code::new(maps.as_bytes(), true);
        let file = "/nowhere/a.out (deleted)";
        assert!(matches!(code.place(0x1800), Place::Unreadable(name) if name == file));
        assert!(matches!(code.place(0x3800), Place::Unknown));
        assert!(matches!(code.place(0x5800), Place::NoCode));
        assert!(matches!(code.place(0), Place::NoCode));
        let part = Code::new(maps.as_bytes(), false);
        assert!(matches!(part.place(0x7000), Place::Unknown));
    }
}
