//! Figures as a picture: horizontal bars with ranges, in SVG.

use std::fmt::Write;

use crate::curves;
use crate::harness::Role;
use crate::records::{Record, base, panels};
use crate::scale::Scale;
use crate::table::figure;

const LABELS: f64 = 190.0;
const BARS: f64 = 480.0;
const FIGURES: f64 = 190.0;
const ROW: f64 = 22.0;
const HEAD: f64 = 46.0;
pub(crate) const WIDTH: f64 = LABELS + BARS + FIGURES;

/// One panel for each workload and unit, below each other, with `caption` at the foot.
pub fn render(records: &[Record], caption: &str) -> String {
    let panels = panels(records);
    let height: f64 = panels.iter().map(|panel| panel_height(panel)).sum::<f64>() + ROW;
    let mut svg = format!(
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" "#,
            r#"font-family="sans-serif" font-size="12">"#,
            "\n",
            r#"<rect width="100%" height="100%" fill="white"/>"#,
            "\n"
        ),
        width = WIDTH,
        height = height
    );
    let foot = format!("{caption}. Bars, marks: medians; thin lines: least to greatest; dashed: what ratios refer to.");
    let mut top = 0.0;
    for panel in &panels {
        match panel[0].at {
            Some(at) => curves::draw(&mut svg, panel, at.axis, top),
            None => draw_panel(&mut svg, panel, top),
        }
        top += panel_height(panel);
    }
    line(
        &mut svg,
        format_args!(r##"<text x="8" y="{}" font-size="10" fill="#666">{}</text>"##, top + 14.0, escape(&foot)),
    );
    svg.push_str("</svg>\n");
    svg
}

fn panel_height(panel: &[&Record]) -> f64 {
    if panel[0].at.is_some() {
        return curves::HEIGHT;
    }
    HEAD + ROW * panel.len() as f64
}

fn draw_panel(svg: &mut String, panel: &[&Record], top: f64) {
    let head = panel[0];
    let scale = Scale::over(panel);
    let x = |value: f64| LABELS + BARS * scale.share(value);
    let note = if scale.logarithmic { ", logarithmic axis" } else { "" };
    let title = format!("{}: {} ({}{note})", head.experiment, head.workload, head.unit);
    line(svg, format_args!(r#"<text x="8" y="{}" font-weight="bold">{}</text>"#, top + 18.0, escape(&title)));
    if let Some(base) = base(panel) {
        let base = x(base.spread.median);
        let (from, to) = (top + HEAD - 8.0, top + panel_height(panel) - 4.0);
        line(
            svg,
            format_args!(
                r##"<line x1="{base:.1}" x2="{base:.1}" y1="{from}" y2="{to}" stroke="#999" stroke-dasharray="3 3"/>"##
            ),
        );
    }
    for (at, record) in panel.iter().enumerate() {
        let middle = top + HEAD + ROW * at as f64;
        let colour = match record.role {
            Role::Ours => "#1b6ca8",
            Role::Peer => "#c9cdd2",
            Role::Bound => "#eceef0",
        };
        let [median, min, max] = [record.spread.median, record.spread.min, record.spread.max].map(x);
        line(
            svg,
            format_args!(
                r#"<text x="{}" y="{}" text-anchor="end">{}</text>"#,
                LABELS - 8.0,
                middle + 4.0,
                escape(&record.contender)
            ),
        );
        line(
            svg,
            format_args!(
                r#"<rect x="{LABELS}" y="{}" width="{:.1}" height="14" fill="{colour}"/>"#,
                middle - 7.0,
                median - LABELS
            ),
        );
        line(svg, format_args!(r##"<line x1="{min:.1}" x2="{max:.1}" y1="{middle}" y2="{middle}" stroke="#222"/>"##));
        let spread = record.spread;
        let text = format!("{} ({} - {})", figure(spread.median), figure(spread.min), figure(spread.max));
        line(svg, format_args!(r#"<text x="{}" y="{}">{text}</text>"#, LABELS + BARS + 8.0, middle + 4.0));
    }
}

pub(crate) fn line(svg: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(svg, "{text}").expect("a String takes everything");
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::tests::record;

    #[test]
    fn a_chart_has_a_bar_for_everyone_and_escapes_text() {
        let records = [record("thalweg", Role::Ours, 2.0), record("a<b", Role::Peer, 4.0)];
        let svg = render(&records, "x & y");
        assert_eq!(svg.matches("height=\"14\"").count(), 2);
        assert!(svg.contains("a&lt;b") && svg.contains("x &amp; y") && !svg.contains("a<b"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        // Linear: the longest range ends at the right edge, and a bar's length is its median's share of it.
        assert!(svg.contains("width=\"240.0\""), "4 of 8 is half of the axis");
    }

    #[test]
    fn nothing_but_zeros_still_draws() {
        assert!(render(&[record("idle", Role::Ours, 0.0)], "").contains("width=\"0.0\""));
        assert!(render(&[], "").ends_with("</svg>\n"));
    }
}
