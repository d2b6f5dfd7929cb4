//! The frontier as a plot: plain SVG shapes. Text is left to whatever displays it, so that neither fonts nor image
//! libraries are needed.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Frontier, Row, number};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (1240, 460);
/// Pixels above the panels, for title and legend.
const HEAD: u32 = 66;
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(110, 110, 110);

/// One curve. The colours can also be told apart with a red-green weakness, and the marks without any colour.
struct Series {
    label: &'static str,
    colour: RGBColor,
    filled: bool,
    value: fn(&Row) -> f64,
}

const ESS: Series = Series {
    label: "ESS share, informative",
    colour: RGBColor(0, 114, 178),
    filled: true,
    value: |row| row.ess_share_informative,
};
const SUCCESS: Series =
    Series { label: "target success", colour: RGBColor(213, 94, 0), filled: false, value: |row| row.target_success };
const LEAST: Series = Series {
    label: "support price, at least",
    colour: RGBColor(0, 130, 95),
    filled: true,
    value: |row| row.support_price_low,
};
const MOST: Series =
    Series { label: "at most", colour: RGBColor(204, 121, 167), filled: false, value: |row| row.support_price_high };
const ESTIMATE: Series = Series {
    label: "Good-Turing",
    colour: RGBColor(90, 90, 90),
    filled: true,
    value: |row| row.support_price_good_turing,
};
const PRICES: [Series; 3] = [LEAST, MOST, ESTIMATE];

/// The plot as an SVG document.
pub fn svg(frontier: &Frontier) -> anyhow::Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(HEAD);
        let (left, right) = body.split_horizontally(SIZE.0 / 2);
        draw_head(&head, frontier)?;
        let shares = span(frontier, &[ESS, SUCCESS], 0.0..floor_share(frontier).max(1.0));
        draw_panel(&left, frontier, &[ESS, SUCCESS], shares, "share of the group, reward")?;
        draw_panel(&right, frontier, &PRICES, span(frontier, &PRICES, 0.0..0.0), "support price, reward")?;
        root.present()?;
    }
    Ok(svg)
}

/// The floor as a share of a group.
fn floor_share(frontier: &Frontier) -> f64 {
    frontier.ess_floor * frontier.groups as f64 / frontier.completions.max(1) as f64
}

/// Title and legend.
fn draw_head(area: &Area<'_>, frontier: &Frontier) -> anyhow::Result<()> {
    let text = |size: i32| (FONT, size).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    let Frontier { rollout_set, groups, completions, .. } = frontier;
    area.draw_text(
        &format!("Frontier of {rollout_set}: {groups} groups, {completions} completions"),
        &text(17),
        (16, 18),
    )?;
    let mut x = 16;
    let mut entry = |label: &str| {
        let at = x;
        // About the width of the text; nothing here knows its font.
        x += 58 + 7 * label.len() as i32;
        at
    };
    for series in [ESS, SUCCESS].into_iter().chain(PRICES) {
        let x = entry(series.label);
        area.draw(&PathElement::new([(x, 46), (x + 28, 46)], series.colour.stroke_width(2)))?;
        area.draw(&mark((x + 14, 46), &series))?;
        area.draw_text(series.label, &text(13), (x + 36, 46))?;
    }
    let floor = format!("floor, {} completions", number(frontier.ess_floor));
    let x = entry(&floor);
    area.draw(&PathElement::new([(x, 46), (x + 28, 46)], GREY.stroke_width(1)))?;
    area.draw_text(&floor, &text(13), (x + 36, 46))?;
    if let Some(row) = frontier.recommended() {
        let label = format!("recommended beta {}", number(row.beta));
        let x = entry(&label);
        for dash in [x, x + 10, x + 20] {
            area.draw(&PathElement::new([(dash, 46), (dash + 6, 46)], BLACK.stroke_width(2)))?;
        }
        area.draw_text(&label, &text(13), (x + 36, 46))?;
    }
    Ok(())
}

