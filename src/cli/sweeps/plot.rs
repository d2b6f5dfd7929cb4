//! A report as a plot: plain SVG shapes. Text is left to whatever displays it, so that neither fonts nor image libraries are
//! needed.

use std::ops::Range;

use anyhow::Context;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;

use crate::cli::output::member;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 1000;
/// Pixels of a configuration, of what stands above a panel, and of its axis.
const ROW: u32 = 26;
const HEAD: u32 = 48;
const AXIS: u32 = 36;
/// Pixels for names, and how many letters of one fit.
const NAMES: u32 = 330;
const LETTERS: usize = 48;
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(110, 110, 110);
const LIGHT: RGBColor = RGBColor(225, 225, 225);
const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);

/// A mean with its interval, and the values that it is of.
struct Line {
    name: String,
    mean: Option<f64>,
    half_width: Option<f64>,
    values: Vec<f64>,
}

/// The plot as an SVG document: means over seeds with what they are of, and differences from the baseline.
pub fn svg(report: &Value) -> anyhow::Result<String> {
    let summaries = lines(report, "configurations", |one| member(one, "/name"));
    let label = |place: &Value| member(report, &format!("/configurations/{}/name", place.as_u64().unwrap_or_default()));
    let comparisons = lines(report, "comparisons", |one| label(&one["configuration"]));
    anyhow::ensure!(!summaries.is_empty(), "the report has no configurations");
    let height = |lines: &[Line]| HEAD + AXIS + ROW * lines.len() as u32;
    let first = height(&summaries);
    let all = if comparisons.is_empty() { first } else { first + height(&comparisons) };
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, all)).into_drawing_area();
        root.fill(&WHITE)?;
        let (above, below) = root.split_vertically(first);
        let metric = member(report, "/metric");
        draw(&above, &format!("{metric} of {}, over seeds", member(report, "/sweep")), &summaries, BLUE)?;
        if !comparisons.is_empty() {
            let title = format!(
                "Differences from `{}`; the intervals hold together",
                label(&report["comparisons"][0]["baseline"])
            );
            draw(&below, &title, &comparisons, ORANGE)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn lines(report: &Value, part: &str, name: impl Fn(&Value) -> String) -> Vec<Line> {
    let number = |one: &Value, of: &str| one[of].as_f64();
    let of = |one: &Value| Line {
        name: name(one),
        mean: number(one, "mean").or_else(|| number(one, "difference")),
        half_width: number(one, "half_width"),
        values: one["values"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_f64()).collect(),
    };
    report[part].as_array().into_iter().flatten().map(of).collect()
}

/// One panel: a line for each, with its interval as a bar, its mean as a disc and its values as circles.
fn draw(area: &Area<'_>, title: &str, lines: &[Line], colour: RGBColor) -> anyhow::Result<()> {
    let text = |size: i32| (FONT, size).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw_text(title, &text(16), (16, HEAD as i32 / 2))?;
    let (_, body) = area.split_vertically(HEAD);
    let (names, panel) = body.split_horizontally(NAMES);
    let span = span(lines).context("a value of the report cannot be drawn")?;
    let mut chart = ChartBuilder::on(&panel)
        .margin_right(24)
        .x_label_area_size(AXIS)
        .build_cartesian_2d(span.clone(), 0.0..lines.len() as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .max_light_lines(0)
        .bold_line_style(LIGHT)
        .axis_style(GREY)
        .x_labels(8)
        .label_style((FONT, 13))
        .draw()?;
    if span.contains(&0.0) {
        chart.draw_series(LineSeries::new([(0.0, 0.0), (0.0, lines.len() as f64)], GREY.stroke_width(1)))?;
    }
    for (place, line) in lines.iter().enumerate() {
        let height = lines.len() as f64 - place as f64 - 0.5;
        let name: String = line.name.chars().take(LETTERS).collect();
        let name = if name.len() < line.name.len() { format!("{name}...") } else { name };
        names.draw_text(&name, &text(13), (16, (ROW as usize * place + ROW as usize / 2) as i32))?;
        chart.draw_series(line.values.iter().map(|value| Circle::new((*value, height), 3, colour.stroke_width(1))))?;
        if let (Some(mean), Some(half)) = (line.mean, line.half_width) {
            let ends = [(mean - half, height), (mean + half, height)];
            chart.draw_series(LineSeries::new(ends, colour.stroke_width(3)))?;
        }
        chart.draw_series(line.mean.map(|mean| Circle::new((mean, height), 5, colour.filled())))?;
    }
    Ok(())
}

/// From the lowest to the highest of all that is drawn, with some room on both sides; none of what is not finite.
fn span(lines: &[Line]) -> Option<Range<f64>> {
    let of = |line: &Line| {
        let half = line.half_width.unwrap_or_default();
        let ends = line.mean.into_iter().flat_map(move |mean| [mean - half, mean + half]);
        ends.chain(line.values.clone()).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = lines.iter().flat_map(of).collect();
    let (low, high) =
        (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if all.is_empty() {
        return Some(0.0..1.0);
    }
    let room = if high > low { 0.05 * (high - low) } else { low.abs().max(1.0) / 10.0 };
    (room.is_finite() && low.is_finite()).then_some(low - room..high + room)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Value {
        let configuration = |name: &str, mean: Value, half: Value, values: Value| json!({"name": name, "mean": mean, "half_width": half, "values": values});
        json!({
            "sweep": "swp_1", "metric": "pass@1",
            "configurations": [
                configuration("a <b> & c", json!(0.5), json!(0.1), json!({"1": 0.45, "2": 0.55})),
                configuration(&"x".repeat(200), json!(0.7), json!(0.0), json!({"1": 0.7})),
                configuration("none yet", Value::Null, Value::Null, json!({})),
            ],
            "comparisons": [{"configuration": 1, "baseline": 0, "difference": 0.2, "half_width": 0.3}],
        })
    }

    #[test]
    fn every_value_mean_and_interval_is_drawn_within_the_plot() {
        let svg = svg(&report()).unwrap();
        // Three values, two means, one difference.
        assert_eq!(svg.matches("<circle").count(), 6);
        assert!(svg.contains("a &lt;b&gt; &amp; c") && svg.contains(&format!("{}...", "x".repeat(LETTERS))));
        assert!(svg.contains("Differences from `a &lt;b&gt; &amp; c`"));
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((f64::from(NAMES)..f64::from(WIDTH)).contains(&x), "{x}");
        }
    }

    #[test]
    fn a_report_without_values_and_one_of_a_single_value_are_drawn() {
        let mut empty = report();
        empty["configurations"] = json!([{"name": "a", "mean": null, "half_width": null, "values": {}}]);
        empty["comparisons"] = json!([]);
        assert!(svg(&empty).unwrap().contains("pass@1"));
        empty["configurations"] = json!([{"name": "a", "mean": 3.0, "half_width": null, "values": {"1": 3.0}}]);
        assert_eq!(svg(&empty).unwrap().matches("<circle").count(), 2);
        empty["configurations"] = json!([]);
        assert!(svg(&empty).is_err());
    }
}
