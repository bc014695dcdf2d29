//! The functions of this program: where they begin, how long they are, and whom they call.

use std::collections::{BTreeMap, BTreeSet};

use object::{File, Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::harness::BoxError;

/// What the symbol table says of a function.
#[derive(Debug)]
struct Function {
    name: String,
    bytes: u64,
}

/// The functions of this program, by their addresses in its file.
#[derive(Debug)]
pub(super) struct Functions {
    by_address: BTreeMap<u64, Function>,
    code: Vec<Code>,
    /// An address while it runs is that of the file, and so much more.
    moved_by: u64,
}

/// A section of code, and its address in the file.
#[derive(Debug)]
struct Code {
    address: u64,
    bytes: Vec<u8>,
}

/// The address of a function while the program runs.
pub(super) fn address_of(function: *const ()) -> u64 {
    function.addr() as u64
}

/// A function whose place tells how far the program was moved when it was loaded.
#[inline(never)]
fn anchor_of_the_symbol_table() {
    std::hint::black_box(());
}

impl Functions {
    /// Reads this program's own file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is of a format without sizes of functions, or has no symbols any more.
    pub(super) fn of_this_program() -> Result<Self, BoxError> {
        let path = std::env::current_exe()?;
        let data = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut functions = Self::of(&data)?;
        let name = "anchor_of_the_symbol_table";
        let mut anchors = functions.by_address.iter().filter(|(_, function)| function.name.contains(name));
        let (Some((&address, _)), None) = (anchors.next(), anchors.next()) else {
            return Err(format!("{} was stripped of its symbols", path.display()).into());
        };
        // It is called too, so that it is there.
        anchor_of_the_symbol_table();
        functions.moved_by = address_of(anchor_of_the_symbol_table as fn() as *const ()).wrapping_sub(address);
        Ok(functions)
    }

    /// The functions in a program's file.
    fn of(data: &[u8]) -> Result<Self, BoxError> {
        let file =
            File::parse(data).map_err(|error| format!("this program's file has another format than ELF: {error}"))?;
        let named = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let functions = named.filter_map(|symbol| {
            let function = Function { name: symbol.name().ok()?.to_owned(), bytes: symbol.size() };
            Some((symbol.address(), function))
        });
        let sections = file.sections().filter(|section| section.kind() == object::SectionKind::Text);
        let code = sections
            .filter_map(|section| Some(Code { address: section.address(), bytes: section.data().ok()?.to_vec() }));
        Ok(Self { by_address: functions.collect(), code: code.collect(), moved_by: 0 })
    }

    /// How many bytes the function at `running` has, an address while the program runs.
    pub(super) fn size(&self, running: u64) -> Result<u64, BoxError> {
        let function = self.by_address.get(&running.wrapping_sub(self.moved_by));
        function.map(|function| function.bytes).ok_or_else(|| "the function has no symbol".into())
    }

    /// How many bytes the functions of the crate `home` have that the one at `running` reaches by direct calls and jumps, without itself.
    /// Nothing where calls are not known how to be read.
    pub(super) fn reached(&self, running: u64, home: &str) -> Option<u64> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        // As both ways of mangling have it.
        let home = format!("{}{home}", home.len());
        let start = running.wrapping_sub(self.moved_by);
        let (mut seen, mut left) = (BTreeSet::from([start]), vec![start]);
        while let Some(at) = left.pop() {
            let new = self.called_by(at).filter(|address| self.by_address[address].name.contains(&home));
            left.extend(new.filter(|&address| seen.insert(address)));
        }
        seen.remove(&start);
        Some(seen.iter().map(|address| self.by_address[address].bytes).sum())
    }

    /// The functions that the one at `at` calls or jumps to: four bytes behind an opcode that lead to where one begins. What looks like that and
    /// is none would have to lead to the beginning of a function by chance.
    fn called_by(&self, at: u64) -> impl Iterator<Item = u64> {
        let bytes = self.code_of(at);
        let targets = bytes.windows(5).enumerate().filter_map(move |(offset, window)| {
            let opcode = (offset > 0 && bytes[offset - 1] == 0x0f && window[0] & 0xf0 == 0x80) // a jump on a condition
                || matches!(window[0], 0xe8 | 0xe9); // a call, a jump
            let distance = i32::from_le_bytes([window[1], window[2], window[3], window[4]]);
            let target = at.wrapping_add(offset as u64 + 5).wrapping_add_signed(distance.into());
            (opcode && self.by_address.contains_key(&target)).then_some(target)
        });
        targets.collect::<Vec<_>>().into_iter()
    }

    /// The code of the function at `at`.
    fn code_of(&self, at: u64) -> &[u8] {
        let bytes = self.by_address[&at].bytes as usize;
        let mut sections = self.code.iter();
        let found = sections.find_map(|section| {
            let start = usize::try_from(at.checked_sub(section.address)?).ok()?;
            section.bytes.get(start..start + bytes)
        });
        found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[inline(never)]
    fn callee(n: u64) -> u64 {
        (0..n).map(|n| black_box(n * n)).sum()
    }

    #[inline(never)]
    fn caller(n: u64) -> u64 {
        callee(n) + 1
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_function_has_its_size_and_what_it_calls_in_its_crate_and_no_other() {
        let functions = Functions::of_this_program().unwrap();
        assert_eq!(black_box(caller as fn(u64) -> u64)(3), 6);
        let at = |function: fn(u64) -> u64| address_of(function as *const ());
        let (caller, callee) = (at(caller), at(callee));
        assert!((1..1000).contains(&functions.size(caller).unwrap()));
        assert!(functions.size(caller + 1).is_err());
        if cfg!(target_arch = "x86_64") {
            assert!(functions.reached(caller, env!("CARGO_CRATE_NAME")).unwrap() >= functions.size(callee).unwrap());
            assert_eq!(functions.reached(caller, "no_such_crate"), Some(0));
        }
    }

    #[test]
    fn a_program_without_symbols_has_no_functions() {
        let error = Functions::of(b"#!/bin/sh\n").unwrap_err().to_string();
        assert!(error.contains("another format"), "{error}");
        let mut stripped = object_without_symbols();
        let functions = Functions::of(&stripped).unwrap();
        assert!(functions.by_address.is_empty());
        stripped.truncate(10);
        assert!(Functions::of(&stripped).is_err());
    }

    /// The smallest file of the format: its head.
    fn object_without_symbols() -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (head[16], head[18], head[20], head[52]) = (2, 62, 1, 64);
        head
    }
}
