//! `tasks/parallel`: divide and conquer on two workers, beside rayon and tokio. Each call forks, without a threshold for the sake of the tasks.

use serde_json::json;
use thalweg_task::{Runtime, fork};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::lcg::Lcg;
use crate::machine::{Timing, timed};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "tasks/parallel", plan };

const WORKERS: usize = 2;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let quick = effort.is_quick();
    // Tests have almost no work.
    let is_test = effort.messages(1 << 20) < 1 << 16;
    let size = |full: usize, less: usize| {
        if is_test {
            8
        } else if quick {
            less
        } else {
            full
        }
    };
    let (fibs, queens, matrix) = (size(32, 27), size(12, 10), size(512, 256));
    let numbers = effort.messages(4_000_000) as usize;
    let mut groups = vec![
        Group::new("fib, each call forks", &["ms"], of::<Fib>(fibs)),
        Group::new("n queens, each place forks", &["ms"], of::<Queens>(queens)),
        Group::new("quicksort, down to 64 numbers", &["ms"], of::<Quicksort>(numbers)),
        Group::new("matrix multiply, down to 8 rows", &["ms"], of::<Multiply>(matrix)),
    ];
    groups[0].contenders.push(contender(Peer, "tokio", fibs, tokio_fib));
    Ok(groups)
}

/// Both halves, on whatever runs them.
trait Both {
    fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B);
    /// Runs `body` on [`WORKERS`] workers.
    fn timed<R: Send>(body: impl FnOnce() -> R + Send) -> Result<(R, Timing), BoxError>;
}

struct Tasks;

impl Both for Tasks {
    #[inline]
    fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        fork(first, second)
    }

    fn timed<R: Send>(body: impl FnOnce() -> R + Send) -> Result<(R, Timing), BoxError> {
        let runtime = Runtime::builder().workers(WORKERS).start()?;
        Ok(runtime.run(|| timed(body)))
    }
}

struct Rayon;

impl Both for Rayon {
    #[inline]
    fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(first, second)
    }

    fn timed<R: Send>(body: impl FnOnce() -> R + Send) -> Result<(R, Timing), BoxError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build()?;
        Ok(pool.install(|| timed(body)))
    }
}

/// One after the other.
struct Sequential;

impl Both for Sequential {
    #[inline]
    fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        (first(), second())
    }

    fn timed<R: Send>(body: impl FnOnce() -> R + Send) -> Result<(R, Timing), BoxError> {
        Ok(timed(body))
    }
}

/// A program, which checks its result.
trait Program: 'static {
    fn run<B: Both>(size: usize) -> Result<Timing, BoxError>;
}

fn of<P: Program>(size: usize) -> Vec<Contender> {
    vec![
        contender(Role::Ours, "thalweg", size, P::run::<Tasks>),
        contender(Peer, "rayon", size, P::run::<Rayon>),
        contender(Bound, "sequential", size, P::run::<Sequential>),
    ]
}

fn contender(role: Role, name: &str, size: usize, run: fn(usize) -> Result<Timing, BoxError>) -> Contender {
    Contender::new(role, name, json!({ "size": size, "workers": WORKERS }), move || Ok(Sample::millis(run(size)?)))
}

fn checked(is_right: bool, timing: Timing) -> Result<Timing, BoxError> {
    is_right.then_some(timing).ok_or_else(|| "a wrong result".into())
}

struct Fib;

impl Program for Fib {
    fn run<B: Both>(size: usize) -> Result<Timing, BoxError> {
        fn fib<B: Both>(n: usize) -> u64 {
            if n < 2 {
                return n as u64;
            }
            let (a, b) = B::both(|| fib::<B>(n - 1), || fib::<B>(n - 2));
            a + b
        }
        let (value, timing) = B::timed(|| fib::<B>(size))?;
        checked(value == fibonacci(size), timing)
    }
}

fn fibonacci(n: usize) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

fn tokio_fib(size: usize) -> Result<Timing, BoxError> {
    fn fib(n: usize) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
        Box::pin(async move {
            if n < 2 {
                return n as u64;
            }
            let other = tokio::spawn(fib(n - 2));
            fib(n - 1).await + other.await.expect("it does not panic")
        })
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).build()?;
    let (value, timing) = timed(|| runtime.block_on(async { tokio::spawn(fib(size)).await }));
    checked(value? == fibonacci(size), timing)
}