/// One panel: curves over beta, and the recommended beta as a vertical line.
fn draw_panel(
    area: &Area<'_>,
    frontier: &Frontier,
    series: &[Series],
    span: Range<f64>,
    title: &str,
) -> anyhow::Result<()> {
    let axis = LogAxis::over(frontier.rows.iter().map(|row| row.beta));
    let ends = [10_f64.powf(axis.from), 10_f64.powf(axis.to)];
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(66)
        .build_cartesian_2d(axis, span.clone())?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(RGBColor(225, 225, 225))
        .axis_style(GREY)
        .x_labels(10)
        .y_labels(8)
        .y_label_formatter(&|value| number(*value))
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .x_desc("beta, logarithmic")
        .y_desc(title)
        .draw()?;
    if series.iter().any(|series| series.label == ESS.label) {
        chart.draw_series(LineSeries::new(ends.map(|x| (x, floor_share(frontier))), GREY.stroke_width(1)))?;
    }
    if let Some(row) = frontier.recommended() {
        let line = [(row.beta, span.start), (row.beta, span.end)];
        chart.draw_series(DashedLineSeries::new(line, 6, 4, BLACK.stroke_width(2)))?;
    }
    for series in series {
        let points = || frontier.rows.iter().map(|row| (row.beta, (series.value)(row)));
        chart.draw_series(LineSeries::new(points(), series.colour.stroke_width(2)))?;
        chart.draw_series(points().map(|point| mark(point, series)))?;
    }
    Ok(())
}

fn mark<P>(at: P, series: &Series) -> Circle<P, i32> {
    let style = ShapeStyle { color: series.colour.into(), filled: series.filled, stroke_width: 2 };
    Circle::new(at, 4, style)
}

/// From the lowest to the highest value, `least` included, with some room above; never empty.
fn span(frontier: &Frontier, series: &[Series], least: Range<f64>) -> Range<f64> {
    let values = || series.iter().flat_map(|series| frontier.rows.iter().map(series.value));
    let (low, high) = (values().fold(least.start, f64::min), values().fold(least.end, f64::max));
    if low == high {
        return low..low + 1.0;
    }
    let room = high + 0.05 * (high - low);
    low..if room.is_finite() { room } else { high }
}

/// A logarithmic axis over at least one decade, whose ticks are 1, 2 and 5 of every decade or, when these are too many,
/// powers of ten. The fields are decimal logarithms.
struct LogAxis {
    from: f64,
    to: f64,
}

impl LogAxis {
    fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        let logs = values.map(f64::log10);
        let low = logs.clone().fold(f64::INFINITY, f64::min);
        let high = logs.fold(f64::NEG_INFINITY, f64::max);
        let half = ((high - low) / 2.0).max(0.5) * 1.05;
        let middle = f64::midpoint(low, high);
        Self { from: middle - half, to: middle + half }
    }

    fn ticks(&self, most: usize) -> Vec<f64> {
        let (first, last) = (self.from.floor() as i32, self.to.ceil() as i32);
        let within = |multiples: &[f64], every: usize| -> Vec<f64> {
            let decades = (first..=last).filter(|decade| decade.rem_euclid(every as i32) == 0);
            let ticks = decades.flat_map(|decade| multiples.iter().map(move |m| m * 10_f64.powi(decade)));
            ticks.filter(|tick| tick.is_finite() && (self.from..=self.to).contains(&tick.log10())).collect()
        };
        let fine = within(&[1.0, 2.0, 5.0], 1);
        if fine.len() <= most { fine } else { within(&[1.0], 1 + (last - first) as usize / most.max(1)) }
    }
}

