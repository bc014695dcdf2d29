//! What the directory knows about a line.

use super::tags::MAX_LINES;

/// A set of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clusters([u64; Clusters::MAX / 64]);

impl Clusters {
    /// How many clusters a machine may have.
    pub(crate) const MAX: usize = 256;

    #[inline]
    pub(crate) fn contains(&self, cluster: usize) -> bool {
        self.0[cluster / 64] >> (cluster % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, cluster: usize) {
        self.0[cluster / 64] |= 1 << (cluster % 64);
    }

    pub(crate) fn remove(&mut self, cluster: usize) {
        self.0[cluster / 64] &= !(1 << (cluster % 64));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; Self::MAX / 64]
    }

    /// The members, ascending.
    #[inline]
    pub(crate) fn iter(mut self) -> impl Iterator<Item = usize> {
        let mut word = 0;
        std::iter::from_fn(move || {
            while self.0[word] == 0 && word + 1 < self.0.len() {
                word += 1;
            }
            let bits = self.0[word];
            self.0[word] &= bits.wrapping_sub(1);
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// A line in the directory, with what the directory's user keeps there.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    /// Who has it. Exact: clusters tell when they lose a line.
    pub(crate) sharers: Clusters,
    /// The one cluster that has it, and may write it without asking; [`Line::NOBODY`] if there is none.
    pub(crate) owner: u16,
    /// The one cluster that modified it before the others read it, and has it since; [`Line::NOBODY`] if there is none.
    pub(crate) author: u16,
    /// The dies whose last-level cache has a copy. The copies are the newest value unless the owner has modified it.
    pub(crate) copies: u8,
    /// The die whose copy is newer than memory, or [`Line::CLEAN`].
    pub(crate) dirty: u8,
    pub(crate) user: T,
}

impl<T> Line<T> {
    pub(crate) const NOBODY: u16 = u16::MAX;
    pub(crate) const CLEAN: u8 = u8::MAX;

    pub(crate) fn owner(&self) -> Option<usize> {
        (self.owner != Self::NOBODY).then_some(self.owner as usize)
    }

    /// No last-level copy is worth anything any more.
    pub(crate) fn forget_copies(&mut self) {
        self.copies = 0;
        self.dirty = Self::CLEAN;
    }

    pub(crate) fn has_copy(&self, die: usize) -> bool {
        self.copies >> die & 1 == 1
    }
}

impl<T: Default> Default for Line<T> {
    fn default() -> Self {
        let (sharers, user) = (Clusters::default(), T::default());
        Self { sharers, owner: Self::NOBODY, author: Self::NOBODY, copies: 0, dirty: Self::CLEAN, user }
    }
}

/// How many lines a page has. A page is 4 KiB: what the system gives a home in memory.
pub(crate) const PAGE: u32 = 64;

/// The first number of a line that is no allocation (`names`).
pub(crate) const STRAYS: u32 = MAX_LINES / 2;

/// The lines of a page, and the die whose memory it is in.
#[derive(Clone, Debug)]
struct Page<T> {
    lines: [Line<T>; PAGE as usize],
    home: u8,
}

/// All lines that were ever accessed. Pages appear when they are first touched, in the memory of who touches them.
#[derive(Clone, Debug)]
pub(crate) struct Directory<T> {
    /// Those of allocations, and those from [`STRAYS`] on.
    pages: [Vec<Option<Box<Page<T>>>>; 2],
}

impl<T: Default> Directory<T> {
    pub(crate) fn new() -> Self {
        Self { pages: [Vec::new(), Vec::new()] }
    }

    /// Makes sure that `line` exists; if not, its page comes to the memory of `die`.
    #[inline]
    pub(crate) fn visit(&mut self, line: u32, die: usize) {
        if !self.knows(line) {
            self.first_touch(line, die);
        }
    }

    /// Where the page of `line` is.
    #[inline]
    fn index(line: u32) -> (usize, usize) {
        ((line / STRAYS) as usize, (line % STRAYS / PAGE) as usize)
    }

    #[inline]
    fn slot(&self, line: u32) -> Option<&Page<T>> {
        let (kind, page) = Self::index(line);
        self.pages[kind].get(page)?.as_deref()
    }

    /// True if the page of `line` has been visited.
    #[inline]
    pub(crate) fn knows(&self, line: u32) -> bool {
        self.slot(line).is_some()
    }

    #[cold]
    fn first_touch(&mut self, line: u32, die: usize) {
        let (kind, page) = Self::index(line);
        let pages = &mut self.pages[kind];
        if pages.len() <= page {
            pages.resize_with(page + 1, || None);
        }
        let lines = std::array::from_fn(|_| Line::default());
        pages[page] = Some(Box::new(Page { lines, home: die as u8 }));
    }

    /// The die whose memory `line` is in.
    pub(crate) fn home(&self, line: u32) -> usize {
        self.page(line).home as usize
    }

    #[inline]
    fn page(&self, line: u32) -> &Page<T> {
        self.slot(line).expect("the line was visited")
    }

    #[inline]
    pub(crate) fn get(&self, line: u32) -> &Line<T> {
        &self.page(line).lines[(line % PAGE) as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, line: u32) -> &mut Line<T> {
        self.find_mut(line).expect("the line was visited")
    }

    /// `line`, if it was visited.
    #[inline]
    pub(crate) fn find_mut(&mut self, line: u32) -> Option<&mut Line<T>> {
        let (kind, page) = Self::index(line);
        let page = self.pages[kind].get_mut(page)?.as_mut()?;
        Some(&mut page.lines[(line % PAGE) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_clusters() {
        let mut set = Clusters::default();
        assert!(set.is_empty());
        [255, 0, 64, 63].into_iter().for_each(|cluster| set.insert(cluster));
        assert!(set.iter().eq([0, 63, 64, 255]));
        set.remove(63);
        assert!(set.contains(64) && !set.contains(63));
        assert!(set.iter().eq([0, 64, 255]));
    }

    #[test]
    fn a_page_belongs_to_who_touches_it_first() {
        let mut directory = Directory::<()>::new();
        directory.visit(PAGE + 3, 1);
        directory.visit(PAGE, 0);
        directory.visit(0, 2);
        directory.visit(STRAYS + PAGE, 3);
        assert_eq!((directory.home(PAGE), directory.home(PAGE + 3), directory.home(1)), (1, 1, 2));
        assert_eq!(directory.home(STRAYS + PAGE + 3), 3);
        assert!(!directory.knows(STRAYS));
    }
}
