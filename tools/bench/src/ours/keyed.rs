//! Streams that are split by key.

use serde_json::json;
use thalweg::prelude::*;

use super::{Setting, params};
use crate::harness::{BoxError, Contender, Role, Sample};
use crate::machine::timed;
use crate::peers::Checked;
use crate::workloads::keyed::{Fan, Words};
use crate::workloads::{Chain, Digest};

/// Splits by key and joins again as messages come.
fn fan(fan: Fan, setting: Setting, right: &Digest) -> Checked {
    let scheme = setting.build()?;
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let source = graph.source(Chain::source(0..fan.messages));
        let parts: [_; Fan::PARTS] = graph.route(source, |&message| Fan::part(message));
        let merged = graph.merge(parts);
        let sink = graph.sink(|message| digest.add(message));
        graph += merged >> sink;
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    digest?.verify(right, false)?;
    Ok(timing)
}

/// A contender that runs the fan; nanoseconds for each message.
pub fn on_fan(workload: Fan, setting: Setting, right: Digest) -> Contender {
    let params = params(setting, json!({ "messages": workload.messages, "parts": Fan::PARTS }));
    Contender::new(Role::Ours, setting.name("thalweg"), params, move || {
        Ok(Sample::nanos_per(fan(workload, setting, &right)?, workload.messages))
    })
}

/// As many hops as in the fan, without parts: two kernels that pass on what comes.
fn hops(fan: Fan, setting: Setting, right: &Digest) -> Checked {
    let scheme = setting.build()?;
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let source = graph.source(Chain::source(0..fan.messages));
        let [one, other] = [(); 2].map(|()| graph.sequential(|message: u64, out: &mut Output<u64>| out.push(message)));
        let sink = graph.sink(|message| digest.add(message));
        graph += source >> one >> other >> sink;
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    digest?.verify(right, true)?;
    Ok(timing)
}

/// A contender that hands on as often as the fan; nanoseconds for each message.
pub fn on_hops(workload: Fan, setting: Setting, right: Digest) -> Contender {
    let params = params(setting, json!({ "messages": workload.messages, "hops": Fan::HOPS }));
    Contender::new(Role::Ours, setting.name("thalweg, three hops"), params, move || {
        Ok(Sample::nanos_per(hops(workload, setting, &right)?, workload.messages))
    })
}

/// Counts by word.
fn words(words: Words, lanes: usize, setting: Setting) -> Checked {
    let scheme = setting.build()?;
    let (counts, timing) = timed(|| -> Result<Vec<(u64, u64)>, BoxError> {
        let mut counts = Vec::new();
        let mut graph = Graph::new();
        let source = graph.source(words.all());
        let counted = graph.key_by(source, |&word| word).lanes(lanes).fold(|| 0_u64, |count, _word| *count += 1);
        let sink = graph.sink(|count| counts.push(count));
        graph += counted >> sink;
        graph.run(scheme)?;
        drop(graph);
        Ok(counts)
    });
    words.verify(counts?)?;
    Ok(timing)
}

/// Each worker counts a stretch of the words by itself; the counts of stretches are added for each word.
fn stretches(words: Words, lanes: usize, setting: Setting) -> Checked {
    const STRETCH: u64 = 1 << 16;
    let scheme = setting.build()?;
    let (counts, timing) = timed(|| -> Result<Vec<(u64, u64)>, BoxError> {
        let mut counts = Vec::new();
        let mut graph = Graph::new();
        let source = graph.source((0..words.messages).step_by(STRETCH as usize));
        let count = graph.parallel(|first: u64, out: &mut Output<(u64, u64)>| {
            let stretch = first..(first + STRETCH).min(words.messages);
            Words::count(stretch.map(Words::at)).into_iter().for_each(|count| out.push(count));
        });
        let added = graph.keyed(source >> count).lanes(lanes).fold(|| 0, |sum, count| *sum += count);
        let sink = graph.sink(|count| counts.push(count));
        graph += added >> sink;
        graph.run(scheme)?;
        drop(graph);
        Ok(counts)
    });
    words.verify(counts?)?;
    Ok(timing)
}

/// Contenders that count words over so many lanes; nanoseconds for each word. The second counts stretches first.
pub fn on_words(workload: Words, lanes: usize, setting: Setting) -> [Contender; 2] {
    type Count = fn(Words, usize, Setting) -> Checked;
    [("thalweg", words as Count), ("thalweg, stretches", stretches)].map(|(name, count)| {
        let params = params(setting, json!({ "messages": workload.messages, "lanes": lanes }));
        Contender::new(Role::Ours, setting.name(name), params, move || {
            Ok(Sample::nanos_per(count(workload, lanes, setting)?, workload.messages))
        })
    })
}
