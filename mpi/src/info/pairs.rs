//! The keys of an info object with their values, in the order in which they were set.
//!
//! Every operation takes a time that grows with the logarithm of the number of keys. A removed pair
//! leaves a gap, so that the others keep their places, which `places` knows by their keys; sums
//! over ranges of places (a Fenwick tree) find the n-th key behind the gaps.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Pairs in order.
#[derive(Clone, Default)]
pub(super) struct Pairs {
    list: Vec<Option<Pair>>,
    places: BTreeMap<Arc<[u8]>, usize>,
    /// At `n - 1`, how many of the places from `n - (n & -n)` up to `n` are no gaps.
    sums: Vec<usize>,
}

#[derive(Clone)]
pub(super) struct Pair {
    pub key: Arc<[u8]>,
    pub value: Box<[u8]>,
}

impl Pairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.list.iter().flatten()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let place = *self.places.get(key)?;
        self.list[place].as_ref().map(|pair| &*pair.value)
    }

    /// Gives a key a value; a new key comes last.
    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        if let Some(&place) = self.places.get(key)
            && let Some(pair) = &mut self.list[place]
        {
            pair.value = value.into();
            return;
        }
        let key: Arc<[u8]> = key.into();
        let value = value.into();
        self.push(Pair { key, value });
    }

    fn push(&mut self, pair: Pair) {
        self.places.insert(pair.key.clone(), self.list.len());
        self.list.push(Some(pair));
        let n = self.list.len();
        let mut sum = 1;
        let mut part = 1;
        while part < n & n.wrapping_neg() {
            sum += self.sums[n - part - 1];
            part *= 2;
        }
        self.sums.push(sum);
    }

    /// Takes a key out; false if there is none.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some(place) = self.places.remove(key) else {
            return false;
        };
        self.list[place] = None;
        let mut n = place + 1;
        while n <= self.sums.len() {
            self.sums[n - 1] -= 1;
            n += n & n.wrapping_neg();
        }
        if self.list.len() > 2 * self.places.len() {
            self.close_gaps();
        }
        true
    }

    /// Half of the places are gaps: closing them costs no more than what made them.
    fn close_gaps(&mut self) {
        let list = std::mem::take(self).list;
        list.into_iter().flatten().for_each(|pair| self.push(pair));
    }

    /// The pair with this number.
    pub fn nth(&self, index: usize) -> Option<&Pair> {
        if index >= self.len() {
            return None;
        }
        let mut left = index;
        let mut before = 0;
        let mut part = self.sums.len().next_power_of_two();
        while part > 0 {
            if let Some(&sum) = self.sums.get(before + part - 1)
                && sum <= left
            {
                left -= sum;
                before += part;
            }
            part /= 2;
        }
        self.list[before].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a list does that is searched from its beginning.
    #[test]
    fn pairs_behave_as_a_list() {
        let (mut pairs, mut list) = (Pairs::default(), Vec::<(Vec<u8>, Vec<u8>)>::new());
        let mut seed = 7_u32;
        for round in 0..4000_u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = format!("key {}", (seed >> 16) % 97).into_bytes();
            let at = list.iter().position(|(known, _)| *known == key);
            if seed >> 30 == 0 {
                assert_eq!(pairs.remove(&key), at.is_some());
                at.map(|at| list.remove(at));
            } else {
                let value = round.to_string().into_bytes();
                pairs.set(&key, &value);
                match at {
                    Some(at) => list[at].1 = value,
                    None => list.push((key.clone(), value)),
                }
            }
            let known = list.iter().find(|(known, _)| *known == key);
            assert_eq!(pairs.get(&key), known.map(|(_, value)| &**value));
            let index = (seed >> 8) as usize % (list.len() + 1);
            let nth = pairs.nth(index).map(|pair| pair.key.to_vec());
            assert_eq!(nth, list.get(index).map(|(key, _)| key.clone()));
            assert_eq!(pairs.len(), list.len());
        }
        let all = pairs
            .iter()
            .map(|pair| (pair.key.to_vec(), pair.value.to_vec()));
        assert_eq!(all.collect::<Vec<_>>(), list);
    }
}
