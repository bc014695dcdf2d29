//! The experiment behind each name of the [catalogue](crate::catalogue).

use crate::figures::{self, ff};
use crate::worlds::experiment::Experiment;
#[cfg(feature = "native")]
use crate::worlds::here;
#[cfg(feature = "native")]
use crate::{apps, harness, queues, streams, tasks};

/// The figure of that name, on the machine at hand.
#[cfg(feature = "native")]
macro_rules! here {
    ($name:literal) => {
        harness::Experiment { name: $name, plan: |effort| here::groups($name, effort) }
    };
}

/// What runs on the machine at hand.
#[cfg(feature = "native")]
pub(crate) static NATIVE: &[harness::Experiment] = &[
    streams::pipe3::EXPERIMENT,
    streams::pipe3_fused::EXPERIMENT,
    streams::chain32::EXPERIMENT,
    streams::fir32::EXPERIMENT,
    streams::fan::EXPERIMENT,
    streams::keyed::EXPERIMENT,
    streams::farm::EXPERIMENT,
    streams::conserve::EXPERIMENT,
    streams::search::EXPERIMENT,
    streams::trickle::EXPERIMENT,
    streams::outlet::EXPERIMENT,
    streams::idle::EXPERIMENT,
    streams::workers::EXPERIMENT,
    streams::schemes::EXPERIMENT,
    streams::report::EXPERIMENT,
    streams::trace::EXPERIMENT,
    streams::build::EXPERIMENT,
    queues::item::EXPERIMENT,
    queues::batch::EXPERIMENT,
    queues::unbalanced::EXPERIMENT,
    queues::apart::EXPERIMENT,
    queues::latency::EXPERIMENT,
    queues::rtt::EXPERIMENT,
    queues::shared::EXPERIMENT,
    queues::shared_batch::EXPERIMENT,
    queues::oversubscribed::EXPERIMENT,
    queues::link_twin::EXPERIMENT,
    queues::failed::EXPERIMENT,
    queues::turns::EXPERIMENT,
    queues::wait::EXPERIMENT,
    queues::front::ONESHOT,
    queues::front::UNBOUNDED,
    queues::front::BROADCAST,
    queues::front::SELECT,
    queues::call_size::EXPERIMENT,
    figures::blq::growth::EXPERIMENT,
    queues::stealing::EXPERIMENT,
    queues::pool::EXPERIMENT,
    figures::blq::table3::EXPERIMENT,
    tasks::stacks::EXPERIMENT,
    tasks::parallel::EXPERIMENT,
    tasks::executor::EXPERIMENT,
    figures::thesis::http::EXPERIMENT,
    figures::thesis::http::rpc::EXPERIMENT,
    #[cfg(target_os = "linux")]
    crate::daemon::bursts::EXPERIMENT,
    ff::caches::EXPERIMENT,
    figures::thesis::shape::EXPERIMENT,
    figures::thesis::modes::EXPERIMENT,
    apps::EXPERIMENT,
    figures::applications::instructions::EXPERIMENT,
    here!("ff/figure8"),
    here!("ff/figure9"),
    here!("ff/figure11"),
    here!("thesis/2.8"),
    here!("thesis/2.9"),
    here!("thesis/2.9-over"),
    here!("thesis/2.12"),
    here!("thesis/3.7"),
    here!("thesis/3.8"),
    here!("thesis/3.10"),
    here!("thesis/4.1"),
    here!("thesis/4.9"),
    here!("thesis/4.10"),
    here!("thesis/4.11"),
    here!("thesis/4.12"),
    here!("blq/schemes"),
    here!("blq/streams"),
    here!("blq/applications"),
    here!("blq/partition"),
    here!("blq/multipliers"),
    here!("danbi/scaling"),
    here!("danbi/streams"),
    here!("danbi/sizes"),
    here!("danbi/applications"),
    here!("daemon/four"),
    here!("vl/queues"),
    here!("sim/bbq"),
    here!("sim/locked"),
    here!("sim/fast-forward"),
    here!("sim/lamport"),
    here!("sim/chunk-ring"),
    here!("sim/chain"),
    here!("sim/farm"),
    here!("sim/workers"),
    here!("tasks/scaling"),
];

