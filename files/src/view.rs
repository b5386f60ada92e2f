//! A view: which bytes of a file a process sees, in which order (MPI 5.0 §14.3).
//!
//! The file from `disp` on is tiled with copies of the filetype; the bytes that the copies name are
//! the view's *data*, numbered from 0. All of MPI's offsets count etypes in that data. Nothing
//! here touches a file: a range of data bytes goes in, [`Piece`]s of the file come out. They
//! ascend, because the standard wants displacements that do not decrease, except where copies of
//! the filetype reach into each other, or where its parts overlap in a view for reading.

use oxmpi_core::{FileError, FileFault};
use oxmpi_datatypes::datatype::{Cursor, Datatype, Layout, Places};

use crate::failure::fault;
use crate::representation::Representation;

/// The farthest byte: offsets are signed for MPI and for the system.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// A contiguous range of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

impl Piece {
    /// The byte behind it.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// What a process sees of a file.
#[derive(Clone)]
pub struct View {
    disp: u64,
    etype: Datatype,
    filetype: Datatype,
    representation: Representation,
    /// Bytes of an etype in the file.
    unit: u64,
    /// Data bytes and extent of the filetype in the file.
    data: u64,
    extent: u64,
    /// So many data bytes lie where an offset can be told of them, which is a signed number.
    limit: u64,
    /// Where the data of one filetype lie.
    layout: Layout,
    /// The data is one block without end.
    is_contiguous: bool,
    /// Data bytes lie in the file in the order of their numbers.
    is_ascending: bool,
    /// Parts of one filetype overlap.
    overlaps: bool,
    /// Copies of the filetype overlap, so only the data of the first can be written. PnetCDF makes
    /// such: a struct that contains a subarray has the bounds of the subarray alone.
    is_single: bool,
}

/// Neighbouring blocks of a view, as [`View::blocks`] gives them: `count` of `block` bytes, the
/// first at `offset`, each `stride` behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) offset: u64,
    pub(crate) block: u64,
    pub(crate) stride: u64,
    pub(crate) count: u64,
}

impl View {
    /// The view of a new file: bytes from the beginning.
    pub fn bytes() -> View {
        let byte = Datatype::named(oxmpi_datatypes::datatype::Basic::Byte);
        View::new(0, &byte, &byte, Representation::Native).expect("the plainest view there is")
    }

    /// A view, after a check of what the standard demands of its types.
    pub fn new(
        disp: u64,
        etype: &Datatype,
        filetype: &Datatype,
        representation: Representation,
    ) -> Result<View, FileError> {
        const ACTION: &str = "cannot set the view of";
        let wrong = |why: String| fault(FileFault::Argument, ACTION, why);
        let misplaced = |why: String| fault(FileFault::Placement, ACTION, why);
        for (name, datatype) in [("etype", etype), ("filetype", filetype)] {
            if !datatype.is_committed() {
                let why = format!("the {name} is not committed; call MPI_Type_commit first");
                return Err(wrong(why));
            }
        }
        let (etype_there, there) = (
            representation.in_file(etype)?,
            representation.in_file(filetype)?,
        );
        let (unit, data) = (etype_there.size(), there.size());
        // A filetype without data is the view of a rank that has no part in an access.
        if unit == 0 || data % unit != 0 {
            return Err(wrong(format!(
                "the filetype has {data} bytes of data, which is no whole number of etypes of \
                 {unit} bytes; build the filetype from etypes"
            )));
        }
        if there.extent() < 0 || data > 0 && there.true_lb() < 0 {
            return Err(misplaced(format!(
                "the filetype begins at byte {} and has an extent of {}; displacements in a file \
                 cannot be negative",
                there.true_lb(),
                there.extent()
            )));
        }
        let layout = there
            .layout(1)
            .map_err(|error| wrong(format!("the filetype cannot be laid out: {error}")))?;
        let mut view = View {
            disp,
            etype: etype.clone(),
            filetype: filetype.clone(),
            representation,
            unit,
            data,
            extent: there.extent() as u64,
            limit: 0,
            is_contiguous: data > 0 && there.is_contiguous() && there.true_lb() == 0,
            is_ascending: true,
            overlaps: false,
            layout,
            is_single: false,
        };
        view.look_at_order().map_err(misplaced)?;
        view.limit = view.data_below(OFFSET_MAX, there.true_ub().max(0) as u64);
        Ok(view)
    }

