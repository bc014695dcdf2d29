//! The notation of litmus tests: what is read, and what is refused with which words.

use thalweg_check::litmus::{Expression, Machine, Order, Test, Update, read};

const RC11: &str = include_str!("../litmus/rc11.litmus");

fn one(text: &str) -> Test {
    let entries = read("test", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(entries.len(), 1);
    entries.into_iter().next().unwrap()
}

#[test]
fn the_published_file_is_read_whole() {
    let entries = read("rc11.litmus", RC11).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(entries.len(), 161);
    assert_eq!(entries.iter().filter(|entry| entry.executions.is_none()).count(), 18);
    assert_eq!(entries.iter().filter(|entry| entry.race).count(), 21);
    assert_eq!(entries.iter().filter(|entry| entry.fails).count(), 2);
    let names_and_counts = |entry: &Test| (entry.name.clone(), entry.also.clone());
    let also = entries.iter().filter(|entry| !entry.also.is_empty()).map(names_and_counts).collect::<Vec<_>>();
    assert_eq!(also, [("WWmerge1".to_owned(), vec![18]), ("Z6.U".to_owned(), vec![24])]);
    for entry in &entries {
        if let (Some(outcomes), Some(distinct)) = (&entry.outcomes, entry.distinct) {
            assert_eq!(outcomes.len() as u64, distinct, "{}", entry.name);
        }
        if let (Some(outcomes), Some(count), true) = (&entry.outcomes, entry.executions, entry.also.is_empty()) {
            assert_eq!(outcomes.values().sum::<u64>(), count, "{}", entry.name);
        }
    }
}

/// Runs alone: every load reads what was stored last.
struct Alone(Vec<i64>);

impl Machine for Alone {
    type Stop = String;

    fn load(&mut self, location: usize, _: Order) -> Result<i64, String> {
        Ok(self.0[location])
    }

    fn store(&mut self, location: usize, value: i64, _: Order) -> Result<(), String> {
        self.0[location] = value;
        Ok(())
    }

    fn modify(
        &mut self,
        location: usize,
        update: Update,
        operand: i64,
        _: std::sync::atomic::Ordering,
    ) -> Result<i64, String> {
        let old = self.0[location];
        self.0[location] = update.apply(old, operand);
        Ok(old)
    }

    fn compare_exchange(
        &mut self,
        location: usize,
        [old, new]: [i64; 2],
        _: std::sync::atomic::Ordering,
        _: std::sync::atomic::Ordering,
    ) -> Result<i64, String> {
        let read = self.0[location];
        if read == old {
            self.0[location] = new;
        }
        Ok(read)
    }

    fn fence(&mut self, _: std::sync::atomic::Ordering) -> Result<(), String> {
        Ok(())
    }

    fn spawn(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn join(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn assume(&mut self, holds: bool) -> Result<(), String> {
        if holds { Ok(()) } else { Err("assume".to_owned()) }
    }

    fn assert(&mut self, holds: bool) -> Result<(), String> {
        if holds { Ok(()) } else { Err("assert".to_owned()) }
    }
}

/// The final registers, by name, and locations of a program of one thread.
fn run(init: &str, body: &str) -> (Vec<(String, Option<i64>)>, Vec<i64>) {
    let entry = one(&format!("name: t\ninit: {init}\nT0: {body}"));
    let thread = &entry.program.threads[0];
    let mut machine = Alone(entry.program.locations.iter().map(|location| location.initial).collect());
    let mut registers = vec![None; thread.registers.len()];
    thread.run(&mut registers, &mut machine).unwrap();
    (thread.registers.iter().cloned().zip(registers).collect(), machine.0)
}

#[test]
fn statements_do_what_the_table_says() {
    let (registers, memory) = run(
        "x=3 a[3]=0",
        "r = R x rlx ; W a[r-1] (r*2) rel
         s = add x 4 acqrel ; t = sub x 1 sc ; u = xchg x 9 rlx
         v = cas x 8 1 rlx rlx ; w = cas x 9 1 sc acq ; F sc
         if r == 3 { y = 1 } else { y = 2 }
         repeat i = 0..5 { if i == 2 { break } ; W a[i] (i+10) rlx }
         repeat 3 { n = xchg a[0] 7 rlx }
         if 0 { z = 1 }
         return
         W x 100 rlx",
    );
    let register = |name: &str| registers.iter().find(|(known, _)| known == name).unwrap().1;
    let wanted = [("r", 3), ("s", 3), ("t", 7), ("u", 6), ("v", 9), ("w", 9), ("y", 1), ("i", 2), ("n", 7)];
    for (name, value) in wanted {
        assert_eq!(register(name), Some(value), "{name}");
    }
    assert_eq!(register("z"), None, "never set");
    assert_eq!(memory, [1, 7, 11, 6]);
}

#[test]
fn expressions_bind_as_written() {
    for (text, value) in [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("7-2-1", 4),
        ("-2+5", 3),
        ("!0+1", 2),
        ("1 < 2 && 2 < 1 || 1", 1),
        ("0 || 1 && 0", 0),
        ("5%3^1", 3),
        ("2 >= 2 == 1", 1),
        ("3 != 3", 0),
    ] {
        let (registers, _) = run("", &format!("r = {text}"));
        assert_eq!(registers[0].1, Some(value), "{text}");
    }
}

#[test]
fn blocked_and_failing_threads_stop() {
    let entry = one("name: t\nT0: r = 1 ; assume r == 2 ; r = 3");
    let mut registers = [None];
    assert_eq!(entry.program.threads[0].run(&mut registers, &mut Alone(vec![])).unwrap_err(), "assume");
    assert_eq!(registers, [Some(1)]);
}

#[test]
fn a_condition_reads_registers_and_elements() {
    let entry = one("name: t\ninit: a[2]=0 x=5\nT0: r = R a[1] rlx\nforbidden: T0.r == 0 && a[1] == 7 && x == 5");
    assert_eq!(entry.program.columns(), ["T0.r", "a[0]", "a[1]", "x"]);
    let forbidden = entry.forbidden.unwrap();
    assert_eq!(forbidden.value(&[Some(0), Some(0), Some(7), Some(5)]), Some(1));
    assert_eq!(forbidden.value(&[Some(0), Some(7), Some(0), Some(5)]), Some(0));
    assert_eq!(Expression::Variable(0).value(&[None]), None, "never set");
}

#[test]
fn mistakes_are_named_with_the_line_and_a_way_out() {
    let with = |line: &str| format!("# a comment\nname: t\ninit: x=0 y[2]=0\nplain: p=0\nT0: W x 1 rlx\nT1: {line}\n");
    for (text, wanted) in [
        (with("r = R x relaxed"), "bad:6: `relaxed` is no ordering of a load; one of: na rlx acq sc"),
        (with("r = R z rlx"), "bad:6: there is no location `z`; add `z` to `init` (atomic) or `plain`"),
        (with("r = R x na"), "bad:6: a plain access to the atomic location `x`; move the location from `init`"),
        (with("W p 1 rlx"), "bad:6: an atomic access to the plain location `p`; move the location from `plain`"),
        (with("W x r rlx"), "bad:6: the register `r` is never set; set it"),
        (with("W x 1 rlx W x 2 rlx"), "bad:6: found `W`; here comes `;` or the end of the line"),
        (with("F rlx"), "bad:6: `rlx` is no ordering of a fence; one of: acq rel acqrel sc"),
        (with("break"), "bad:6: `break` outside `repeat`"),
        (with("if 1 { W x 1 rlx"), "bad:6: found the end; here comes `}`"),
        (with("r = 1\n  s = R x acq\n  W x $ rlx"), "bad:8: `$` means nothing here"),
        (with("spawn T5"), "bad:6: there is no thread `T5`; threads are T0 to T1"),
        (with("join x"), "bad:6: there is no thread `x`"),
        (with("spawn T0 ; spawn T0"), "bad:6: T0 is started twice"),
        (with("repeat 2 { spawn T0 }"), "bad:6: `spawn` inside `repeat`; give each thread a `spawn` of its own"),
        (with("spawn T1"), "bad:2: T1 is started only by itself, or by threads that it starts; start it from a thread"),
        (
            with("spawn T2\nT2: spawn T3\nT3: spawn T1"),
            "bad:2: T1 is started only by itself, or by threads that it starts",
        ),
        (with("r = cas x 0 1 rlx"), "bad:6: found the end; here comes the ordering of a read-modify-write"),
        (with("r = 99999999999999999999"), "bad:6: `99999999999999999999` is too large"),
        (with("W x 1 rlx\nT3: W x 1 rlx"), "bad:2: T2 is missing; number the threads from T0"),
        (with("W x 1 rlx\nraces: no"), "bad:7: there is no key `races`; keys are: name source"),
        (with("W x 1 rlx\nrace: maybe"), "bad:7: `race: maybe`; one of: no yes"),
        (with("W x 1 rlx\nexecutions: some"), "bad:7: `some` is no count"),
        (with("W x 1 rlx\nforbidden: T0.a == 1"), "bad:7: there is no final value `T0.a`"),
        (with("W x 1 rlx\noutcomes: (x) 1,2"), "bad:7: `1,2` has 2 values for 1 columns"),
        ("name: t".to_owned(), "bad:1: a program without threads"),
        ("T0: W x 1 rlx".to_owned(), "bad:1: an entry without a name"),
        ("  T0: W x 1 rlx".to_owned(), "bad:1: a continued line without a line before"),
        ("name: t\ninit: x\nT0: F sc".to_owned(), "bad:2: `x` declares nothing; write `x=0`"),
        ("name: t\ninit: x=0 x[2]=0\nT0: F sc".to_owned(), "bad:2: `x[2]=0` declares nothing; the name is taken"),
        ("name: t\nT0: F sc\n\nname: t\nT0: F sc".to_owned(), "bad:4: `t` is there already"),
        ("name: t\nT0: F sc\nname: u".to_owned(), "bad:3: a second `name`; a blank line begins the next entry"),
        (with("repeat 2 { }"), "bad:6: `repeat` of nothing; write what is repeated"),
        (
            "name: t\ninit: a[4097]=0\nT0: F sc".to_owned(),
            "bad:2: `a[4097]=0` declares nothing; the length of an array is a number from 1 to 4096",
        ),
        (String::new(), "bad:1: there is no litmus test; begin one with `name: …`"),
        ("# name: t\n\n".to_owned(), "bad:1: there is no litmus test"),
        ("name t".to_owned(), "bad:1: no key in `name t`; write `key: value`"),
    ] {
        let error = read("bad", &text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}\n    wanted: {wanted}");
    }
}
