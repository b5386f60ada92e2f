//! A benchmark's rows as one SVG plot: both axes logarithmic, a line per series, the floor dashed
//! beside it.
//!
//! Only rows that carry a `Point` are drawn, and only when they make at least one line of two
//! points.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Row, digits, size_name};

/// Distinguishable in print and by colour-blind readers; series beyond the tenth repeat.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 240),
    RGBColor(140, 86, 75),
    RGBColor(0, 0, 0),
    RGBColor(190, 170, 0),
];
const FLOOR: RGBColor = RGBColor(130, 130, 130);
const GRID: RGBColor = RGBColor(228, 228, 228);
const INK: RGBColor = RGBColor(40, 40, 40);

/// With more lines than this, their floors would hide them.
const FLOORED_LINES_MAX: usize = 4;

struct Line<'a> {
    series: &'a str,
    /// Position, value, floor.
    points: Vec<(f64, f64, Option<f64>)>,
}

/// The plot, or nothing when there is no line to draw.
pub fn svg(bench: &str, rows: &[&Row]) -> Option<String> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in rows {
        let Some(point) = &row.point else { continue };
        let place = (
            point.x,
            row.value.median,
            row.floor.as_ref().map(|floor| floor.value.median),
        );
        match lines.iter_mut().find(|line| line.series == point.series) {
            Some(line) => line.points.push(place),
            None => lines.push(Line {
                series: &point.series,
                points: vec![place],
            }),
        }
    }
    lines.retain(|line| line.points.len() > 1);
    let first = rows.iter().find(|row| row.point.is_some())?;
    let (unit, axis) = (first.unit.symbol(), first.point.as_ref()?.axis);
    let mut xs: Vec<f64> = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0)
        .collect();
    let ys = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .flat_map(|point| [Some(point.1), point.2])
            .flatten()
    };
    let positive = |value: f64| value.max(1e-3);
    let (low, high) = (
        positive(ys().fold(f64::MAX, f64::min)),
        positive(ys().fold(f64::MIN, f64::max)),
    );
    if lines.is_empty() || xs.iter().any(|x| *x <= 0.0) {
        return None;
    }
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let mut text = String::new();
    draw(
        &mut text,
        bench,
        axis,
        unit,
        &lines,
        &xs,
        (low / 1.5, high * 1.8),
    )
    .expect("drawing into a string cannot fail");
    Some(text)
}

fn draw(
    text: &mut String,
    bench: &str,
    axis: &str,
    unit: &str,
    lines: &[Line<'_>],
    xs: &[f64],
    (low, high): (f64, f64),
) -> Result<(), Box<dyn std::error::Error>> {
    let font = |size: i32| ("sans-serif", size).into_font().color(&INK);
    let root = SVGBackend::with_string(text, (900, 400)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = (xs[0] / 1.25, xs[xs.len() - 1] * 1.25);
    let (plot, legend) = root.split_horizontally(640);
    let mut chart = ChartBuilder::on(&plot)
        .caption(format!("{bench}, {unit}"), font(18))
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(62)
        .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
    chart.draw_series([PathElement::new(
        [(left, high), (left, low), (right, low)],
        INK,
    )])?;
    // Ticks stand where the measurements are on the horizontal axis, and at 1, 2, 5, 10 … on the
    // vertical one.
    let centred = font(12).pos(Pos::new(HPos::Center, VPos::Top));
    for (tick, x) in xs.iter().enumerate() {
        // A dozen labels fit; of more, every second is written.
        if xs.len() <= 12 || tick % 2 == 0 {
            let (pixel, bottom) = chart.backend_coord(&(*x, low));
            let label = if axis == "bytes" {
                size_name(*x as usize)
            } else {
                format!("{x}")
            };
            root.draw(&Text::new(label, (pixel, bottom + 8), centred.clone()))?;
        }
        chart.draw_series([PathElement::new([(*x, low), (*x, high)], GRID)])?;
    }
    for y in decades(low, high) {
        let (start, pixel) = chart.backend_coord(&(left, y));
        let label = digits(y);
        let label = if label.contains('.') {
            label.trim_end_matches('0').trim_end_matches('.')
        } else {
            &label
        };
        let right_aligned = font(12).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(
            label.to_owned(),
            (start - 8, pixel),
            right_aligned,
        ))?;
        chart.draw_series([PathElement::new([(left, y), (right, y)], GRID)])?;
    }
    let (middle, bottom) = chart.backend_coord(&((left * right).sqrt(), low));
    root.draw(&Text::new(axis, (middle, bottom + 26), centred))?;

    let mut entry = 44;
    let mut label = |style: ShapeStyle, name: &str| -> Result<(), Box<dyn std::error::Error>> {
        legend.draw(&PathElement::new([(0, entry + 6), (22, entry + 6)], style))?;
        legend.draw(&Text::new(name.to_owned(), (28, entry), font(13)))?;
        entry += 21;
        Ok(())
    };
    let mut floors = false;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let points = || line.points.iter().map(|point| (point.0, point.1.max(low)));
        chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
        chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
        label(colour.stroke_width(2), line.series)?;
        let below: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter_map(|point| Some((point.0, point.2?)))
            .collect();
        if below.len() > 1 && lines.len() <= FLOORED_LINES_MAX {
            floors = true;
            chart.draw_series(DashedLineSeries::new(below, 5, 4, FLOOR.stroke_width(1)))?;
        }
    }
    if floors {
        label(FLOOR.stroke_width(1), "floor (dashed)")?;
    }
    root.present()?;
    Ok(())
}

/// 1, 2, 5, 10, 20 … between two bounds; only the powers of ten when there would be more than a
/// dozen.
fn decades(low: f64, high: f64) -> Vec<f64> {
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

    #[test]
    fn a_line_needs_two_points() {
        let report = example();
        let rows: Vec<_> = report
            .rows
            .iter()
            .filter(|row| row.bench == "latency")
            .collect();
        let drawn = super::svg("latency", &rows).unwrap();
        assert!(
            drawn.starts_with("<svg")
                && drawn.contains("64 KiB")
                && drawn.contains("floor (dashed)")
        );
        assert!(super::svg("latency", &rows[..1]).is_none());
        assert!(super::svg("wait", &[&report.rows[3]]).is_none());
    }
}
