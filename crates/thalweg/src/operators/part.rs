//! Parts of a graph as values: the ports of whatever a function builds.

use crate::graph::path::{Head, Node, Path, Sink, Source, Tail};
use crate::graph::{EdgeSpec, Graph, PortRef};
use crate::kernel::ported::{In, Out};

fn input<T>(port: PortRef) -> In<T> {
    In::at(port.graph, port.kernel, port.port)
}

fn output<T>(port: PortRef) -> Out<T> {
    Out::at(port.graph, port.kernel, port.port)
}

impl<T> Source<T> {
    /// Its output as a port, to be given on.
    pub fn output(self) -> Out<T> {
        output(self.0)
    }
}

impl<T, U> Node<T, U> {
    /// Its input as a port, to be given on.
    pub fn input(self) -> In<T> {
        input(self.0)
    }

    /// Its output as a port, to be given on.
    pub fn output(self) -> Out<U> {
        output(self.0)
    }
}

impl<T> Sink<T> {
    /// Its input as a port, to be given on.
    pub fn input(self) -> In<T> {
        input(self.0)
    }
}

impl Graph<'_> {
    /// Adds a path whose ends are open, and gives these as ports. So a function can build a part of a graph and return its ports, any number of them, in a
    /// struct or a tuple.
    ///
    /// What is asked of the edge behind the path is asked where that edge is made; a path that ends with `capacity` or the like is refused.
    ///
    /// ```
    /// use thalweg::operators::Merge;
    /// use thalweg::prelude::*;
    ///
    /// /// Tries what comes up to three times: what is left over then comes out at the side.
    /// struct Attempts { fresh: In<u64>, done: Out<u64>, left: Out<(u64, u32)> }
    ///
    /// fn attempts<'a>(graph: &mut Graph<'a>, succeeds: impl Fn(u64, u32) -> bool + Send + 'a) -> Attempts {
    ///     let all = graph.add(Merge::new(2));
    ///     let first = graph.map(|x: u64| (x, 1));
    ///     let (done, failed) = graph.try_map(all.out, move |(x, n)| if succeeds(x, n) { Ok(x) } else { Err((x, n + 1)) });
    ///     let [again, left] = graph.split(failed, |&(_, n)| n <= 3);
    ///     *graph += first >> all.inputs[0];
    ///     *graph += again.feedback() >> all.inputs[1];
    ///     Attempts { fresh: first.input(), done, left }
    /// }
    ///
    /// let (mut done, mut left) = (Vec::new(), Vec::new());
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(0..6_u64);
    /// let part = attempts(&mut graph, |x, n| x <= u64::from(n));
    /// let keep = graph.sink(|x| done.push(x));
    /// let note = graph.sink(|(x, _)| left.push(x));
    /// graph += numbers >> part.fresh;
    /// graph += part.done >> keep;
    /// graph += part.left >> note;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// done.sort();
    /// assert_eq!((done, left), (vec![0, 1, 2, 3], vec![4, 5]));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn part<T, U>(&self, path: Path<Head<T>, Tail<U>>) -> (In<T>, Out<U>) {
        let (first, last) = (input(path.first), output(path.last));
        let asked = path.leaving;
        self.connect(path);
        if asked != EdgeSpec::default() {
            self.refuse(last, "its path asks something of the edge behind it before that is made; ask it of the port");
        }
        (first, last)
    }
}
