//! A benchmark's rows as plots: both axes logarithmic, a line per series, its floor dashed beside
//! it. One plot per kind of unit, because times and rates share no axis.
//!
//! The SVG has no colours of its own: classes take them from the page's style, which has a light
//! and a dark set. Labels are those of the axes only; the legend is text of the page, where it can
//! wrap. Only rows that carry a `Point` are drawn, and only where a line has two points.

use std::fmt::Write;

use crate::figure::{Row, Unit, size_name};

/// Classes `s0` … of the style; later series repeat them with dashes and hollow marks.
pub const COLOURS: usize = 8;

/// With more lines than this, their floors would hide them.
const FLOORED_LINES_MAX: usize = 4;

/// Of the drawing, and of the part between the axes. The page scales it; at 480 px, the least that
/// the page gives it, the labels are 11 px high.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// Least distance of two labels, which are 13 px high and up to 50 px wide.
const LABEL_X_MIN: f64 = 54.0;
const LABEL_Y_MIN: f64 = 20.0;
/// Room above and below the values, as a factor.
const AIR: f64 = 1.35;

struct Line<'a> {
    series: &'a str,
    /// Position, value, floor.
    points: Vec<(f64, f64, Option<f64>)>,
}

/// The plots with their legends, as elements of a page.
pub fn figures(bench: &str, rows: &[&Row], escape: fn(&str) -> String) -> String {
    let mut kinds: Vec<(Unit, Vec<&Row>)> = Vec::new();
    for &row in rows.iter().filter(|row| row.point.is_some()) {
        match kinds.iter_mut().find(|(unit, _)| *unit == row.unit) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((row.unit, vec![row])),
        }
    }
    let drawn = kinds.iter().filter_map(|(unit, rows)| {
        let lines = lines(rows);
        let axis = rows.first()?.point.as_ref()?.axis;
        let drawing = svg(bench, axis, *unit, &lines)?;
        let legend = legend(&lines, escape);
        Some(format!(
            "<figure><div class=\"plot\">{drawing}</div>{legend}</figure>"
        ))
    });
    drawn.collect()
}

fn lines<'a>(rows: &[&'a Row]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for row in rows {
        let Some(point) = &row.point else { continue };
        let floor = row.floor.as_ref().map(|floor| floor.value.median);
        let place = (point.x, row.value.median, floor);
        match lines.iter_mut().find(|line| line.series == point.series) {
            Some(line) => line.points.push(place),
            None => lines.push(Line {
                series: &point.series,
                points: vec![place],
            }),
        }
    }
    lines.retain(|line| line.points.len() > 1);
    lines
}

/// Where a value is drawn on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.begin + share * (self.end - self.begin)
    }
}

/// The plot, or nothing when there is no line to draw.
fn svg(bench: &str, axis: &str, unit: Unit, lines: &[Line<'_>]) -> Option<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let mut xs: Vec<f64> = points().map(|point| point.0).collect();
    if xs.is_empty() || xs.iter().any(|x| *x <= 0.0) {
        return None;
    }
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let floored = lines.len() <= FLOORED_LINES_MAX;
    let ys = || {
        let floors = points().filter_map(|point| point.2.filter(|_| floored));
        // A share of nothing has no place on a logarithmic axis.
        points()
            .map(|point| point.1)
            .chain(floors)
            .map(|y| y.max(1e-3))
    };
    let (low, high) = (ys().fold(f64::MAX, f64::min), ys().fold(f64::MIN, f64::max));
    let across = Axis {
        low: xs[0] / 1.25,
        high: xs[xs.len() - 1] * 1.25,
        begin: LEFT,
        end: RIGHT,
    };
    let up = Axis {
        low: low / AIR,
        high: high * AIR,
        begin: BOTTOM,
        end: TOP,
    };
    let mut text = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{bench}, {axis} against {}\">",
        unit.symbol()
    );
    grid(&mut text, axis, unit, &xs, &across, &up);
    for (index, line) in lines.iter().enumerate() {
        let place = |x: f64, y: f64| (across.at(x), up.at(y));
        let floors = line
            .points
            .iter()
            .filter_map(|point| Some((point.0, point.2?)));
        let floors: Vec<_> = floors.map(|(x, y)| place(x, y)).collect();
        if floored && floors.len() > 1 {
            put(
                &mut text,
                format_args!("<path class=\"floor s{index}\" d=\"{}\"/>", path(&floors)),
            );
        }
        let places: Vec<_> = line
            .points
            .iter()
            .map(|point| place(point.0, point.1))
            .collect();
        let class = class(index);
        put(
            &mut text,
            format_args!("<path class=\"{class}\" d=\"{}\"/>", path(&places)),
        );
        for (x, y) in places {
            put(&mut text, format_args!("{}", mark(index, x, y)));
        }
    }
    text.push_str("</svg>");
    Some(text)
}

