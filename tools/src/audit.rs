//! `cargo xtask audit`: verifies the audit logs of a running platform, and prints them as one, in the order of time.

use std::fmt::Write as _;

use anyhow::{Context, bail, ensure};
use jiff::{SignedDuration, Timestamp};
use machine::{access::Access, client::Api, config::Config};
use serde_json::Value;

/// An access token or API key of an administrator; the platform's own administrator if it is not set.
const TOKEN: &str = "AUDIT_TOKEN";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the gateway, for a platform that `up` has not started
    #[arg(long, requires = "token")]
    gateway: Option<String>,
    /// Access token or API key (`platform:read`) of an administrator
    #[arg(long, env = TOKEN, hide_env_values = true)]
    token: Option<String>,
    /// Entries of this tenant; those of the platform if absent
    #[arg(long)]
    tenant: Option<String>,
    /// Entries since this time (RFC 3339), or for this long (`90m`, `12h`, `7d`)
    #[arg(long, value_parser = parse_since, default_value = "1d")]
    since: Since,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let api = api(&args).await?;
    let mut broken = 0;
    for (service, log) in platform::audit_logs() {
        let found = api.get(&format!("/v1/{log}/verification")).await?;
        let items = found["broken"].as_array().context("no list of broken entries")?;
        println!(
            "{service:<9} {} chains, {} entries, {} broken",
            found["chains"],
            found["entries"],
            items.len()
        );
        for item in items {
            println!(
                "          broken: {} of {}",
                item["number"],
                item["tenant_id"].as_str().unwrap_or("the platform")
            );
        }
        broken += items.len();
    }
    #[expect(clippy::disallowed_methods, reason = "the time of the command")]
    let since = args.since.before(Timestamp::now())?;
    let mut entries = Vec::new();
    for (service, log) in platform::audit_logs() {
        let of = args.tenant.as_deref().map(|tenant| format!("tenant_id={tenant}&")).unwrap_or_default();
        entries.extend(read(&api, service, &format!("/v1/{log}?{of}limit=100"), since).await?);
    }
    println!();
    for entry in merged(entries) {
        println!("{entry}");
    }
    ensure!(broken == 0, "{broken} entries were changed, inserted or deleted");
    Ok(())
}

/// A client with the given token, or signed in as the administrator of a platform that `up` has started.
async fn api(args: &Args) -> anyhow::Result<Api> {
    let access = || -> anyhow::Result<Access> {
        let file = Config::data_of_running()?.join(Access::FILE);
        let text = std::fs::read_to_string(&file).with_context(|| {
            format!(
                "{} is missing; start the platform with `cargo xtask up`, or use --gateway",
                file.display()
            )
        })?;
        Ok(serde_json::from_str(&text)?)
    };
    let gateway = match &args.gateway {
        Some(gateway) => gateway.trim_end_matches('/').to_owned(),
        None => access()?.gateway,
    };
    let mut api = Api::new(&gateway)?;
    match &args.token {
        Some(token) => {
            api.token = Some(token.clone());
            Ok(api)
        }
        None => api.sign_in(&access()?.administrator).await,
    }
}

/// The entries of one log since a time. Pages are newest first.
async fn read(api: &Api, service: &str, path: &str, since: Timestamp) -> anyhow::Result<Vec<Entry>> {
    let (mut entries, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("{path}{cursor}")).await?;
        for item in page["items"].as_array().context("no items")? {
            let entry = Entry::of(service, item)?;
            if entry.at < since {
                return Ok(entries);
            }
            entries.push(entry);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(entries),
        }
    }
}

/// All entries, oldest first.
fn merged(mut entries: Vec<Entry>) -> Vec<String> {
    entries.sort_by(|one, other| one.at.cmp(&other.at).then_with(|| one.line.cmp(&other.line)));
    entries.into_iter().map(|entry| entry.line).collect()
}

/// A line of the view.
struct Entry {
    at: Timestamp,
    line: String,
}

