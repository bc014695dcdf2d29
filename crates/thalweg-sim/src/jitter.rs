//! What a seed varies besides starts and wake-ups.

/// Makes the running thread late by up to the run's [`jitter`](crate::Simulation::jitter), as the seed decides: behind a gate at which threads wait for each
/// other. Else all go on from there as the gate lets them, with every seed nearly alike. Outside of a simulation nothing happens.
///
/// ```
/// use thalweg_sim::{Machine, Simulation, jitter};
/// use thalweg_sync::{atomic::{AtomicUsize, Ordering::{AcqRel, Acquire}}, spin, thread, time};
///
/// // From when the first of eight threads goes through a gate until the last does, in nanoseconds.
/// let spread = |late: bool| {
///     let gate = || {
///         let ready = AtomicUsize::new(0);
///         let through = || {
///             ready.fetch_add(1, AcqRel);
///             spin::until(|| (ready.load(Acquire) == 8).then_some(()));
///             if late {
///                 jitter();
///             }
///             time::now()
///         };
///         thread::scope(|scope| {
///             let threads: Vec<_> = (0..8).map(|_| scope.spawn(through)).collect();
///             let times: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
///             times.iter().max().unwrap().since(*times.iter().min().unwrap()).as_nanos()
///         })
///     };
///     let simulation = Simulation::new(Machine::named("vl-16")?).jitter(20_000);
///     Ok::<_, Box<dyn std::error::Error>>(simulation.try_run(gate)?.0)
/// };
/// assert!(spread(false)? < 2_000 && spread(true)? > 5_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn jitter() {
    crate::heap::tell(|world| {
        let mut state = world.state();
        let most = state.jitter;
        let late = state.random(most + 1);
        state.stand_still(late);
    });
}