/// Axes, and lines across where their labels are.
fn grid(text: &mut String, axis: &str, unit: Unit, xs: &[f64], across: &Axis, up: &Axis) {
    let mut last = f64::MIN;
    for x in xs {
        let at = across.at(*x);
        put(
            text,
            format_args!("<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>"),
        );
        if at - last >= LABEL_X_MIN {
            last = at;
            let label = match axis {
                "bytes" => size_name(*x as usize),
                _ => format!("{x}"),
            };
            let below = BOTTOM + 19.0;
            put(
                text,
                format_args!("<text x=\"{at:.1}\" y=\"{below}\" class=\"middle\">{label}</text>"),
            );
        }
    }
    let mut last = f64::MAX;
    for y in ticks(up.low, up.high) {
        let at = up.at(y);
        if last - at < LABEL_Y_MIN {
            continue;
        }
        last = at;
        let (label, left, baseline) = (tick_label(unit, y), LEFT - 8.0, at + 4.5);
        put(
            text,
            format_args!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>"),
        );
        put(
            text,
            format_args!("<text x=\"{left}\" y=\"{baseline:.1}\" class=\"end\">{label}</text>"),
        );
    }
    put(
        text,
        format_args!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>"),
    );
    let (middle, below) = ((LEFT + RIGHT) / 2.0, HEIGHT - 10.0);
    let name = if axis == "bytes" { "message" } else { axis };
    put(
        text,
        format_args!("<text x=\"{middle}\" y=\"{below}\" class=\"middle name\">{name}</text>"),
    );
}

/// A round number without zeroes that say nothing: "500 ns", "1 µs".
fn tick_label(unit: Unit, value: f64) -> String {
    let scale = unit.fitting(value);
    let number = (value * scale.factor * 1e4).round() / 1e4;
    format!("{number} {}", scale.symbol).trim_end().to_owned()
}

fn put(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("a String takes any text");
}

fn path(points: &[(f64, f64)]) -> String {
    let steps = points.iter().enumerate().map(|(index, (x, y))| {
        let step = if index == 0 { 'M' } else { 'L' };
        format!("{step}{x:.1} {y:.1}")
    });
    steps.collect()
}

/// Colour, and dashes for series that repeat one.
fn class(index: usize) -> String {
    let again = if index < COLOURS { "" } else { " again" };
    format!("line s{}{again}", index % COLOURS)
}

/// A mark of the series: four shapes, so that lines differ without their colours, too.
fn mark(index: usize, x: f64, y: f64) -> String {
    let hollow = if index < COLOURS { "" } else { " hollow" };
    let class = format!("mark s{}{hollow}", index % COLOURS);
    let shape = match index % 4 {
        0 => return format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>"),
        1 => format!("M{:.1} {:.1}h6.4v6.4h-6.4z", x - 3.2, y - 3.2),
        2 => format!("M{x:.1} {:.1}l4.2 7.2h-8.4z", y - 4.6),
        _ => format!("M{x:.1} {:.1}l4.6 4.6l-4.6 4.6l-4.6 -4.6z", y - 4.6),
    };
    format!("<path class=\"{class}\" d=\"{shape}\"/>")
}

/// The series with their marks, and what dashes mean.
fn legend(lines: &[Line<'_>], escape: fn(&str) -> String) -> String {
    let entry = |class: &str, mark: &str, name: &str| {
        format!(
            "<li><svg viewBox=\"0 0 30 12\" aria-hidden=\"true\"><path class=\"{class}\" \
             d=\"M1 6H29\"/>{mark}</svg>{name}</li>"
        )
    };
    let mut entries: String = lines
        .iter()
        .enumerate()
        .map(|(index, line)| entry(&class(index), &mark(index, 15.0, 6.0), &escape(line.series)))
        .collect();
    let has_floor =
        |line: &Line<'_>| line.points.iter().filter(|point| point.2.is_some()).count() > 1;
    if lines.len() <= FLOORED_LINES_MAX && lines.iter().any(has_floor) {
        entries.push_str(&entry("floor", "", "its floor"));
    }
    format!("<figcaption><ul class=\"legend\">{entries}</ul></figcaption>")
}

/// 1, 2, 5, 10, 20 … between two bounds; only the powers of ten when there would be more than a
/// dozen.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let steps: &[f64] = if powers.clone().count() > 5 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    powers
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_line_needs_two_points() {
        let report = example();
        let rows: Vec<_> = report
            .rows
            .iter()
            .filter(|row| row.bench == "latency")
            .collect();
        let drawn = figures("latency", &rows, str::to_owned);
        for part in ["<svg viewBox", "64 KiB", "its floor", "one way", ">1 µs<"] {
            assert!(drawn.contains(part), "no {part} in {drawn}");
        }
        assert_eq!(figures("latency", &rows[..1], str::to_owned), "");
        assert_eq!(figures("wait", &[&report.rows[3]], str::to_owned), "");
    }

    #[test]
    fn times_and_rates_have_plots_of_their_own() {
        let row = |unit, series: &str, x| {
            Row::new("network", "a", unit, &[2.0]).plotted(series, "bytes", x)
        };
        let rows = [
            row(Unit::Nanoseconds, "one way", 8.0),
            row(Unit::Nanoseconds, "one way", 64.0),
            row(Unit::GigabytesPerSecond, "stream", 8.0),
            row(Unit::GigabytesPerSecond, "stream", 64.0),
        ];
        let drawn = figures("network", &rows.iter().collect::<Vec<_>>(), str::to_owned);
        assert_eq!(drawn.matches("<figure>").count(), 2);
        assert!(
            drawn.contains(">2 ns<") && drawn.contains(">2 GB/s<"),
            "{drawn}"
        );
    }

    #[test]
    fn labels_do_not_touch() {
        let xs: Vec<f64> = (0..24).map(|power| f64::from(1 << power)).collect();
        let row = |x: &f64| {
            Row::new("rate", "a", Unit::Nanoseconds, &[*x]).plotted("one way", "bytes", *x)
        };
        let rows: Vec<Row> = xs.iter().map(row).collect();
        let drawn = figures("rate", &rows.iter().collect::<Vec<_>>(), str::to_owned);
        assert!(drawn.matches("class=\"middle\"").count() < 12, "{drawn}");
    }
}
