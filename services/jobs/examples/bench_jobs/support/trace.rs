//! Requests for pictures: a generator with the numbers of a public trace, and a reader of the trace itself.
//!
//! The numbers were fitted to GenTD26 (`alibaba/clusterdata`, cluster-trace-v2026-GenAI): 26,392 requests of 4,240 groups
//! for 79 base models in 23 days. Nothing of the trace is in this repository.

use std::collections::BTreeMap;

use super::Random;

/// A request for pictures. Times in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) at: u64,
    pub(crate) model: u64,
    /// The requesting group.
    pub(crate) group: u64,
    /// Loading the model.
    pub(crate) load: u64,
    pub(crate) run: u64,
    /// Requests of a class take about the same time: pictures and steps.
    pub(crate) class: u64,
}

/// Parts of the requests by model: measured for the first 20, the others share the rest.
const MODELS: [f64; 20] = [
    0.312, 0.151, 0.095, 0.080, 0.074, 0.043, 0.036, 0.029, 0.027, 0.027, 0.022, 0.009, 0.0075, 0.007, 0.007,
    0.005, 0.004, 0.004, 0.004, 0.003,
];
const RARE_MODELS: usize = 59;
const GROUPS: u64 = 4_240;
/// Requests by hour of the day.
const HOURS: [f64; 24] = [
    3777.0, 1075.0, 1155.0, 1177.0, 658.0, 358.0, 330.0, 253.0, 119.0, 45.0, 36.0, 2.0, 1.0, 3.0, 3.0, 40.0,
    634.0, 2295.0, 2752.0, 607.0, 1063.0, 3282.0, 3262.0, 3466.0,
];
/// Requests by day.
const DAYS: [f64; 24] = [
    106.0, 95.0, 111.0, 64.0, 749.0, 1415.0, 1464.0, 1380.0, 109.0, 1495.0, 1582.0, 1582.0, 1591.0, 1885.0,
    303.0, 284.0, 1789.0, 2627.0, 2259.0, 2466.0, 2145.0, 554.0, 264.0, 73.0,
];
/// Requests of a group come in sessions of about four.
const SESSION: [(f64, f64); 7] =
    [(0.0, 1.0), (0.35, 1.0), (0.5, 2.0), (0.75, 4.0), (0.9, 8.0), (0.99, 28.0), (1.0, 60.0)];
/// Seconds between requests of a session.
const GAP: [(f64, f64); 7] =
    [(0.0, 5.0), (0.1, 27.0), (0.25, 41.0), (0.5, 65.0), (0.75, 119.0), (0.9, 217.0), (1.0, 504.0)];
/// The next request of a group has the same model.
const SAME_MODEL: f64 = 0.72;
/// Seconds of a request as its user sees them; the mean is 28.9.
const SECONDS: [(f64, f64); 12] = [
    (0.0, 3.0),
    (0.01, 8.0),
    (0.05, 11.0),
    (0.1, 13.0),
    (0.25, 17.0),
    (0.5, 23.0),
    (0.75, 33.0),
    (0.9, 53.0),
    (0.95, 70.0),
    (0.99, 106.0),
    (0.999, 160.0),
    (1.0, 567.0),
];
const SECONDS_MEAN: f64 = 28.9;
/// Milliseconds of pure inference in the mean; times are scaled to it.
const INFERENCE: f64 = 15_100.0;
/// As many requests as the trace has.
pub(crate) const REQUESTS: usize = 26_392;
const DAY: f64 = 86_400.0;

/// A trace of `count` requests like GenTD26, compressed in time, with one load time for all models.
pub(crate) fn generate(count: usize, seed: u64, compression: u64, load: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let mut models = MODELS.to_vec();
    let rest = 1.0 - MODELS.iter().sum::<f64>();
    models.extend([rest / RARE_MODELS as f64; RARE_MODELS]);
    let mut requests = Vec::with_capacity(count);
    while requests.len() < count {
        // popular groups: half of the requests come from less than a tenth of the groups
        let group = ((random.unit().powi(3)) * GROUPS as f64) as u64;
        let (day, hour) = (random.weighted(&DAYS), random.weighted(&HOURS));
        let mut at = (day as f64 + (hour as f64 + random.unit()) / 24.0) * DAY;
        let mut model = random.weighted(&models);
        for _ in 0..random.quantile(&SESSION).round() as usize {
            let class = random.weighted(&[0.58, 0.19, 0.15, 0.08]) as u64;
            // more pictures take longer: in the trace, four take 1.5 times as long
            let slower = [0.88, 1.2, 1.2, 1.0][class as usize];
            let run = random.quantile(&SECONDS) / SECONDS_MEAN * INFERENCE * slower;
            requests.push(Request {
                at: (at * 1_000.0) as u64 / compression,
                model: model as u64,
                group,
                load,
                run: run as u64,
                class,
            });
            at += random.quantile(&GAP);
            if random.unit() > SAME_MODEL {
                model = random.weighted(&models);
            }
        }
    }
    requests.truncate(count);
    requests.sort_by_key(|request| request.at);
    requests
}

/// The requests of `lora_request_trace.csv` that succeeded, with their mean scaled to pure inference.
pub(crate) fn read(path: &str, compression: u64, load: u64) -> Result<Vec<Request>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        header.iter().position(|one| *one == name).ok_or_else(|| format!("{path} has no column {name}"))
    };
    let (at, status, seconds) =
        (column("gmt_create")?, column("predict_status")?, column("exec_time_seconds")?);
    let (group, pictures) = (column("groupId")?, column("num_images_per_prompt")?);
    let (steps, model) = (column("num_inference_steps")?, column("checkpoint_model_version_id")?);
    let mut numbers = BTreeMap::new();
    let mut requests = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |column: usize| fields.get(column).copied().unwrap_or_default();
        let number = |column: usize| field(column).parse::<f64>().unwrap_or_default();
        let (Some(at), true) = (time(field(at)), field(status) == "SUCCEED") else { continue };
        let next = numbers.len() as u64;
        let model = *numbers.entry(field(model).to_owned()).or_insert(next);
        let next = numbers.len() as u64;
        let group = *numbers.entry(field(group).to_owned()).or_insert(next);
        let class = number(pictures) as u64 * 1_000 + number(steps) as u64;
        requests.push(Request { at, model, group, load, run: (number(seconds) * 1_000.0) as u64, class });
    }
    let mean = requests.iter().map(|request| request.run).sum::<u64>() as f64 / requests.len().max(1) as f64;
    requests.sort_by_key(|request| request.at);
    let first = requests.first().map_or(0, |request| request.at);
    for request in &mut requests {
        request.at = (request.at - first) / compression;
        request.run = (request.run as f64 / mean * INFERENCE) as u64;
    }
    Ok(requests)
}

/// Milliseconds of a time like `2024-11-15 16:57:50`, since some day.
pub(super) fn time(text: &str) -> Option<u64> {
    let numbers: Vec<u64> =
        text.split(['-', ' ', ':']).map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let [year, month, day, hour, minute, second] = numbers[..] else { return None };
    // days of the civil calendar, with years that begin in March
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
}