struct Queens;

impl Queens {
    /// How many ways there are to place the rest, with these columns and diagonals taken. The places of a row are divided among the two halves.
    fn place<B: Both>(size: u32, free: u32, taken: [u32; 3]) -> u64 {
        let [columns, left, right] = taken;
        match free.count_ones() {
            0 => 0,
            1 => {
                let columns = columns | free;
                if columns == (1 << size) - 1 {
                    return 1;
                }
                let (left, right) = ((left | free) << 1, (right | free) >> 1);
                Self::place::<B>(size, ((1 << size) - 1) & !(columns | left | right), [columns, left, right])
            }
            _ => {
                let first = free & free.wrapping_neg();
                let (a, b) =
                    B::both(|| Self::place::<B>(size, first, taken), || Self::place::<B>(size, free & !first, taken));
                a + b
            }
        }
    }
}

impl Program for Queens {
    fn run<B: Both>(size: usize) -> Result<Timing, BoxError> {
        const SOLUTIONS: [u64; 13] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200];
        let (ways, timing) = B::timed(|| Self::place::<B>(size as u32, (1 << size) - 1, [0; 3]))?;
        checked(ways == SOLUTIONS[size], timing)
    }
}

struct Quicksort;

impl Program for Quicksort {
    fn run<B: Both>(size: usize) -> Result<Timing, BoxError> {
        fn sort<B: Both>(numbers: &mut [u64]) {
            if numbers.len() <= 64 {
                return numbers.sort_unstable();
            }
            // The median of three is the pivot, at the end meanwhile.
            let last = numbers.len() - 1;
            let mut three = [0, last / 2, last];
            three.sort_unstable_by_key(|&at| numbers[at]);
            numbers.swap(three[1], last);
            let mut middle = 0;
            for at in 0..last {
                if numbers[at] < numbers[last] {
                    numbers.swap(at, middle);
                    middle += 1;
                }
            }
            numbers.swap(middle, last);
            let (left, right) = numbers.split_at_mut(middle);
            B::both(|| sort::<B>(left), || sort::<B>(&mut right[1..]));
        }
        let mut random = Lcg::new();
        let mut numbers: Vec<u64> = (0..size).map(|_| random.number(16)).collect();
        let sum = numbers.iter().fold(0, |sum: u64, &n| sum.wrapping_add(n));
        let ((), timing) = B::timed(|| sort::<B>(&mut numbers))?;
        let same = sum == numbers.iter().fold(0, |sum: u64, &n| sum.wrapping_add(n));
        checked(same && numbers.is_sorted(), timing)
    }
}

struct Multiply;

impl Program for Multiply {
    fn run<B: Both>(size: usize) -> Result<Timing, BoxError> {
        /// Rows of the product, from rows of the left matrix and the right matrix transposed.
        fn rows<B: Both>(size: usize, product: &mut [f64], left: &[f64], right: &[f64]) {
            let count = product.len() / size;
            if count > 8 {
                let (one, other) = product.split_at_mut(count / 2 * size);
                let (above, below) = left.split_at(count / 2 * size);
                B::both(|| rows::<B>(size, one, above, right), || rows::<B>(size, other, below, right));
                return;
            }
            for (product, left) in product.chunks_mut(size).zip(left.chunks(size)) {
                for (place, right) in product.iter_mut().zip(right.chunks(size)) {
                    *place = left.iter().zip(right).map(|(a, b)| a * b).sum();
                }
            }
        }
        // Small whole numbers, so that sums are exact: the product of row and column numbers.
        let left: Vec<f64> = (0..size * size).map(|at| (at / size % 7) as f64).collect();
        let right: Vec<f64> = (0..size * size).map(|at| (at / size % 5) as f64).collect();
        let mut product = vec![0.0; size * size];
        let ((), timing) = B::timed(|| rows::<B>(size, &mut product, &left, &right))?;
        let right = |at: usize| (size * (at / size % 7) * (at % size % 5)) as f64;
        checked(product.iter().enumerate().all(|(at, &value)| value == right(at)), timing)
    }
}
