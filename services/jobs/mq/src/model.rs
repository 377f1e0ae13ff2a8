//! The job of a message, and why it is refused. Pure.

use std::collections::BTreeSet;

use api::{FieldError, Problem};
use ids::TenantId;
use jiff::Timestamp;
use jobs_core::{
    application::Method,
    cost::Money,
    kind::{GroupMode, Kind},
    refusal::{Code, Refusal},
};
use results::InputMissing;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use submission::{NewJob, Refused};
use uuid::Uuid;

use super::{
    message::{Message, Properties},
    topology::queue_of,
};

/// Media type of a message with its header in the body.
const ENVELOPE: &str = "application/vnd.atelier.envelope+json";
/// Media type of other messages, including those without one.
const JSON: &str = "application/json";
/// Maximum number of bytes of a body. The parameters are checked by themselves.
const MAX_BODY: usize = 512 << 10;
/// Maximum number of bytes of parameters.
const MAX_PARAMETERS: usize = 256 << 10;

/// Why the job of a message was not submitted.
pub(super) fn refusal_of(refused: Refused) -> Refusal {
    match refused {
        Refused::Invalid(errors) => {
            let code = match errors.first().map(|error| error.pointer.as_str()) {
                Some("/method" | "/application") => Code::UnknownMethod,
                Some("/deadline") => Code::DeadlinePassed,
                Some(pointer) if pointer.starts_with("/parameters") => Code::InvalidParameters,
                _ => Code::Malformed,
            };
            let details = errors.into_iter().map(|error| format!("{}: {}", error.pointer, error.detail));
            Refusal::new(code, details.collect::<Vec<_>>().join("; "))
        }
        Refused::ReqNoReused(job) => {
            Refusal::new(Code::ReqNoReused, format!("{job} has this reqNo and other content, or was deleted"))
        }
        Refused::InputMissing(InputMissing(ids)) => {
            Refusal::new(Code::InputMissing, format!("no such uploads or models: {}", ids.join(", ")))
        }
        Refused::ModelMissing(needs, known) => {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Refusal::new(
                Code::ModelMissing,
                format!("no pool has the model {}; known are: {known}", needs.name),
            )
        }
        Refused::TooManyJobs(limit) => {
            Refusal::new(Code::TooManyJobs, format!("the tenant already has {limit} open jobs, the maximum"))
        }
        Refused::NoPool => Refusal::new(Code::NoCapacityEver, "no pool of GPUs runs jobs"),
    }
}

/// The refusal of a message whose tenant cannot submit jobs.
pub(super) fn suspended() -> Refusal {
    Refusal::new(Code::TenantSuspended, "the tenant is suspended or being deleted")
}

fn malformed(detail: impl Into<String>) -> Refusal {
    Refusal::new(Code::Malformed, detail)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    header: Map<String, Value>,
    body: Body,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    method: String,
    parameters: Value,
}

/// The name of a kind in messages.
pub(super) fn task_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Training => "TP",
        Kind::Generation => "GC",
        Kind::Batch => "BC",
    }
}