    /// How many data bytes, in whole tiles, end before a byte of the file at the latest; `reach` is
    /// where the last byte of a tile ends.
    fn data_below(&self, end: u64, reach: u64) -> u64 {
        let room = end.saturating_sub(self.disp);
        if self.is_contiguous {
            return room;
        }
        let Some(room) = room.checked_sub(reach) else {
            return 0;
        };
        let tiles = room.checked_div(self.extent).unwrap_or(end);
        // All offsets of accesses are counted in signed numbers, too.
        tiles
            .saturating_add(1)
            .saturating_mul(self.data)
            .min(OFFSET_MAX)
    }

    /// Whether a range of data bytes lies where files can reach.
    pub(crate) fn holds(&self, from: u64, bytes: u64) -> bool {
        let end = from.checked_add(bytes);
        bytes == 0 || end.is_some_and(|end| end <= self.limit)
    }

    /// [`View::byte_of`] an etype; `None` if that is farther than an offset can tell.
    pub fn byte_of_etype(&self, etype: u64) -> Option<u64> {
        let data = etype.checked_mul(self.unit)?;
        let is_near = self.is_empty() || self.is_contiguous && data == self.limit;
        (is_near || data < self.limit).then(|| self.byte_of(data))
    }

    /// Whether a range of data bytes can be written: it lies where copies of the filetype do not
    /// overlap; why not, if it does not.
    pub(crate) fn check_range(&self, from: u64, bytes: u64) -> Result<(), String> {
        if !self.is_single || bytes == 0 || from + bytes <= self.data {
            return Ok(());
        }
        Err(format!(
            "the access ends at byte {} of the view's data, but the filetype has {} bytes of data \
             and an extent of {}, so that its copies overlap in the file: only the first can be \
             written; give the filetype a larger extent (MPI_Type_create_resized)",
            from + bytes,
            self.data,
            self.extent
        ))
    }

    /// Finds out in which order the data lie. Displacements of one filetype must not decrease;
    /// its parts may overlap, and so may copies of it, in a view that is only read through.
    fn look_at_order(&mut self) -> Result<(), String> {
        if self.is_contiguous || self.data == 0 {
            return Ok(());
        }
        let (mut first, mut last, mut end) = (None, 0, 0);
        for run in Cursor::new(&self.layout).runs() {
            if run.offset < last {
                return Err(format!(
                    "the filetype goes back from byte {last} to byte {}; its displacements must \
                     not decrease",
                    run.offset
                ));
            }
            self.overlaps |= run.offset < end;
            first.get_or_insert(run.offset);
            last = run.offset;
            end = end.max(run.offset + run.bytes as i64);
        }
        if end - first.unwrap_or(0) > self.extent as i64 {
            // Copies reach into each other: between the blocks, or onto them.
            self.is_ascending = false;
            self.is_single = self.copies_overlap();
        }
        self.is_ascending &= !self.overlaps;
        Ok(())
    }

    /// Whether copies of the filetype share bytes: all of them do what two blocks do whose places
    /// are taken modulo the extent.
    fn copies_overlap(&self) -> bool {
        let extent = self.extent;
        let mut blocks = Vec::new();
        for run in Cursor::new(&self.layout).runs() {
            let bytes = run.bytes as u64;
            if bytes > extent {
                return true;
            }
            let begin = run.offset as u64 % extent;
            let here = bytes.min(extent - begin);
            blocks.push((begin, begin + here));
            if here < bytes {
                blocks.push((0, bytes - here));
            }
        }
        blocks.sort_unstable();
        blocks.windows(2).any(|two| two[1].0 < two[0].1)
    }

    /// Whether data bytes lie in the file in the order of their numbers.
    pub fn is_ascending(&self) -> bool {
        self.is_ascending
    }

