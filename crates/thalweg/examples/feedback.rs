//! A crawler: the links of a page go back to the front, until there are no new ones.
//!
//! `cargo run --example feedback` prints each page of a small site once, with the number of its links. The run ends by itself: the source has ended,
//! and nothing is left in the cycle. Pages are fetched on many cores, the set of pages that were seen is in one place.

use std::collections::HashSet;
use thalweg::operators::Merge;
use thalweg::prelude::*;

type Page = &'static str;

/// A site with cycles and a page that is nowhere.
fn fetch(page: Page) -> Option<Vec<Page>> {
    let links: &[Page] = match page {
        "/" => &["/guide", "/blog", "/about"],
        "/guide" => &["/", "/guide/start", "/guide/queues"],
        "/guide/start" => &["/guide", "/guide/queues"],
        "/guide/queues" => &["/guide/start", "/papers"],
        "/blog" => &["/", "/blog/1", "/blog/2"],
        "/blog/1" => &["/blog", "/blog/2"],
        "/blog/2" => &["/blog", "/blog/1", "/missing"],
        "/about" => &["/"],
        "/papers" => &["/guide/queues", "/"],
        _ => return None,
    };
    Some(links.to_vec())
}

fn main() -> Result<(), thalweg::Error> {
    let mut seen = HashSet::new();
    let mut graph = Graph::new();
    let frontier = graph.add(Merge::new(2));
    let fresh = graph.filter(|page: &Page| seen.insert(*page));
    let fetched = graph.parallel_map(|page: Page| (page, fetch(page)));
    graph += graph.source(["/"]) >> frontier.inputs[0];
    let [show, follow] = graph.tee(frontier.out >> fresh >> fetched);
    let links = graph.flat_map(|(_, links): (Page, Option<Vec<Page>>)| links.unwrap_or_default());
    graph += (follow >> links).feedback() >> frontier.inputs[1];
    let (end, pages) = graph.collect();
    graph += show >> end;
    graph.run(Scheme::default())?;
    drop(graph);

    let pages = pages.take();
    for (page, links) in &pages {
        match links {
            Some(links) => println!("{page}: {} links", links.len()),
            None => println!("{page}: not found"),
        }
    }
    println!("{} pages fetched, {} seen", pages.len(), seen.len());
    Ok(())
}