/// Returns the job of a message of the tenant.
pub(super) fn read(message: &Message, tenant: TenantId) -> Result<NewJob, Refusal> {
    let Properties { reply_to, headers, .. } = &message.properties;
    if message.body.len() > MAX_BODY {
        return Err(Refusal::new(Code::TooLarge, format!("a message has at most {MAX_BODY} bytes")));
    }
    if reply_to.as_ref().is_some_and(|queue| *queue != queue_of(tenant)) {
        return Err(malformed(format!("reply_to can only be {}", queue_of(tenant))));
    }
    let invalid = |error: serde_json::Error| malformed(format!("the body is not valid: {error}"));
    let (mut headers, body) = match media_type(&message.properties).as_str() {
        ENVELOPE => {
            let Envelope { header, body } = serde_json::from_slice(&message.body).map_err(invalid)?;
            (header, body)
        }
        JSON => (headers.clone(), serde_json::from_slice(&message.body).map_err(invalid)?),
        other => return Err(malformed(format!("the content type {other:?} is not supported"))),
    };
    api::lossless::check(&message.body).map_err(lossy)?;
    // like a null member of a request
    headers.retain(|_, value| !value.is_null());
    check_known(&headers)?;
    let req_no = req_no(&message.properties, &headers)?;
    let priority = priority(headers.get("priority"))?;
    let deadline = deadline(headers.get("x-deadline"))?;
    let max_cost = max_cost(headers.get("x-max-cost"))?;
    let (group, group_mode) = group(&headers)?;
    let report_progress = report_progress(headers.get("x-progress"))?;
    let unknown = || Refusal::new(Code::UnknownMethod, format!("no application has {:?}", body.method));
    let (application, name) = body.method.rsplit_once('.').ok_or_else(unknown)?;
    let method = Method::find(application, name).ok_or_else(unknown)?;
    let expected = task_type(method.kind());
    match headers.get("taskType").and_then(Value::as_str) {
        Some(named) if named == expected => {}
        Some("TP" | "GC" | "BC") => {
            let detail = format!("the taskType of {} is {expected}", body.method);
            return Err(Refusal::new(Code::TaskTypeMismatch, detail));
        }
        _ => return Err(malformed("the header taskType is TP, GC or BC")),
    }
    if body.parameters.to_string().len() > MAX_PARAMETERS {
        let detail = format!("parameters have at most {MAX_PARAMETERS} bytes");
        return Err(Refusal::new(Code::TooLarge, detail));
    }
    Ok(NewJob {
        application: application.to_owned(),
        method: name.to_owned(),
        parameters: body.parameters,
        priority: Some(priority),
        level: None,
        group,
        group_mode,
        deadline,
        req_no: Some(req_no),
        max_cost,
        pool: None,
        gang: None,
        report_progress,
    })
}

/// The refusal of a number or member that would not be kept, with the same text as for the body of a request.
fn lossy(problem: Problem) -> Refusal {
    let field = |FieldError { pointer, detail }| FieldError {
        pointer: pointer.strip_prefix("/body").unwrap_or(&pointer).to_owned(),
        detail,
    };
    let errors: Vec<FieldError> = problem.errors.into_iter().map(field).collect();
    refusal_of(Refused::Invalid(errors))
}

/// The media type of a message: parameters such as `charset` and the case of letters are ignored, as in
/// requests.
fn media_type(properties: &Properties) -> String {
    let content_type = properties.content_type.as_deref().unwrap_or(JSON);
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Refuses headers that ask for something unsupported. Others belong to clients and brokers.
fn check_known(headers: &Map<String, Value>) -> Result<(), Refusal> {
    let refused: BTreeSet<&String> = headers.keys().filter(|name| name.starts_with("x-atelier-")).collect();
    match refused.first() {
        Some(name) => Err(malformed(format!("the header {name} is not supported"))),
        None => Ok(()),
    }
}

/// Returns the request number, wherever it is. For answers to messages that are refused.
pub(super) fn any_req_no(message: &Message) -> Option<Uuid> {
    if media_type(&message.properties) == ENVELOPE && message.body.len() <= MAX_BODY {
        let body: Value = serde_json::from_slice(&message.body).ok()?;
        return req_no(&message.properties, body["header"].as_object()?).ok();
    }
    req_no(&message.properties, &message.properties.headers).ok()
}

fn req_no(properties: &Properties, headers: &Map<String, Value>) -> Result<Uuid, Refusal> {
    let invalid = || malformed("the header reqNo or correlation_id is a UUID");
    let header = headers.get("reqNo").filter(|value| !value.is_null());
    let in_header = header.map(|value| value.as_str().ok_or_else(invalid)).transpose()?;
    let parse = |text: Option<&str>| text.map(Uuid::try_parse).transpose().map_err(|_| invalid());
    match (parse(in_header)?, parse(properties.correlation_id.as_deref())?) {
        (Some(one), Some(other)) if one != other => Err(malformed("reqNo and correlation_id differ")),
        (one, other) => one.or(other).ok_or_else(invalid),
    }
}

fn priority(header: Option<&Value>) -> Result<u8, Refusal> {
    let invalid = || malformed("the header priority is 0 to 9");
    let Some(value) = header else { return Ok(5) };
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok()).ok_or_else(invalid)?;
    u8::try_from(number).ok().filter(|priority| *priority <= 9).ok_or_else(invalid)
}