    /// Whether parts of one filetype overlap, which only reading allows.
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// Whether the filetype has no data at all, so that there is nothing to access.
    pub fn is_empty(&self) -> bool {
        self.data == 0
    }

    /// Where the view begins, in bytes.
    pub fn disp(&self) -> u64 {
        self.disp
    }

    /// The unit of offsets.
    pub fn etype(&self) -> &Datatype {
        &self.etype
    }

    /// What the file is tiled with.
    pub fn filetype(&self) -> &Datatype {
        &self.filetype
    }

    /// How values are written.
    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// Bytes of an etype in the file.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The byte of the file at which a data byte lies, if the data is one block without end: no
    /// access has several pieces then.
    pub(crate) fn offset_in_block(&self, data: u64) -> Option<u64> {
        self.is_contiguous.then(|| self.disp + data)
    }

    /// The pieces of a range of data bytes, neighbours joined.
    pub fn pieces(&self, from: u64, bytes: u64) -> Pieces<'_> {
        let (tile, inside) = if self.is_contiguous || self.is_empty() {
            (0, 0)
        } else {
            (from / self.data, from % self.data)
        };
        Pieces {
            view: self,
            tile,
            cursor: Cursor::at(&self.layout, inside),
            from,
            left: bytes,
            ahead: None,
        }
    }

    /// The same bytes as [`View::pieces`] gives, as blocks at constant distances where the filetype
    /// has such: a gigabyte of every second double is one call of `visit`.
    pub(crate) fn blocks(&self, from: u64, bytes: u64, mut visit: impl FnMut(Blocks)) {
        let mut one = |offset, block| {
            visit(Blocks {
                offset,
                block,
                stride: block,
                count: 1,
            });
        };
        if self.is_contiguous || bytes == 0 {
            if bytes > 0 {
                one(self.disp + from, bytes);
            }
            return;
        }
        let (mut tile, inside, mut left) = (from / self.data, from % self.data, bytes);
        let begin = |tile: u64| self.disp + tile * self.extent;
        if let Some((offset, _)) = self.layout.contiguous() {
            // Every tile is one block: the rest of the first, whole ones, and a part of the last.
            let offset = offset as u64;
            if inside > 0 {
                let some = left.min(self.data - inside);
                one(begin(tile) + offset + inside, some);
                left -= some;
                tile += 1;
            }
            let (count, rest) = (left / self.data, left % self.data);
            if count > 0 {
                visit(Blocks {
                    offset: begin(tile) + offset,
                    block: self.data,
                    stride: self.extent,
                    count,
                });
            }
            if rest > 0 {
                visit(Blocks {
                    offset: begin(tile + count) + offset,
                    block: rest,
                    stride: rest,
                    count: 1,
                });
            }
            return;
        }
        let mut cursor = Cursor::at(&self.layout, inside);
        while left > 0 {
            let limit = usize::try_from(left).unwrap_or(usize::MAX);
            let Some(strip) = cursor.strip(limit) else {
                tile += 1;
                cursor.seek(0);
                continue;
            };
            left -= strip.bytes() as u64;
            let block = strip.block as u64;
            match strip.places {
                Places::Even {
                    offset,
                    stride,
                    count,
                } if count > 1 => visit(Blocks {
                    offset: begin(tile) + offset as u64,
                    block,
                    stride: stride as u64,
                    count: count as u64,
                }),
                _ => (0..strip.count()).for_each(|index| {
                    visit(Blocks {
                        offset: begin(tile) + strip.offset(index) as u64,
                        block,
                        stride: block,
                        count: 1,
                    });
                }),
            }
        }
    }

    /// The byte of the file at which a data byte lies; of the byte behind the last of a tile, that
    /// is in the next tile. A view without data has its beginning only.
    pub fn byte_of(&self, data: u64) -> u64 {
        if self.is_empty() {
            return self.disp;
        }
        let piece = self.pieces(data, 1).next();
        piece.expect("a range of one byte has a piece").offset
    }

    /// The range of the file from the first to the last byte of a range of data, which has some.
    pub(crate) fn reach(&self, from: u64, bytes: u64) -> Piece {
        let (mut begin, mut end) = (u64::MAX, 0);
        if self.is_ascending {
            begin = self.byte_of(from);
            end = self.byte_of(from + bytes - 1) + 1;
        } else {
            for piece in self.pieces(from, bytes) {
                begin = begin.min(piece.offset);
                end = end.max(piece.end());
            }
        }
        Piece {
            offset: begin,
            bytes: end - begin,
        }
    }

    /// The offset of the first etype that begins at a byte of the file or behind it; `None` if none
    /// does.
    pub fn etype_from(&self, offset: u64) -> Option<u64> {
        if self.is_ascending {
            return Some(self.data_before(offset).div_ceil(self.unit));
        }
        let inside = offset.saturating_sub(self.disp);
        let runs = || Cursor::new(&self.layout).runs();
        // No etype of a copy begins behind this; so the copies before are passed over.
        let far = runs()
            .map(|run| run.offset as u64 + run.bytes as u64)
            .max()?;
        let first = match inside.saturating_sub(far) {
            0 => 0,
            missing if self.extent > 0 => missing.div_ceil(self.extent),
            _ => return None,
        };
        // From some copy on all begin behind the byte, unless all lie at one place.
        let last = match self.extent {
            0 => first,
            extent => first.max(inside.div_ceil(extent)),
        };
        (first..=last).find_map(|tile| {
            let mut data = 0;
            for run in runs() {
                let (begin, bytes) = (tile * self.extent + run.offset as u64, run.bytes as u64);
                // The first etype that begins in this run, and behind the byte.
                let skipped = inside.saturating_sub(begin);
                let etype = (data + skipped).div_ceil(self.unit);
                if etype * self.unit < data + bytes {
                    return Some(tile * (self.data / self.unit) + etype);
                }
                data += bytes;
            }
            None
        })
    }

    /// How many data bytes lie before a byte of the file; of an ascending view.
    pub fn data_before(&self, offset: u64) -> u64 {
        let Some(inside) = offset.checked_sub(self.disp) else {
            return 0;
        };
        if self.is_empty() {
            return 0;
        }
        if self.is_contiguous {
            return inside;
        }
        // Data may begin any number of extents behind the tile, but span no more than one: all
        // tiles before the one in whose data, or behind whose data, the byte lies are complete.
        let mut runs = Cursor::new(&self.layout).runs();
        let first = runs.next().map_or(0, |run| run.offset as u64);
        let last = match inside.saturating_sub(first) {
            _ if self.is_single => 0,
            behind => behind / self.extent,
        };
        let mut before = last * self.data;
        for run in Cursor::new(&self.layout).runs() {
            let begin = last * self.extent + run.offset as u64;
            before += inside.saturating_sub(begin).min(run.bytes as u64);
        }
        before
    }
}

