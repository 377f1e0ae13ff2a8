use proptest::prelude::*;

use super::*;
use crate::instance::Announced;

/// Seconds of a step: a sample of the instance, and a report of the gateway.
const STEP: i64 = 15;
const STEPS: usize = 400;
const AFTER: i64 = 1800;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn config() -> IdleConfig {
    IdleConfig { check_seconds: 15, ..IdleConfig::default() }
}

fn terms(announced: Option<Announced>) -> IdleStop {
    IdleStop { after_seconds: 1800, gpu_below_percent: 5, cpu_below_percent: 5, announced }
}

fn load(end: i64, cpu_percent: f64) -> Load {
    Load { start: at(end - STEP), end: at(end), cpu_percent, gpu_percent: None }
}

fn loads(from: i64, to: i64) -> Vec<Load> {
    (from / STEP + 1..=to / STEP).map(|n| load(n * STEP, 1.0)).collect()
}

fn connections(known_to: i64) -> Connections {
    Connections { known_to: Some(at(known_to)), ..Connections::default() }
}

fn evaluated(
    terms: &IdleStop,
    progress: Progress,
    loads: &[Load],
    known: &Connections,
    now: i64,
) -> Evaluation {
    evaluate(terms, progress, loads, Begin::of(at(0), at(0), known), known, config(), at(now))
}

#[test]
fn an_idle_instance_is_announced_and_stopped() {
    let first = evaluated(&terms(None), Progress::default(), &loads(0, 1185), &connections(1190), 1190);
    assert_eq!((first.decision, first.next), (Decision::Keep, SignedDuration::from_secs(15)));
    let next = evaluated(&terms(None), first.progress, &loads(1185, 1200), &connections(1205), 1205);
    let Decision::Announce(data) = next.decision else { panic!("{next:?}") };
    assert_eq!((data.idle_since, data.stop_at), (at(0), at(1805)));
    assert_eq!((data.cpu_percent, data.gpu_percent), (1.0, None));
    let announced = Some(Announced { idle_since: data.idle_since, stop_at: data.stop_at });
    for (known_to, reported_to, decision) in
        [(1800, 1820, Decision::Keep), (1815, 1804, Decision::Keep), (1815, 1805, Decision::Stop)]
    {
        let known = connections(reported_to);
        let evaluation = evaluated(&terms(announced), next.progress, &loads(1200, known_to), &known, 1820);
        assert_eq!(evaluation.decision, decision, "{known_to} {reported_to}");
    }
}

#[test]
fn any_use_withdraws_the_announcement() {
    let announced = Some(Announced { idle_since: at(0), stop_at: at(1805) });
    let progress =
        evaluated(&terms(None), Progress::default(), &loads(0, 1200), &connections(1205), 1205).progress;
    let mut busy = loads(1200, 1290);
    busy[2].cpu_percent = 5.0;
    let mut busy_gpu = loads(1200, 1290);
    busy_gpu[2].gpu_percent = Some(5.0);
    let connected = Connections { connected_at: Some(at(1210)), ..connections(1290) };
    let lost = Connections { lost_to: Some(at(1210)), ..connections(1290) };
    let gap = &loads(1335, 1350)[..];
    for (loads, known, now, cause) in [
        (&busy[..], connections(1290), 1290, IdleStopWithdrawal::Used),
        (&busy_gpu, connections(1290), 1290, IdleStopWithdrawal::Used),
        (&loads(1200, 1290), connected, 1290, IdleStopWithdrawal::Connected),
        (&loads(1200, 1290), lost, 1290, IdleStopWithdrawal::Unknown),
        (&loads(1200, 1290), Connections::default(), 1290, IdleStopWithdrawal::Unknown),
        (&loads(1200, 1290), connections(1150), 1290, IdleStopWithdrawal::Unknown),
        (gap, connections(1350), 1350, IdleStopWithdrawal::Unknown),
        (&[], connections(1350), 1350, IdleStopWithdrawal::Unknown),
    ] {
        let evaluation = evaluated(&terms(announced), progress, loads, &known, now);
        assert_eq!(evaluation.decision, Decision::Withdraw(cause), "{known:?} {now}");
        assert!(evaluation.progress.idle_since.is_none_or(|since| since >= at(1210)), "{evaluation:?}");
    }
    // a new run
    let known = connections(1290);
    let begin = Begin::of(at(1250), at(0), &known);
    let evaluation =
        evaluate(&terms(announced), progress, &loads(1250, 1290), begin, &known, config(), at(1290));
    assert_eq!(evaluation.decision, Decision::Withdraw(IdleStopWithdrawal::NotRunning));
}

#[test]
fn a_short_time_without_samples_does_not_count() {
    let samples: Vec<Load> = loads(0, 600).into_iter().chain(loads(660, 1215)).collect();
    let evaluation = evaluated(&terms(None), Progress::default(), &samples, &connections(1220), 1220);
    let observed = SignedDuration::from_secs(1155);
    assert_eq!(evaluation.idleness, Idleness::Idle { since: at(0), observed });
    assert_eq!((evaluation.decision, evaluation.next), (Decision::Keep, SignedDuration::from_secs(45)));
}