fn deadline(header: Option<&Value>) -> Result<Option<Timestamp>, Refusal> {
    let invalid = || malformed("the header x-deadline is a time, as 2026-12-01T08:00:00Z");
    header.map(|value| value.as_str().and_then(|text| text.parse().ok()).ok_or_else(invalid)).transpose()
}

/// An amount and its currency: `0.5 USD`, or the form of requests.
fn max_cost(header: Option<&Value>) -> Result<Option<Money>, Refusal> {
    let Some(value) = header else { return Ok(None) };
    let money = match value.as_str().map(|text| text.split_once(' ')) {
        Some(Some((amount, currency))) => {
            Money::deserialize(json!({ "amount": amount, "currency": currency }))
        }
        _ => Money::deserialize(value),
    };
    money.map(Some).map_err(|_| malformed("the header x-max-cost is an amount and a currency, as 0.5 USD"))
}

fn report_progress(header: Option<&Value>) -> Result<bool, Refusal> {
    match header.map(Value::as_str) {
        None | Some(Some("none")) => Ok(false),
        Some(Some("coarse")) => Ok(true),
        Some(_) => Err(malformed("the header x-progress is none or coarse")),
    }
}

fn group(headers: &Map<String, Value>) -> Result<(Option<String>, Option<GroupMode>), Refusal> {
    let invalid = || malformed("the header group is a name, and x-group-mode is strict or prefer");
    let name = headers.get("group").map(|value| value.as_str().map(str::to_owned).ok_or_else(invalid));
    let mode = headers.get("x-group-mode").map(|value| GroupMode::deserialize(value).map_err(|_| invalid()));
    Ok((name.transpose()?, mode.transpose()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = "3f2b1c7e-0f51-4c0e-9f0e-6a3f1c2d4b5a";

    fn message(headers: Value, body: &Value) -> Message {
        let Value::Object(headers) = headers else { panic!("headers are an object") };
        Message {
            properties: Properties { headers, ..Properties::default() },
            body: body.to_string().into_bytes(),
            fault: None,
        }
    }

    fn fox() -> Value {
        json!({ "method": "stable-diffusion.txt2img", "parameters": { "prompt": "a fox" } })
    }

    fn code(message: &Message) -> Code {
        read(message, TenantId::new()).unwrap_err().code
    }

    #[test]
    fn a_message_is_read_from_its_headers_and_from_an_envelope() {
        let header = json!({ "reqNo": NUMBER, "priority": 8, "taskType": "GC",
                             "x-deadline": "2030-01-01T00:00:00Z", "x-max-cost": "0.50 USD", "traceparent": "00-1-1-01" });
        let plain = read(&message(header.clone(), &fox()), TenantId::new()).unwrap();
        assert_eq!((plain.application.as_str(), plain.method.as_str()), ("stable-diffusion", "txt2img"));
        assert_eq!((plain.priority, plain.req_no), (Some(8), Some(NUMBER.parse().unwrap())));
        assert_eq!(plain.deadline, Some("2030-01-01T00:00:00Z".parse().unwrap()));
        assert_eq!(json!(plain.max_cost), json!({ "amount": "0.5", "currency": "USD" }));
        let mut enveloped = message(json!({}), &json!({ "header": header, "body": fox() }));
        enveloped.properties.content_type = Some(ENVELOPE.to_owned());
        assert_eq!(json!(read(&enveloped, TenantId::new()).unwrap()), json!(plain));
        assert_eq!(any_req_no(&enveloped), plain.req_no);
    }

    #[test]
    fn numbers_that_would_be_rounded_are_refused_as_in_requests() {
        let header = json!({ "reqNo": NUMBER, "taskType": "GC" });
        let mut plain = message(header.clone(), &fox());
        let mut enveloped = message(json!({}), &json!({ "header": header, "body": fox() }));
        enveloped.properties.content_type = Some(ENVELOPE.to_owned());
        for message in [&mut plain, &mut enveloped] {
            let text = String::from_utf8(message.body.clone()).unwrap();
            for number in ["12345678901234567890123", "0.1234567890123456789", "1e-400"] {
                message.body =
                    text.replace("\"a fox\"", &format!("\"a fox\",\"seed\":{number}")).into_bytes();
                let refusal = read(message, TenantId::new()).unwrap_err();
                assert_eq!(refusal.code, Code::InvalidParameters, "{number}");
                assert!(refusal.detail.starts_with("/parameters/seed: "), "{}", refusal.detail);
            }
            message.body = text.into_bytes();
            assert!(read(message, TenantId::new()).is_ok());
        }
    }

    #[test]
    fn content_types_are_those_of_requests() {
        let header = json!({ "reqNo": NUMBER, "taskType": "GC" });
        let mut plain = message(header.clone(), &fox());
        for content_type in [
            "application/json",
            "application/json; charset=utf-8",
            "application/json;charset=UTF-8",
            "Application/JSON ; charset=\"utf-8\"",
            "application/json;",
            " application/json ",
        ] {
            plain.properties.content_type = Some(content_type.to_owned());
            assert!(read(&plain, TenantId::new()).is_ok(), "{content_type}");
        }
        for content_type in
            ["text/plain", "text/json", "application/jsonl", "application/problem+json", "json", ";"]
        {
            plain.properties.content_type = Some(content_type.to_owned());
            assert_eq!(code(&plain), Code::Malformed, "{content_type}");
        }
        let mut enveloped = message(json!({}), &json!({ "header": header, "body": fox() }));
        enveloped.properties.content_type = Some(format!("{}; charset=utf-8", ENVELOPE.to_uppercase()));
        assert!(read(&enveloped, TenantId::new()).is_ok());
        assert_eq!(any_req_no(&enveloped), Some(NUMBER.parse().unwrap()));
    }

    #[test]
    fn headers_that_are_null_are_absent() {
        let names =
            ["priority", "x-deadline", "x-max-cost", "x-progress", "group", "x-group-mode", "x-atelier-key"];
        let mut header = json!({ "reqNo": NUMBER, "taskType": "GC" });
        let expected = json!(read(&message(header.clone(), &fox()), TenantId::new()).unwrap());
        for name in names {
            header[name] = Value::Null;
        }
        let mut plain = message(header.clone(), &fox());
        assert_eq!(json!(read(&plain, TenantId::new()).unwrap()), expected);
        let mut enveloped = message(json!({}), &json!({ "header": header, "body": fox() }));
        enveloped.properties.content_type = Some(ENVELOPE.to_owned());
        assert_eq!(json!(read(&enveloped, TenantId::new()).unwrap()), expected);
        // another place may have the number
        plain.properties.headers.insert("reqNo".to_owned(), Value::Null);
        assert_eq!(code(&plain), Code::Malformed);
        plain.properties.correlation_id = Some(NUMBER.to_owned());
        assert_eq!(json!(read(&plain, TenantId::new()).unwrap()), expected);
        assert_eq!(any_req_no(&plain), Some(NUMBER.parse().unwrap()));
        plain.properties.headers.insert("taskType".to_owned(), Value::Null);
        assert_eq!(code(&plain), Code::Malformed);
    }

    #[test]
    fn values_have_the_types_that_clients_send() {
        let read_with = |name: &str, value: Value| {
            let mut header = json!({ "reqNo": NUMBER, "taskType": "GC" });
            header[name] = value;
            read(&message(header, &fox()), TenantId::new())
        };
        let cost = json!({ "amount": "0.5", "currency": "USD" });
        for value in [json!("0.5 USD"), cost.clone()] {
            assert_eq!(json!(read_with("x-max-cost", value).unwrap().max_cost), cost);
        }
        for (number, expected) in [(json!(0), 0), (json!("9"), 9)] {
            assert_eq!(read_with("priority", number).unwrap().priority, Some(expected));
        }
        for number in [NUMBER.to_uppercase(), NUMBER.replace('-', ""), format!("{{{NUMBER}}}")] {
            assert_eq!(read_with("reqNo", json!(number)).unwrap().req_no, Some(NUMBER.parse().unwrap()));
        }
        for (name, bad) in [
            ("priority", json!(8.5)),
            ("priority", json!([8])),
            ("priority", json!(true)),
            ("reqNo", json!(7)),
            ("taskType", json!(["GC"])),
            ("group", json!(7)),
            ("x-deadline", json!(1_893_456_000)),
            ("x-max-cost", json!({ "amount": "0.5" })),
        ] {
            assert_eq!(read_with(name, bad.clone()).unwrap_err().code, Code::Malformed, "{name} {bad}");
        }
    }

    #[test]
    fn the_number_may_be_the_correlation_id_and_not_another() {
        let mut one = message(json!({ "taskType": "GC" }), &fox());
        assert_eq!(code(&one), Code::Malformed);
        one.properties.correlation_id = Some(NUMBER.to_owned());
        let read = read(&one, TenantId::new()).unwrap();
        assert_eq!((read.req_no, read.priority), (Some(NUMBER.parse().unwrap()), Some(5)));
        one.properties.headers.insert("reqNo".to_owned(), json!(Uuid::new_v4().to_string()));
        assert_eq!(code(&one), Code::Malformed);
    }

    #[test]
    fn each_fault_has_its_code() {
        let with = |name: &str, value: Value| {
            let mut headers = json!({ "reqNo": NUMBER, "taskType": "GC" });
            headers[name] = value;
            message(headers, &fox())
        };
        for (bad, expected) in [
            (with("reqNo", json!("7")), Code::Malformed),
            (with("priority", json!(10)), Code::Malformed),
            (with("priority", json!(-1)), Code::Malformed),
            (with("priority", json!("high")), Code::Malformed),
            (with("taskType", json!("TP")), Code::TaskTypeMismatch),
            (with("taskType", json!("XX")), Code::Malformed),
            (with("x-deadline", json!("tomorrow")), Code::Malformed),
            (with("x-max-cost", json!("1")), Code::Malformed),
            (with("x-max-cost", json!("much USD")), Code::Malformed),
            (with("x-progress", json!("fine")), Code::Malformed),
            (with("x-progress", json!(true)), Code::Malformed),
            (with("x-atelier-key", json!("k")), Code::Malformed),
            (message(json!({ "reqNo": NUMBER, "taskType": "GC" }), &json!([])), Code::Malformed),
            (
                message(
                    json!({ "reqNo": NUMBER, "taskType": "GC" }),
                    &json!({ "method": "stable-diffusion.img2vid", "parameters": {} }),
                ),
                Code::UnknownMethod,
            ),
            (
                message(
                    json!({ "reqNo": NUMBER, "taskType": "GC" }),
                    &json!({ "method": "txt2img", "parameters": {} }),
                ),
                Code::UnknownMethod,
            ),
            (
                message(
                    json!({ "reqNo": NUMBER, "taskType": "GC" }),
                    &json!({ "method": "stable-diffusion.txt2img", "parameters": "x".repeat(MAX_PARAMETERS) }),
                ),
                Code::TooLarge,
            ),
            (
                message(json!({ "reqNo": NUMBER, "taskType": "GC" }), &json!("x".repeat(MAX_BODY))),
                Code::TooLarge,
            ),
        ] {
            assert_eq!(code(&bad), expected, "{:?}", bad.properties);
        }
        for (value, expected) in [("none", false), ("coarse", true)] {
            let read = read(&with("x-progress", json!(value)), TenantId::new()).unwrap();
            assert_eq!(read.report_progress, expected);
        }
        assert!(read(&with("priority", json!("9")), TenantId::new()).is_ok());
        let mut foreign = with("priority", json!(9));
        let tenant = TenantId::new();
        foreign.properties.reply_to = Some(queue_of(tenant));
        assert!(read(&foreign, tenant).is_ok());
        assert_eq!(code(&foreign), Code::Malformed);
    }
}
