//! Metrics, the window of a request, and how spans of time become points. Pure.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A metric of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    /// Share of time in which the GPU was busy.
    GpuUtilization,
    /// Used memory of the GPU.
    GpuMemoryUsed,
    /// Free memory of the GPU.
    GpuMemoryFree,
    /// Temperature of the GPU.
    GpuTemperature,
    /// Power draw of the GPU.
    GpuPower,
    /// Code of the last Xid error of the GPU; 0 if there was none.
    GpuXidError,
    /// CPU time per second.
    CpuUsage,
    /// Memory that cannot be reclaimed (working set).
    MemoryUsed,
    /// Used bytes of the container's own disk; storages do not count.
    DiskUsed,
    /// Bytes read from disks per second.
    DiskRead,
    /// Bytes written to disks per second.
    DiskWritten,
    /// Bytes received per second.
    NetworkReceived,
    /// Bytes sent per second.
    NetworkSent,
}

/// Unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// 0 to 100.
    Percent,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
    /// CPU cores: seconds of CPU time per second.
    Cores,
    /// A code of the driver.
    Code,
}

impl Metric {
    /// All, in the order of the response.
    pub(super) const ALL: [Self; 13] = [
        Self::GpuUtilization,
        Self::GpuMemoryUsed,
        Self::GpuMemoryFree,
        Self::GpuTemperature,
        Self::GpuPower,
        Self::GpuXidError,
        Self::CpuUsage,
        Self::MemoryUsed,
        Self::DiskUsed,
        Self::DiskRead,
        Self::DiskWritten,
        Self::NetworkReceived,
        Self::NetworkSent,
    ];

    pub(super) fn unit(self) -> Unit {
        match self {
            Self::GpuUtilization => Unit::Percent,
            Self::GpuMemoryUsed | Self::GpuMemoryFree | Self::MemoryUsed | Self::DiskUsed => Unit::Bytes,
            Self::GpuTemperature => Unit::Celsius,
            Self::GpuPower => Unit::Watts,
            Self::GpuXidError => Unit::Code,
            Self::CpuUsage => Unit::Cores,
            Self::DiskRead | Self::DiskWritten | Self::NetworkReceived | Self::NetworkSent => {
                Unit::BytesPerSecond
            }
        }
    }

    /// Whether the nodes of a cluster report it.
    pub(super) fn is_reported_by_nodes(self) -> bool {
        matches!(
            self,
            Self::CpuUsage | Self::MemoryUsed | Self::DiskUsed | Self::NetworkReceived | Self::NetworkSent
        )
    }

    /// How the values of one step become one.
    fn summary(self) -> Summary {
        if self == Self::GpuXidError { Summary::Largest } else { Summary::Average }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Summary {
    /// Weighted by time.
    Average,
    /// An average of codes is not a code.
    Largest,
}

/// Shortest step, in seconds.
pub(super) const MIN_STEP: i64 = 15;
/// Longest step, in seconds.
pub(super) const MAX_STEP: i64 = 86_400;
/// Most points of a series.
pub(super) const MAX_POINTS: i64 = 1000;
/// Longest window, in seconds.
pub(super) const MAX_WINDOW: i64 = 31 * 86_400;
/// The window of a request that gives no beginning, in seconds.
const DEFAULT_WINDOW: i64 = 3600;
/// Maximum number of points of a series for which the server chooses the step.
const DEFAULT_POINTS: i64 = 360;
/// The steps that the server chooses from.
const STEPS: [i64; 13] = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, MAX_STEP];

/// Why a window cannot be answered: the parameter, and a sentence for people.
pub(super) type Invalid = (&'static str, String);

/// The points of a response: whole steps since 1970 that cover the requested window. Times are seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Beginning of the first step.
    pub(super) start: i64,
    /// Number of steps.
    pub(super) points: usize,
    pub(super) step: i64,
}

impl Window {
    /// The window of a request at the time `now`. Its future part is left out.
    pub(super) fn new(
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        step: Option<i64>,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        let now = now.as_second();
        let to = to.map_or(now, |to| to.as_second().min(now));
        let from = from.map_or(to.saturating_sub(DEFAULT_WINDOW), Timestamp::as_second);
        if from >= to {
            return Err(("from", "must be before `to`, and in the past".to_owned()));
        }
        if to - from > MAX_WINDOW {
            let days = MAX_WINDOW / 86_400;
            return Err(("from", format!("must be at most {days} days before `to`")));
        }
        let step = match step {
            Some(step) if (MIN_STEP..=MAX_STEP).contains(&step) => step,
            Some(_) => return Err(("step", format!("must be {MIN_STEP} to {MAX_STEP} seconds"))),
            None => {
                let fits = |step: &i64| (to - from) / step < DEFAULT_POINTS;
                STEPS.into_iter().find(fits).unwrap_or(MAX_STEP)
            }
        };
        let start = from.div_euclid(step) * step;
        let points = (to - start - 1) / step + 1;
        if points > MAX_POINTS {
            let shortest = (to - from) / (MAX_POINTS - 1) + 1;
            return Err((
                "step",
                format!(
                    "the window would have {points} points of at most {MAX_POINTS}; use {shortest} or more"
                ),
            ));
        }
        Ok(Self { start, points: usize::try_from(points).unwrap_or_default(), step })
    }

    /// End of the last step.
    pub(super) fn end(&self) -> i64 {
        self.start + self.step * i64::try_from(self.points).unwrap_or_default()
    }

    pub(super) fn start_time(&self) -> Timestamp {
        time(self.start)
    }

    pub(super) fn end_time(&self) -> Timestamp {
        time(self.end())
    }
}

/// Returns the time `second`; a window contains no time that is out of range.
pub(super) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or_default()
}

/// A value that holds from `start` to `end`, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) value: f64,
}

impl Span {
    /// The part of it that lies between two times; none if there is none.
    pub(super) fn clipped(self, start: f64, end: f64) -> Option<Self> {
        let span = Self { start: self.start.max(start), end: self.end.min(end), ..self };
        (span.start < span.end).then_some(span)
    }
}

/// Returns a value for each step of the window: the average of the spans over the time that they cover in it, or their
/// largest value for codes. A step that no span touches has none.
pub(super) fn points(metric: Metric, window: &Window, spans: &[Span]) -> Vec<Option<f64>> {
    #[derive(Clone, Copy, Default)]
    struct Step {
        covered: f64,
        area: f64,
        largest: Option<f64>,
    }
    let mut steps = vec![Step::default(); window.points];
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in an f64")]
    let (start, step, end) = (window.start as f64, window.step as f64, window.end() as f64);
    for span in spans.iter().filter_map(|span| span.clipped(start, end)) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the span lies in the window"
        )]
        let first = ((span.start - start) / step) as usize;
        let mut begin = start;
        begin += step * first as f64;
        for bucket in steps.iter_mut().skip(first) {
            let Some(part) = span.clipped(begin, begin + step) else { break };
            let seconds = part.end - part.start;
            bucket.covered += seconds;
            bucket.area += seconds * part.value;
            bucket.largest = Some(bucket.largest.map_or(part.value, |largest| largest.max(part.value)));
            begin += step;
        }
    }
    let value = |step: &Step| match metric.summary() {
        Summary::Average => (step.covered > 0.0).then(|| step.area / step.covered),
        Summary::Largest => step.largest,
    };
    steps.iter().map(|step| value(step).map(rounded)).collect()
}

/// Six digits after the point are more than any source has.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests;
