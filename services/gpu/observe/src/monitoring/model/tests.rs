use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_800_000_000;

fn window(from: Option<i64>, to: Option<i64>, step: Option<i64>) -> Result<Window, Invalid> {
    Window::new(from.map(time), to.map(time), step, time(NOW))
}

#[test]
fn the_server_chooses_a_window_and_a_step() {
    let hour = window(None, None, None).unwrap();
    assert_eq!((hour.start, hour.step, hour.points), (NOW - 3600, 15, 240));
    let week = window(Some(NOW - 7 * 86_400), None, None).unwrap();
    assert_eq!(week.step, 1800);
    let month = window(Some(NOW - 31 * 86_400), None, None).unwrap();
    assert_eq!(month.step, 14_400);
    // the future is left out
    assert_eq!(window(None, Some(NOW + 500), None).unwrap().end(), NOW);
}

#[test]
fn points_are_aligned_and_cover_the_window() {
    let aligned = window(Some(NOW - 100), Some(NOW - 1), Some(60)).unwrap();
    assert_eq!((aligned.start, aligned.points, aligned.end()), (NOW - 120, 2, NOW));
    let one = window(Some(NOW - 1), None, Some(86_400)).unwrap();
    assert_eq!((one.start % 86_400, one.points), (0, 1));
    assert!(one.start < NOW && one.end() >= NOW);
}

#[test]
fn what_is_too_much_or_nonsense_is_refused() {
    for (from, to, step, pointer) in [
        (Some(NOW), None, None, "from"),
        (Some(NOW + 100), Some(NOW + 200), None, "from"),
        (Some(NOW - 10), Some(NOW - 20), None, "from"),
        (Some(NOW - 32 * 86_400), None, None, "from"),
        (None, None, Some(0), "step"),
        (None, None, Some(14), "step"),
        (None, None, Some(-60), "step"),
        (None, None, Some(86_401), "step"),
        (Some(NOW - 86_400), None, Some(60), "step"),
        (Some(i64::from(i32::MIN)), None, None, "from"),
    ] {
        let refused = window(from, to, step).unwrap_err();
        assert_eq!(refused.0, pointer, "{from:?} {to:?} {step:?}");
    }
    // the step that it advises is enough
    let (_, advice) = window(Some(NOW - 86_399), None, Some(60)).unwrap_err();
    let step: i64 = advice.split_whitespace().filter_map(|word| word.parse().ok()).next_back().unwrap();
    assert!(window(Some(NOW - 86_399), None, Some(step)).is_ok(), "{advice}");
}

fn span(start: i32, end: i32, value: f64) -> Span {
    let second = |second: i32| f64::from(second);
    Span { start: second(start), end: second(end), value }
}

#[test]
fn a_step_without_a_span_is_a_gap() {
    let window = Window { start: 0, points: 4, step: 10 };
    let spans = [span(0, 10, 1.0), span(12, 14, 5.0), span(14, 20, 1.0), span(35, 99, 7.0)];
    assert_eq!(points(Metric::CpuUsage, &window, &spans), [Some(1.0), Some(2.0), None, Some(7.0)]);
    assert_eq!(points(Metric::CpuUsage, &window, &[]), [None; 4]);
    // an average of two codes would be another code
    assert_eq!(points(Metric::GpuXidError, &window, &spans), [Some(1.0), Some(5.0), None, Some(7.0)]);
}

fn spans() -> impl Strategy<Value = Vec<Span>> {
    // disjoint, in order, with gaps
    prop::collection::vec((0..200_i32, 1..300_i32, 0..1000_i32), 0..40).prop_map(|parts| {
        let mut at = -300;
        parts
            .into_iter()
            .map(|(gap, length, value)| {
                let start = at + gap;
                at = start + length;
                span(start, at, f64::from(value))
            })
            .collect()
    })
}

proptest! {
    /// A point is an average: between the smallest and the largest value of the spans in its step, there exactly where
    /// a span touches the step, and the same however the spans are cut.
    #[test]
    fn points_are_averages_of_what_their_step_has(spans in spans(), step in 15..500_i64, points_count in 1..60_usize) {
        let window = Window { start: 0, points: points_count, step };
        let found = points(Metric::CpuUsage, &window, &spans);
        prop_assert_eq!(found.len(), points_count);
        for (index, value) in found.iter().enumerate() {
            let start = f64::from(u32::try_from(index).unwrap()) * f64::from(u32::try_from(step).unwrap());
            let end = start + f64::from(u32::try_from(step).unwrap());
            let inside: Vec<f64> =
                spans.iter().filter_map(|span| span.clipped(start, end)).map(|span| span.value).collect();
            match value {
                None => prop_assert!(inside.is_empty(), "a gap at {start} in spite of {inside:?}"),
                Some(value) => {
                    let smallest = inside.iter().copied().fold(f64::INFINITY, f64::min);
                    let largest = inside.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    prop_assert!((smallest - 1e-6..=largest + 1e-6).contains(value), "{value} of {inside:?}");
                }
            }
        }
        let cut: Vec<Span> = spans
            .iter()
            .flat_map(|span| {
                let middle = f64::midpoint(span.start, span.end);
                [Span { end: middle, ..*span }, Span { start: middle, ..*span }]
            })
            .collect();
        for (whole, parts) in found.iter().zip(points(Metric::CpuUsage, &window, &cut)) {
            prop_assert_eq!(whole.is_some(), parts.is_some());
            prop_assert!((whole.unwrap_or_default() - parts.unwrap_or_default()).abs() < 1e-5);
        }
    }

    /// Whatever is requested, the answer is bounded and covers the window.
    #[test]
    fn every_window_is_bounded(from in 0..4_000_000_i64, length in -10..4_000_000_i64, step in prop::option::of(-5..100_000_i64)) {
        let to = NOW - 4_000_000 + from + length;
        let from = NOW - 4_000_000 + from;
        if let Ok(window) = window(Some(from), Some(to), step) {
            prop_assert!(i64::try_from(window.points).unwrap() <= MAX_POINTS && window.points > 0);
            prop_assert!(window.start <= from && window.end() >= to.min(NOW));
            prop_assert!(window.start > from - window.step && window.end() < to.min(NOW) + window.step);
            prop_assert_eq!(window.start % window.step, 0);
        }
    }
}
