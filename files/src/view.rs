//! A view: which bytes of a file a process sees, in which order (MPI 5.0 §14.3).
//!
//! The file from `disp` on is tiled with copies of the filetype; the bytes that the copies name are
//! the view's *data*, numbered from 0. All of MPI's offsets count etypes in that data. Nothing
//! here touches a file: a range of data bytes goes in, [`Piece`]s of the file come out, in
//! ascending order because the standard wants displacements that do not decrease.

use oxmpi_core::{FileError, FileFault};
use oxmpi_datatypes::datatype::{Cursor, Datatype, Layout, Places};

use crate::failure::fault;
use crate::representation::Representation;

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
    /// Where the data of one filetype lie.
    layout: Layout,
    /// The data is one block without end.
    is_contiguous: bool,
    /// Copies of the filetype overlap, so only the data of the first can be accessed. PnetCDF makes
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
        let wrong = |why: String| fault(FileFault::Argument, "cannot set the view of", why);
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
        if data > 0 && (there.extent() <= 0 || there.true_lb() < 0) {
            return Err(wrong(format!(
                "the filetype begins at byte {} and has an extent of {}; displacements in a file \
                 cannot be negative",
                there.true_lb(),
                there.extent()
            )));
        }
        let layout = there
            .layout(1)
            .map_err(|error| wrong(format!("the filetype cannot be laid out: {error}")))?;
        let view = View {
            disp,
            etype: etype.clone(),
            filetype: filetype.clone(),
            representation,
            unit,
            data,
            extent: there.extent().max(0) as u64,
            is_contiguous: data > 0 && there.is_contiguous() && there.true_lb() == 0,
            layout,
            is_single: false,
        };
        let is_single = data == 0 || view.check_order().map_err(wrong)?;
        Ok(View { is_single, ..view })
    }

    /// Whether a range of data bytes lies where copies of the filetype do not overlap; why not, if
    /// it does not.
    pub(crate) fn check_range(&self, from: u64, bytes: u64) -> Result<(), String> {
        if !self.is_single || bytes == 0 || from + bytes <= self.data {
            return Ok(());
        }
        if self.data == 0 {
            return Err(format!(
                "the access has {bytes} bytes, but the filetype of the view has no data"
            ));
        }
        Err(format!(
            "the access ends at byte {} of the view's data, but the filetype has {} bytes of data \
             and an extent of {}, so that its copies overlap in the file: only the first can be \
             accessed; give the filetype a larger extent (MPI_Type_create_resized)",
            from + bytes,
            self.data,
            self.extent
        ))
    }

    /// Displacements must not decrease. Of two neighbouring pieces, the second begins behind the
    /// first. Returns whether the last of a tile ends behind the first of the next one.
    fn check_order(&self) -> Result<bool, String> {
        if self.is_contiguous {
            return Ok(false);
        }
        let (mut first, mut end) = (None, 0);
        for run in Cursor::new(&self.layout).runs() {
            if run.offset < end {
                return Err(format!(
                    "the filetype goes back from byte {end} to byte {}; its displacements must \
                     not decrease, and its parts must not overlap",
                    run.offset
                ));
            }
            first.get_or_insert(run.offset);
            end = run.offset + run.bytes as i64;
        }
        Ok(end - first.unwrap_or(0) > self.extent as i64)
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

    /// The pieces of a range of data bytes, neighbours joined.
    pub fn pieces(&self, from: u64, bytes: u64) -> Pieces<'_> {
        let (tile, inside) = if self.is_contiguous || self.data == 0 {
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
    /// is in the next tile.
    pub fn byte_of(&self, data: u64) -> u64 {
        if self.data == 0 {
            return self.disp;
        }
        let piece = self.pieces(data, 1).next();
        piece.expect("a range of one byte has a piece").offset
    }

    /// How many data bytes lie before a byte of the file.
    pub fn data_before(&self, offset: u64) -> u64 {
        let Some(inside) = offset.checked_sub(self.disp) else {
            return 0;
        };
        if self.is_contiguous {
            return inside;
        }
        // Tiles may reach beyond their extent: the one before counts, too.
        let last = if self.is_single {
            0
        } else {
            inside / self.extent
        };
        let mut before = last.saturating_sub(1) * self.data;
        for tile in last.saturating_sub(1)..=last {
            for run in Cursor::new(&self.layout).runs() {
                let begin = tile * self.extent + run.offset as u64;
                before += inside.saturating_sub(begin).min(run.bytes as u64);
            }
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
