//! Messages of any type that serde knows (feature `serde`): encoded by postcard, sent as bytes.
//!
//! Numbers and structs of numbers travel faster as they are; this is for what has pointers in it:
//! strings, vectors of vectors, enums, maps. Sender and receiver name the same type, built by the
//! same program: the encoding says nothing of it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::collective::Root;
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::status::{Source, Status, Tag};
use crate::thread::Level;

/// Said instead of a length by who could not encode its object.
const FAILED: u64 = u64::MAX;

fn encode<T: Serialize + ?Sized>(object: &T) -> Result<Vec<u8>, ErrorKind> {
    postcard::to_stdvec(object).map_err(|error| ErrorKind::Encode {
        of: std::any::type_name::<T>(),
        why: error.to_string(),
    })
}

fn decode<T: DeserializeOwned>(bytes: &[u8], from: u32) -> Result<T, ErrorKind> {
    postcard::from_bytes(bytes).map_err(|error| ErrorKind::Decode {
        to: std::any::type_name::<T>(),
        bytes: bytes.len() as u64,
        from,
        why: error.to_string(),
    })
}

impl<L: Level> Communicator<'_, L> {
    /// Sends an object to rank `dest`, which receives it by
    /// [`recv_object`](Communicator::recv_object).
    ///
    /// ```no_run
    /// # use std::collections::BTreeMap;
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let words = BTreeMap::from([("colour".to_owned(), vec![1, 2]), ("shape".to_owned(), vec![])]);
    /// if world.rank() == 0 {
    ///     world.send_object(&words, 1, 7)?;
    /// } else {
    ///     let (words, status) = world.recv_object::<BTreeMap<String, Vec<u32>>>(0, 7)?;
    ///     println!("{words:?} in {} bytes", status.bytes);
    /// }
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn send_object<T: Serialize + ?Sized>(
        &self,
        object: &T,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<()> {
        let bytes = encode(object).map_err(|kind| self.fail("send_object", kind))?;
        self.send(&bytes[..], dest, tag)
    }

    /// Receives an object; there is one, so `source` cannot be nobody.
    pub fn recv_object<T: DeserializeOwned>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(T, Status)> {
        let (bytes, status) = self.recv_vec::<u8>(source, tag)?;
        let object = decode(&bytes, status.source);
        Ok((
            object.map_err(|kind| self.fail("recv_object", kind))?,
            status,
        ))
    }

    /// Copies the root's object to every rank; the root passes `Some`, the others `None`.
    pub fn bcast_object<T: Serialize + DeserializeOwned>(
        &self,
        object: Option<T>,
        root: u32,
    ) -> Result<T> {
        let fail = |kind| self.fail("bcast_object", kind);
        if self.rank() != root {
            let mut length = FAILED;
            self.bcast(&mut length, root)?;
            let mut bytes = self.room_for(length, root).map_err(fail)?;
            self.bcast(&mut bytes, root)?;
            return decode(&bytes, root).map_err(fail);
        }
        let buffer = "object";
        let given = object.ok_or(ErrorKind::RootBuffer { buffer, root });
        let encoded = given.and_then(|object| Ok((encode(&object)?, object)));
        let mut length = encoded
            .as_ref()
            .map_or(FAILED, |(bytes, _)| bytes.len() as u64);
        // The others are told in any case, or they would wait.
        self.bcast(&mut length, root)?;
        let (mut bytes, object) = encoded.map_err(fail)?;
        self.bcast(&mut bytes, root)?;
        Ok(object)
    }

    /// Brings every rank's object to the root, in the order of the ranks; the others get `None`.
    pub fn gather_object<T: Serialize + DeserializeOwned>(
        &self,
        object: &T,
        root: u32,
    ) -> Result<Option<Vec<T>>> {
        let fail = |kind| self.fail("gather_object", kind);
        let (bytes, lengths) = self.told(object, "gather_object")?;
        if self.rank() != root {
            self.gatherv(&bytes[..], None, Root::Rank(root))?;
            return Ok(None);
        }
        let (displacements, mut all) = self.places(&lengths).map_err(fail)?;
        let parts = (&mut all[..], &lengths[..], &displacements[..]);
        self.gatherv(&bytes[..], Some(parts), Root::Rank(root))?;
        objects(&all, &lengths, &displacements)
            .map(Some)
            .map_err(fail)
    }

    /// Brings every rank's object to every rank, in the order of the ranks.
    pub fn allgather_object<T: Serialize + DeserializeOwned>(&self, object: &T) -> Result<Vec<T>> {
        let fail = |kind| self.fail("allgather_object", kind);
        let (bytes, lengths) = self.told(object, "allgather_object")?;
        let (displacements, mut all) = self.places(&lengths).map_err(fail)?;
        self.allgatherv(&bytes[..], &mut all, &lengths, &displacements)?;
        objects(&all, &lengths, &displacements).map_err(fail)
    }

    /// Deals out the root's objects, one for each rank; the root passes `Some`, the others `None`.
    pub fn scatter_object<T: Serialize + DeserializeOwned>(
        &self,
        objects: Option<&[T]>,
        root: u32,
    ) -> Result<T> {
        let fail = |kind| self.fail("scatter_object", kind);
        let (mut own, mut dealt) = (FAILED, None);
        if self.rank() == root {
            let encoded = self.encoded_for_all(objects);
            let lengths = match &encoded {
                Ok(all) => all.iter().map(|bytes| bytes.len() as u64).collect(),
                Err(_) => vec![FAILED; self.size() as usize],
            };
            self.scatter(Some(&lengths), &mut own, root)?;
            dealt = Some(encoded.map_err(fail)?);
        } else {
            self.scatter(None, &mut own, root)?;
        }
        let mut bytes = self.room_for(own, root).map_err(fail)?;
        match dealt {
            None => self.scatterv(None, &mut bytes, root)?,
            Some(all) => {
                let counts: Vec<usize> = all.iter().map(Vec::len).collect();
                let (displacements, _) = self.places(&counts).map_err(fail)?;
                let together = all.concat();
                let parts = (&together[..], &counts[..], &displacements[..]);
                self.scatterv(Some(parts), &mut bytes, root)?;
            }
        }
        decode(&bytes, root).map_err(fail)
    }

    fn encoded_for_all<T: Serialize>(
        &self,
        objects: Option<&[T]>,
    ) -> Result<Vec<Vec<u8>>, ErrorKind> {
        let (buffer, root, size) = ("objects", self.rank(), self.size());
        let objects = objects.ok_or(ErrorKind::RootBuffer { buffer, root })?;
        if objects.len() != size as usize {
            let (list, got) = ("objects", objects.len());
            return Err(ErrorKind::PerRank { list, got, size });
        }
        objects.iter().map(encode).collect()
    }

    /// This rank's object, encoded, and the lengths of everybody's.
    fn told<T: Serialize>(&self, object: &T, call: &'static str) -> Result<(Vec<u8>, Vec<usize>)> {
        let encoded = encode(object);
        let length = encoded.as_ref().map_or(FAILED, |bytes| bytes.len() as u64);
        let lengths = self.allgather_one(length)?;
        let bytes = encoded.map_err(|kind| self.fail(call, kind))?;
        if let Some(peer) = (0..).zip(&lengths).find(|&(_, &length)| length == FAILED) {
            return Err(self.fail(call, ErrorKind::PeerEncode { peer: peer.0 }));
        }
        Ok((
            bytes,
            lengths.into_iter().map(|length| length as usize).collect(),
        ))
    }

    /// Where objects of these lengths lie one after the other, and room for them.
    fn places(&self, lengths: &[usize]) -> Result<(Vec<usize>, Vec<u8>), ErrorKind> {
        let mut end = 0usize;
        let mut places = Vec::with_capacity(lengths.len());
        for length in lengths {
            places.push(end);
            end = end.saturating_add(*length);
        }
        Ok((places, crate::buffer::memory(end as u64)?))
    }

    fn room_for(&self, length: u64, root: u32) -> Result<Vec<u8>, ErrorKind> {
        match length {
            FAILED => Err(ErrorKind::PeerEncode { peer: root }),
            length => Ok(crate::buffer::memory(length)?),
        }
    }
}

fn objects<T: DeserializeOwned>(
    all: &[u8],
    lengths: &[usize],
    places: &[usize],
) -> Result<Vec<T>, ErrorKind> {
    let each = (0..).zip(lengths.iter().zip(places));
    each.map(|(rank, (&length, &place))| decode(&all[place..place + length], rank))
        .collect()
}
