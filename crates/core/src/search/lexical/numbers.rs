//! How documents are numbered inside of an index: in order of (server, name), so that a server is a range; and how the
//! numbers of one index become those of the next, which holds most of the same documents.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use super::prepare::Prepared;
use crate::ContentHash;

/// Stands for a number where there is none.
pub(super) const GONE: u32 = u32::MAX;

/// The numbers of an index.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// What tells the documents given apart, by position.
    keys: Vec<ContentHash>,
    /// Number by position; [`GONE`] for a document without a name, which is in no index.
    of_position: Vec<u32>,
    /// Position by number.
    pub(super) given: Vec<u32>,
    /// Place among all names in order, by number.
    pub(super) place: Vec<u32>,
    /// Number by place.
    pub(super) by_place: Vec<u32>,
}

/// From the numbers of an earlier index to those of the next.
#[derive(Debug, Default)]
pub(super) struct Renumbered {
    /// New number by old one; [`GONE`] for a document that is not there any more. Ascending apart from those.
    pub(super) new: Vec<u32>,
    /// New numbers of the documents that were not there, ascending.
    pub(super) added: Vec<u32>,
}

impl Numbers {
    /// The old number of each of the documents that `keys` tell apart, [`GONE`] for those that are not there. None is given
    /// twice.
    pub(super) fn recognise(&self, keys: &[ContentHash]) -> Vec<u32> {
        // Sources follow one another, so that one changed source leaves what is before it and behind it.
        let same = |pair: &(&ContentHash, &ContentHash)| pair.0 == pair.1;
        let before = self.keys.iter().zip(keys).take_while(same).count();
        let (old, new) = (&self.keys[before..], &keys[before..]);
        let behind = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
        let (old, new) = (&old[..old.len() - behind], &new[..new.len() - behind]);
        let mut known: HashMap<ContentHash, u32> = HashMap::new();
        if !new.is_empty() {
            known.extend(old.iter().zip(&self.of_position[before..]).map(|(key, number)| (*key, *number)));
        }
        let mut out = Vec::with_capacity(keys.len());
        out.extend_from_slice(&self.of_position[..before]);
        out.extend(new.iter().map(|key| known.remove(key).unwrap_or(GONE)));
        out.extend_from_slice(&self.of_position[self.of_position.len() - behind..]);
        out
    }

    /// Numbers `all`, of which those at the positions with an `old` number keep their order. Also gives the documents by
    /// number.
    pub(super) fn after(
        earlier: &Self,
        keys: Vec<ContentHash>,
        old: &[u32],
        all: &[Arc<Prepared>],
    ) -> (Self, Renumbered, Vec<Arc<Prepared>>) {
        let mut position = vec![GONE; earlier.given.len()];
        let mut added = Vec::new();
        for ((at, &old), document) in (0u32..).zip(old).zip(all) {
            match position.get_mut(old as usize) {
                Some(place) => *place = at,
                None if document.name.is_empty() => {}
                None => added.push(at),
            }
        }
        let by_name = |a: &u32, b: &u32| {
            let (x, y) = (&all[*a as usize], &all[*b as usize]);
            (x.server.cmp(&y.server)).then_with(|| x.name.cmp(&y.name)).then(a.cmp(b))
        };
        added.sort_by(by_name);
        let mut kept: Vec<u32> = position.iter().copied().filter(|at| *at != GONE).collect();
        // Documents of one name and server go by position, which may have changed.
        if kept.windows(2).any(|pair| pair[0] > pair[1] && by_name(&pair[0], &pair[1]) == Ordering::Greater) {
            kept.sort_by(by_name);
            position.fill(GONE);
            added = merge(&kept, &added, by_name);
            kept.clear();
        }
        let given = merge(&kept, &added, by_name);
        let mut of_position = vec![GONE; all.len()];
        for (number, &at) in (0u32..).zip(&given) {
            of_position[at as usize] = number;
        }
        let number = |at: u32| if at == GONE { GONE } else { of_position[at as usize] };
        let new: Vec<u32> = position.iter().map(|&at| number(at)).collect();
        let added: Vec<u32> = added.iter().map(|&at| number(at)).collect();
        let documents: Vec<Arc<Prepared>> = given.iter().map(|&at| Arc::clone(&all[at as usize])).collect();

        let by_name = |a: &u32, b: &u32| documents[*a as usize].name.cmp(&documents[*b as usize].name).then(a.cmp(b));
        let kept = earlier.by_place.iter().map(|&old| new[old as usize]).filter(|number| *number != GONE);
        let kept: Vec<u32> = kept.collect();
        let mut named = added.clone();
        named.sort_by(by_name);
        let by_place = merge(&kept, &named, by_name);
        let mut place = vec![0; by_place.len()];
        for (at, &number) in (0u32..).zip(&by_place) {
            place[number as usize] = at;
        }
        (Self { keys, of_position, given, place, by_place }, Renumbered { new, added }, documents)
    }

    /// Number of the document at a position of those given.
    pub(super) fn at(&self, position: usize) -> Option<u32> {
        self.of_position.get(position).copied().filter(|number| *number != GONE)
    }
}

/// Two lists in order as one.
fn merge(old: &[u32], new: &[u32], order: impl Fn(&u32, &u32) -> Ordering) -> Vec<u32> {
    let mut out = Vec::with_capacity(old.len() + new.len());
    let mut rest = old;
    for item in new {
        let before = rest.partition_point(|other| order(other, item) == Ordering::Less);
        out.extend_from_slice(&rest[..before]);
        out.push(*item);
        rest = &rest[before..];
    }
    out.extend_from_slice(rest);
    out
}