impl Ranged for LogAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Clamped, because the ends of an axis may themselves lie beyond what a float can hold.
        let part = ((value.log10() - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        limit.0 + (part * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        10_f64.powf(self.from)..10_f64.powf(self.to)
    }
}

impl ValueFormatter<f64> for LogAxis {
    fn format(value: &f64) -> String {
        number(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::frontier;
    use super::*;

    /// The elements of a document as name and attributes; panics where it is not well-formed.
    fn elements(svg: &str) -> Vec<(String, Vec<(String, String)>)> {
        let (mut open, mut found) = (Vec::new(), Vec::new());
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a tag ends");
            let escapes = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
            let plain = escapes.iter().fold(part.to_owned(), |plain, escape| plain.replace(escape, ""));
            assert!(!plain.contains('&'), "{part}");
            assert!(!text.contains('>'), "{part}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
                continue;
            }
            let inner = tag.trim_end_matches('/');
            let (name, mut rest) = inner.split_once(' ').unwrap_or((inner, ""));
            let mut attributes = Vec::new();
            while let Some((key, after)) = rest.trim_start().split_once("=\"") {
                let (value, after) = after.split_once('"').expect("an attribute's value ends");
                attributes.push((key.to_owned(), value.to_owned()));
                rest = after;
            }
            assert_eq!(rest.trim(), "", "{tag}");
            if !tag.ends_with('/') {
                open.push(name.to_owned());
            }
            found.push((name.to_owned(), attributes));
        }
        assert!(open.is_empty(), "{open:?} stay open");
        found
    }

    #[test]
    fn the_plot_is_well_formed_and_shows_every_series_at_any_betas() {
        for betas in [&[1e-5, 1e-3, 0.1, 1.0, 1e5][..], &[0.25], &[1e-300, 1e300], &[0.2, 0.2000001]] {
            let frontier = frontier(betas, Some(betas[0]));
            let svg = super::svg(&frontier).unwrap();
            let elements = elements(&svg);
            for series in [ESS, SUCCESS].into_iter().chain(PRICES) {
                let RGBColor(r, g, b) = series.colour;
                let colour = format!("#{r:02X}{g:02X}{b:02X}");
                let drawn = |name: &str| {
                    let coloured =
                        |attributes: &[(String, String)]| attributes.iter().any(|(_, value)| *value == colour);
                    elements.iter().filter(|(n, attributes)| n == name && coloured(attributes)).count()
                };
                // A mark for each row and one in the legend; a curve and its piece in the legend.
                assert_eq!(drawn("circle"), betas.len() + 1, "{} at {betas:?}", series.label);
                assert!(drawn("polyline") + drawn("line") >= 2, "{} at {betas:?}", series.label);
                assert!(svg.contains(series.label));
            }
            let words = ["beta, logarithmic", "support price, reward", "recommended beta", "floor, 2 completions"];
            assert!(words.iter().all(|word| svg.contains(word)));
            for (name, value) in elements.iter().flat_map(|(_, attributes)| attributes) {
                for number in
                    value.split([',', ' ']).filter(|_| ["points", "x", "y", "cx", "cy"].contains(&name.as_str()))
                {
                    let inside = number.is_empty() || number.parse::<f64>().is_ok_and(|n| (-1.0..=1241.0).contains(&n));
                    assert!(inside, "{name}=\"{value}\" at {betas:?}");
                }
            }
        }
    }

    #[test]
    fn negative_rewards_and_a_price_of_zero_are_plotted_within_the_panels() {
        let mut frontier = frontier(&[0.1, 1.0], None);
        for row in &mut frontier.rows {
            row.target_success = -3.0;
            (row.support_price_low, row.support_price_high, row.support_price_good_turing) = (0.0, 0.0, 0.0);
        }
        assert_eq!(span(&frontier, &PRICES, 0.0..0.0), 0.0..1.0);
        assert_eq!(span(&frontier, &[ESS, SUCCESS], 0.0..1.0).start, -3.0);
        frontier.rollout_set = String::from("<&\"rs_1'>");
        let svg = super::svg(&frontier).unwrap();
        elements(&svg);
        assert!(!svg.contains("recommended beta"));
    }

    #[test]
    fn an_axis_has_ticks_for_any_span() {
        for (low, high) in [(0.25, 0.25), (0.02, 5.0), (0.3, 0.301), (1e-5, 1e5), (1e-300, 1e300)] {
            let ticks = LogAxis::over([low, high].into_iter()).ticks(10);
            assert!((2..=10).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        }
    }
}
