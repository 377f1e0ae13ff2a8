//! The text about the place in the queue, on the page of an instance that waits.

use std::time::Duration;

use gpu_api::QueuePlace;

use crate::html::Language;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// A sentence about the place and one about the time. `wait` is the time until a unit is expected.
pub(super) fn text(place: QueuePlace, wait: Option<Duration>, language: Language) -> String {
    let QueuePlace { position, length, .. } = place;
    let expected = wait.map(About::of);
    match language {
        Language::English => {
            let when = match expected {
                Some(About::Moment) => "A unit is expected within a minute.".to_owned(),
                Some(About::Minutes(1)) => "A unit is expected in about 1 minute.".to_owned(),
                Some(About::Minutes(n)) => format!("A unit is expected in about {n} minutes."),
                Some(About::Hours(n)) => format!("A unit is expected in about {n} hours."),
                None => "There is no estimate: too few units have been released in the last day.".to_owned(),
            };
            format!("Place {position} of {length} in the queue. {when}")
        }
        Language::Chinese => {
            let when = match expected {
                Some(About::Moment) => "预计一分钟内有空闲单元。".to_owned(),
                Some(About::Minutes(n)) => format!("预计约 {n} 分钟后有空闲单元。"),
                Some(About::Hours(n)) => format!("预计约 {n} 小时后有空闲单元。"),
                None => "暂无预计时间：最近一天释放的单元太少。".to_owned(),
            };
            format!("排队位置：第 {position} 位，共 {length} 个。{when}")
        }
    }
}

/// A rounded time.
#[derive(Debug, PartialEq, Eq)]
enum About {
    Moment,
    Minutes(u64),
    Hours(u64),
}

impl About {
    fn of(wait: Duration) -> Self {
        match wait.as_secs() {
            seconds if seconds < MINUTE => Self::Moment,
            seconds if seconds < 2 * HOUR => Self::Minutes((seconds + MINUTE / 2) / MINUTE),
            seconds => Self::Hours((seconds + HOUR / 2) / HOUR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded() {
        for (seconds, about) in [
            (0, About::Moment),
            (59, About::Moment),
            (60, About::Minutes(1)),
            (89, About::Minutes(1)),
            (90, About::Minutes(2)),
            (2 * HOUR - 1, About::Minutes(120)),
            (2 * HOUR, About::Hours(2)),
            (2 * HOUR + HOUR / 2, About::Hours(3)),
        ] {
            assert_eq!(About::of(Duration::from_secs(seconds)), about, "{seconds}");
        }
    }

    #[test]
    fn the_sentence_has_the_place_and_the_time() {
        let place = QueuePlace { position: 3, length: 7, starts_at: None };
        let wait = Some(Duration::from_secs(12 * MINUTE));
        assert_eq!(
            text(place, wait, Language::English),
            "Place 3 of 7 in the queue. A unit is expected in about 12 minutes."
        );
        assert_eq!(
            text(place, wait, Language::Chinese),
            "排队位置：第 3 位，共 7 个。预计约 12 分钟后有空闲单元。"
        );
        assert!(
            text(place, None, Language::English)
                .ends_with("There is no estimate: too few units have been released in the last day.")
        );
        assert!(text(place, None, Language::Chinese).contains("暂无预计时间"));
    }
}