/// What runs on modelled machines.
pub(crate) fn on_machines() -> impl Iterator<Item = &'static Experiment> {
    let parts: &[&[Experiment]] = &[
        &ff::stages::EXPERIMENTS,
        &[ff::frames::EXPERIMENT],
        &figures::thesis::queues::EXPERIMENTS,
        &[figures::thesis::memory::EXPERIMENT],
        &[figures::thesis::uring::EXPERIMENT],
        &[figures::thesis::marking::EXPERIMENT],
        &figures::thesis::stealing::EXPERIMENTS,
        &figures::danbi::scaling::EXPERIMENTS,
        &figures::blq::schemes::EXPERIMENTS,
        &[figures::blq::multipliers::EXPERIMENT],
        &figures::applications::simulated::EXPERIMENTS,
        #[cfg(feature = "machines")]
        &[figures::danbi::others::EXPERIMENT],
        &[figures::blq::partition::EXPERIMENT],
        &[figures::own::nodes::EXPERIMENT],
        &[figures::own::shares::EXPERIMENT],
        &figures::vl::EXPERIMENTS,
        &figures::vl::QUEUES,
        &[figures::vl::BEYOND, figures::vl::EDGES],
        &figures::own::queues::EXPERIMENTS,
        &figures::own::streams::EXPERIMENTS,
        &[figures::own::workers::EXPERIMENT],
        &[figures::own::forks::EXPERIMENT],
    ];
    parts.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use crate::catalogue::{ALL, World};

    /// The names of both, in order.
    fn compare<'a>(registered: impl Iterator<Item = &'a str>, world: World) {
        let listed = ALL.iter().filter(|entry| entry.runs(world)).map(|entry| entry.name);
        let (mut registered, mut listed): (Vec<_>, Vec<_>) = (registered.collect(), listed.collect());
        registered.sort_unstable();
        listed.sort_unstable();
        assert_eq!(registered, listed);
    }

    #[cfg(feature = "native")]
    #[test]
    fn what_runs_here_is_what_the_catalogue_has() {
        compare(super::NATIVE.iter().map(|experiment| experiment.name), World::Native);
    }

    /// A figure runs in both worlds if it says what counts in the other, and is asked for by the same name.
    #[cfg(feature = "native")]
    #[test]
    fn what_says_what_counts_here_runs_here() {
        for figure in super::on_machines() {
            // Misses are counted there, and told by an operation's time here.
            let own = figure.name == "ff/figure10";
            let listed = super::NATIVE.iter().any(|experiment| experiment.name == figure.name);
            assert_eq!(!figure.here.is_empty() || own, listed, "{}", figure.name);
        }
    }

    /// Of none of its points run, a figure has no number; its lines bear its name.
    #[cfg(feature = "machines")]
    #[test]
    fn each_figure_of_a_paper_says_what_became_of_its_numbers() {
        use crate::worlds::experiment::Setting;
        use crate::worlds::seen::Seen;

        // What papers have no figure of.
        let ours = |name: &str| {
            let others = ["daemon/", "sim/", "tasks/", "vl/queues", "vl/beyond", "vl/streams"];
            others.iter().any(|other| name.starts_with(other))
        };
        let machine = thalweg_sim::Machine::named("x86-88t").unwrap();
        for figure in super::on_machines() {
            let points = (figure.plan)(&Setting::of(&machine, 17));
            let lines = (figure.verdicts)(&Seen::new(points.iter().map(|point| (point, None)).collect(), false));
            let text: String = lines.iter().map(ToString::to_string).collect();
            assert_eq!(text.is_empty(), ours(figure.name), "{}: {text}", figure.name);
            for line in text.lines() {
                let is_said = line.ends_with(": not run") || line.contains("no number to compare in the ");
                assert!(line.starts_with(&format!("{}: ", figure.name)) && is_said, "{line}");
            }
        }
    }

    #[cfg(feature = "machines")]
    #[test]
    fn what_runs_on_machines_is_what_the_catalogue_has() {
        compare(super::on_machines().map(|experiment| experiment.name), World::Machines);
    }
}