/// The pieces of a range of data; see [`View::pieces`].
pub struct Pieces<'v> {
    view: &'v View,
    tile: u64,
    cursor: Cursor<'v>,
    from: u64,
    left: u64,
    ahead: Option<Piece>,
}

impl Pieces<'_> {
    fn next_run(&mut self) -> Option<Piece> {
        if self.left == 0 {
            return None;
        }
        let view = self.view;
        if view.is_contiguous {
            let bytes = std::mem::take(&mut self.left);
            let offset = view.disp + self.from;
            return Some(Piece { offset, bytes });
        }
        let limit = usize::try_from(self.left).unwrap_or(usize::MAX);
        let run = match self.cursor.run(limit) {
            Some(run) => run,
            None => {
                self.tile += 1;
                self.cursor.seek(0);
                self.cursor.run(limit)?
            }
        };
        self.left -= run.bytes as u64;
        Some(Piece {
            offset: view.disp + self.tile * view.extent + run.offset as u64,
            bytes: run.bytes as u64,
        })
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let mut piece = match self.ahead.take() {
            Some(piece) => piece,
            None => self.next_run()?,
        };
        while let Some(next) = self.next_run() {
            if next.offset != piece.end() {
                self.ahead = Some(next);
                break;
            }
            piece.bytes += next.bytes;
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