#[test]
fn only_a_gateway_that_reports_makes_connections_known() {
    let reporter =
        |is_gateway, second, has_ended| Reporter { is_gateway, reported_at: at(second), has_ended };
    let known = |reporters: &[Reporter]| {
        let Connections { known_to, lost_to, .. } =
            Connections::reported(None, reporters, config(), at(2000));
        (known_to, lost_to)
    };
    assert_eq!(known(&[]), (None, None));
    assert_eq!(known(&[reporter(false, 1990, false)]), (None, None));
    assert_eq!(known(&[reporter(true, 1990, true)]), (None, None));
    assert_eq!(known(&[reporter(true, 1990, false), reporter(false, 1980, false)]), (Some(at(1980)), None));
    // silent for less, and for more than it may carry connections
    assert_eq!(known(&[reporter(true, 1990, false), reporter(true, 1200, false)]), (Some(at(1200)), None));
    assert_eq!(
        known(&[reporter(true, 1990, false), reporter(true, 1000, false)]),
        (Some(at(1990)), Some(at(1900)))
    );
}

/// What happens in a simulation from a step on, for some steps.
#[derive(Debug, Clone, Copy)]
enum Happening {
    /// CPU or GPU are used.
    Busy,
    /// A connection is open.
    Connected,
    /// There are no samples.
    NotSampled,
    /// The gateway works and cannot report.
    Silent,
    /// The gateway is killed, with what it did not report. Another one begins.
    Killed,
}

fn happening() -> impl Strategy<Value = (usize, usize, Happening)> {
    let kind = prop_oneof![
        Just(Happening::Busy),
        Just(Happening::Connected),
        Just(Happening::NotSampled),
        Just(Happening::Silent),
        Just(Happening::Killed),
    ];
    (0..STEPS, 1..20usize, kind)
}

#[derive(Debug, Default)]
struct Simulated {
    samples: Vec<Load>,
    /// Seconds at which the instance was used.
    used: Vec<i64>,
    announced: Option<(i64, Announced)>,
    stopped: Option<i64>,
}

fn simulate(happenings: &[(usize, usize, Happening)]) -> Simulated {
    let mut simulated = Simulated::default();
    let (mut progress, mut due) = (Progress::default(), 0);
    let mut reporters = vec![Reporter { is_gateway: true, reported_at: at(0), has_ended: false }];
    let (mut connected, mut reported) = (None, None);
    for n in 1..STEPS {
        let now = i64::try_from(n).unwrap() * STEP;
        let is = |wanted: fn(&Happening) -> bool| {
            happenings.iter().any(|(first, steps, what)| wanted(what) && (*first..first + steps).contains(&n))
        };
        let busy = is(|what| matches!(what, Happening::Busy));
        if !is(|what| matches!(what, Happening::NotSampled)) {
            simulated.samples.push(load(now, if busy { 50.0 } else { 0.0 }));
            if busy {
                simulated.used.push(now);
            }
        }
        if is(|what| matches!(what, Happening::Connected)) {
            connected = Some(at(now));
            simulated.used.push(now);
        }
        if happenings.iter().any(|(first, _, what)| matches!(what, Happening::Killed) && *first == n) {
            connected = reported;
            reporters.push(Reporter { is_gateway: true, reported_at: at(now), has_ended: false });
        } else if !is(|what| matches!(what, Happening::Silent)) {
            reported = connected;
            reporters.last_mut().unwrap().reported_at = at(now);
        }
        if now < due {
            continue;
        }
        let known = Connections::reported(reported, &reporters, config(), at(now));
        let terms = terms(simulated.announced.map(|(_, announced)| announced));
        let begin = Begin::of(at(0), at(0), &known);
        let evaluation = evaluate(&terms, progress, &simulated.samples, begin, &known, config(), at(now));
        assert!(evaluation.next >= SignedDuration::from_secs(STEP) && evaluation.next <= MAX_WAIT);
        (progress, due) = (evaluation.progress, now + evaluation.next.as_secs());
        match evaluation.decision {
            Decision::Keep => {}
            Decision::Announce(data) => {
                let announced = Announced { idle_since: data.idle_since, stop_at: data.stop_at };
                simulated.announced = Some((now, announced));
            }
            Decision::Withdraw(_) => simulated.announced = None,
            Decision::Stop => {
                simulated.stopped = Some(now);
                break;
            }
        }
    }
    simulated
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_instance_is_stopped_only_if_it_was_seen_idle_and_announced(
        happenings in prop::collection::vec(happening(), 0..6),
    ) {
        let simulated = simulate(&happenings);
        let Some(stopped) = simulated.stopped else { return Ok(()) };
        let (announced_at, Announced { idle_since, stop_at }) = simulated.announced.unwrap();
        prop_assert!(stopped - announced_at >= 600, "announced at {announced_at}, stopped at {stopped}");
        prop_assert!(at(announced_at + 600) <= stop_at && stop_at <= at(stopped));
        let used = simulated.used.iter().filter(|used| (idle_since..=stop_at).contains(&at(**used)) && at(**used) > idle_since);
        prop_assert_eq!(used.count(), 0, "used while it counted as idle");
        // what was not observed does not count
        let observed = simulated.samples.iter().filter(|load| load.start >= idle_since).count();
        prop_assert!(i64::try_from(observed).unwrap() * STEP >= AFTER, "{} samples", observed);
    }

    #[test]
    fn an_instance_that_stays_idle_is_stopped_soon(
        happenings in prop::collection::vec(happening(), 0..3),
    ) {
        let simulated = simulate(&happenings);
        // a killed gateway is not heard of for as long as it may be alive
        let last = |(first, steps, what): &(usize, usize, Happening)| match what {
            Happening::Killed => first + 60,
            _ => first + steps,
        };
        let last = i64::try_from(happenings.iter().map(last).max().unwrap_or_default()).unwrap() * STEP;
        let latest = last + AFTER + 2 * 600 + 60;
        if latest < i64::try_from(STEPS).unwrap() * STEP {
            prop_assert!(simulated.stopped.is_some_and(|stopped| stopped <= latest), "{simulated:?} by {latest}");
        }
    }
}