impl Entry {
    fn of(service: &str, item: &Value) -> anyhow::Result<Self> {
        let text = |name: &str| item[name].as_str();
        let at = text("at").context("an entry has no time")?.parse::<Timestamp>()?;
        let who = match (text("user_id"), text("service")) {
            (Some(user), None) => user.to_owned(),
            (Some(user), Some(service)) => format!("{user} via {service}"),
            (None, Some(service)) => service.to_owned(),
            (None, None) => bail!("entry {} of {service} has neither a user nor a service", item["number"]),
        };
        let as_admin = if item["is_admin"] == true { " (admin)" } else { "" };
        let mut line = format!(
            "{at:.3} {service:<8} #{:<5} {who}{as_admin} {} {}",
            item["number"].as_i64().unwrap_or_default(),
            text("operation").unwrap_or("?"),
            item["status"]
        );
        for (label, value) in [
            ("path", text("path")),
            ("created", text("created")),
            ("key", text("api_key_id")),
            ("from", text("address")),
            ("request", text("request_id")),
        ] {
            if let Some(value) = value {
                let _ = write!(line, " {label}={value}");
            }
        }
        Ok(Self { at, line })
    }
}

/// Since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Time(Timestamp),
    Ago(SignedDuration),
}

impl Since {
    fn before(self, now: Timestamp) -> anyhow::Result<Timestamp> {
        match self {
            Self::Time(time) => Ok(time),
            Self::Ago(time) => now.checked_sub(time).context("--since is too long ago"),
        }
    }
}

fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(time) = text.parse() {
        return Ok(Since::Time(time));
    }
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => return Err("is neither a time nor a duration such as 12h".to_owned()),
    };
    let count: i64 = text[..text.len() - 1].parse().map_err(|_| "is not a number of m, h or d".to_owned())?;
    let seconds = count.checked_mul(unit).filter(|seconds| *seconds >= 0).ok_or("is too long")?;
    Ok(Since::Ago(SignedDuration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(service: &str, at: &str, more: &Value) -> Entry {
        let mut item = json!({ "number": 7, "at": at, "user_id": "usr_1", "operation": "POST /v1/instances",
            "status": 202, "is_admin": false, "path": "/v1/instances", "service": null });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Entry::of(service, &item).unwrap()
    }

    #[test]
    fn entries_of_all_services_are_in_the_order_of_time() {
        let lines = merged(vec![
            entry("gpu", "2026-11-23T10:00:02.5Z", &json!({ "created": "/v1/instances/inst_1" })),
            entry("gpu", "2026-11-23T10:00:00Z", &json!({ "api_key_id": "akey_1" })),
            entry("storage", "2026-11-23T10:00:01Z", &json!({ "service": "gpu", "address": "192.0.2.7" })),
            entry("storage", "2026-11-23T10:00:03Z", &json!({ "user_id": null, "service": "gpu" })),
            entry("identity", "2026-11-23T10:00:04Z", &json!({ "is_admin": true, "request_id": "r-1" })),
        ]);
        assert_eq!(
            lines,
            [
                "2026-11-23T10:00:00.000Z gpu      #7     usr_1 POST /v1/instances 202 path=/v1/instances key=akey_1",
                "2026-11-23T10:00:01.000Z storage  #7     usr_1 via gpu POST /v1/instances 202 path=/v1/instances from=192.0.2.7",
                "2026-11-23T10:00:02.500Z gpu      #7     usr_1 POST /v1/instances 202 path=/v1/instances created=/v1/instances/inst_1",
                "2026-11-23T10:00:03.000Z storage  #7     gpu POST /v1/instances 202 path=/v1/instances",
                "2026-11-23T10:00:04.000Z identity #7     usr_1 (admin) POST /v1/instances 202 path=/v1/instances request=r-1",
            ]
        );
    }

    #[test]
    fn since_is_a_time_or_a_duration() {
        let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90m", "2026-11-23T10:30:00Z"),
            ("12h", "2026-11-23T00:00:00Z"),
            ("7d", "2026-11-16T12:00:00Z"),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(parse_since(text).unwrap().before(now).unwrap(), expected, "{text}");
        }
        for bad in ["", "x", "d", "-1d", "1w", "99999999999999999h"] {
            assert!(parse_since(bad).is_err(), "{bad}");
        }
    }
}
