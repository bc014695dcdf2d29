//! Heaps that a collector marks, made up: which object refers to which.

/// Objects by number; the first one is the root.
pub(crate) struct Heap {
    children: Vec<Vec<u32>>,
}

impl Heap {
    /// The objects to which this one refers.
    pub(crate) fn children(&self, object: u64) -> &[u32] {
        &self.children[object as usize]
    }

    /// How many objects there are. All are reachable.
    pub(crate) fn len(&self) -> usize {
        self.children.len()
    }

    /// Links `objects` objects by `parent`, which says of each but the root who refers to it: one with a lower number.
    fn linked(objects: usize, parent: impl Fn(usize) -> usize) -> Self {
        let mut children = vec![Vec::new(); objects];
        for object in 1..objects {
            children[parent(object)].push(object as u32);
        }
        Self { children }
    }

    /// Sixteen lists behind the root: no more than sixteen objects can be marked at a time.
    pub(crate) fn lists(objects: usize) -> Self {
        Self::linked(objects, |object| object.saturating_sub(16))
    }

    /// Every object refers to two.
    pub(crate) fn tree(objects: usize) -> Self {
        Self::linked(objects, |object| (object - 1) / 2)
    }

    /// Arrays of 256 behind the root.
    pub(crate) fn arrays(objects: usize) -> Self {
        Self::linked(objects, |object| if object % 257 == 1 { 0 } else { (object - 1) / 257 * 257 + 1 })
    }

    /// One list, of which every object has fifteen others.
    pub(crate) fn skewed(objects: usize) -> Self {
        Self::linked(objects, |object| if object % 16 == 0 { object - 16 } else { object / 16 * 16 })
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_reachable_by_one_way() {
        for make in [Heap::lists, Heap::tree, Heap::arrays, Heap::skewed] {
            let heap = make(2000);
            let (mut seen, mut open) = (vec![false; heap.len()], vec![0_u64]);
            while let Some(object) = open.pop() {
                assert!(!std::mem::replace(&mut seen[object as usize], true), "{object} twice");
                open.extend(heap.children(object).iter().map(|&child| u64::from(child)));
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
        assert_eq!(Heap::lists(2000).children(0).len(), 16);
        assert_eq!(Heap::skewed(2000).children(16).len(), 16);
        assert_eq!(Heap::arrays(2000).children(1).len(), 256);
    }
}
