//! Ids: those of another tenant are answered exactly like those that do not exist.

use std::collections::BTreeMap;

use crate::support::{
    Answer, Caller, Operation, Person, Place, Platform, Right, Slot, Tenant, Which, audited, changes,
    operations, rows_of, send, two_tenants,
};
use reqwest::Method;
use uuid::Uuid;

/// Kinds of ids that belong to the platform: there is no foreign one.
const OF_THE_PLATFORM: [&str; 10] = [
    "unit",
    "dc",
    "spec",
    "img",
    "sspec",
    "pool",
    "work",
    "provider",
    "get_datacenter.id",
    "get_storage_spec.id",
];

/// Operations that need what another program makes: an OpenID provider, an authenticator. Their effects are shown in the
/// tests of the identity service.
const OF_OTHER_PROGRAMS: [&str; 6] = [
    "start_sign_in",
    "redeem_sign_in",
    "start_account_link",
    "start_totp",
    "create_passkey",
    "create_passkey_session",
];

/// Operations that only stream, without an id and without an end. Whose events they show is tested in the gateway and the services.
pub(crate) const STREAMS: [&str; 3] = ["follow_all", "follow_storage_events", "follow_stock_events"];

/// Which units are free depends on what instances claim. The effect is shown in the tests of the stock service.
const OF_FREE_UNITS: &str = "remove_stock_unit";

/// Operations that end what others need, in the order in which they are sent, after all others.
const LAST: [&str; 9] = [
    "delete_platform_worker",
    "remove_member",
    "delete_user",
    "delete_gpu_spec",
    "delete_storage_spec",
    "delete_datacenter",
    "delete_tenant",
    "change_password",
    "end_session",
];

/// Operations that are not in the audit log: two store nothing, and the others belong to a sign-in that is.
const UNRECORDED: [&str; 4] = ["quote_instance", "quote_job", "refresh_session", "create_passkey_challenge"];

/// One of the own, foreign or missing values for each id of a request.
type Combination<'a> = Vec<(&'a Slot, Which)>;

struct Matrix<'a> {
    platform: &'a Platform,
    own: &'a Tenant,
    foreign: &'a Tenant,
    /// Answers by caller, operation, values and combination.
    missing: BTreeMap<String, Answer>,
    requests: usize,
    failures: Vec<String>,
}

/// All combinations of the required ids, alone and with each optional one.
fn combinations(operation: &Operation) -> Vec<Combination<'_>> {
    let mut all = product(operation.required.iter());
    for optional in &operation.optional {
        all.extend(product(operation.required.iter().chain([optional])));
    }
    all
}

fn product<'a>(slots: impl Iterator<Item = &'a Slot>) -> Vec<Combination<'a>> {
    slots.fold(vec![Vec::new()], |combinations, slot| {
        let with = |combination: &Combination<'a>, which| {
            let mut combination = combination.clone();
            combination.push((slot, which));
            combination
        };
        let kinds: &[Which] = if OF_THE_PLATFORM.contains(&slot.kind.as_str()) {
            &[Which::Own, Which::Missing]
        } else {
            &[Which::Own, Which::Foreign, Which::Missing]
        };
        combinations.iter().flat_map(|one| kinds.iter().map(move |which| with(one, *which))).collect()
    })
}

/// A value of the kind that nothing has.
fn missing(kind: &str) -> String {
    let random = Uuid::now_v7().simple();
    match kind {
        "access_key_id" => random.to_string()[..20].to_uppercase(),
        kind if kind.ends_with(".id") => format!("missing-{random}"),
        prefix => format!("{prefix}_{random}"),
    }
}

impl<'a> Matrix<'a> {
    fn caller(&self, person: &'a Person) -> Caller<'a> {
        let gateway = &self.platform.gateway;
        Caller { client: gateway.token(&person.token), is_admin: false, person, gateway }
    }

    /// Sends the request with the `n`-th value of each kind.
    async fn answer(
        &mut self,
        operation: &Operation,
        caller: &Caller<'_>,
        combination: &Combination<'_>,
        n: usize,
    ) -> Answer {
        let value = |(slot, which): &(&'_ Slot, Which)| {
            let of = |tenant: &Tenant| {
                let values = tenant.values(&slot.kind);
                values[n % values.len()].clone()
            };
            match which {
                Which::Own => of(self.own),
                Which::Foreign => of(self.foreign),
                Which::Missing => missing(&slot.kind),
            }
        };
        let filled: Vec<_> = combination.iter().map(|one| (one.0, value(one))).collect();
        // the key of a request of the other tenant
        let is_foreign = combination.iter().any(|(_, which)| *which == Which::Foreign);
        let response = send(operation, caller, &filled, is_foreign.then_some("beta")).await;
        self.requests += 1;
        let sent: Vec<_> = filled.into_iter().map(|(slot, value)| (slot.kind.clone(), value)).collect();
        let answer = Answer::new(&response, &sent);
        let what = || format!("{} {combination:?} of {}", operation.id, caller.person.email);
        if answer.status >= 500 {
            self.failures.push(format!("{}: a server error\n    {answer}", what()));
        }
        // ids that were sent are hidden
        let uuids = self.foreign.uuids(self.own);
        let leaks = uuids.iter().any(|id| answer.to_string().contains(&id.simple().to_string()));
        if !caller.is_admin && (leaks || answer.to_string().contains("beta")) {
            self.failures.push(format!("{}: names what belongs to the other tenant\n    {answer}", what()));
        }
        answer
    }

    /// Compares each combination that has foreign ids with that which has missing ones in their place.
    async fn compare(&mut self, operation: &Operation, person: &'a Person) {
        let caller = self.caller(person);
        let counts = operation.slots().map(|slot| self.own.values(&slot.kind).len());
        for n in 0..counts.max().unwrap_or(1) {
            for combination in combinations(operation) {
                if !combination.iter().any(|(_, which)| *which == Which::Foreign) {
                    continue;
                }
                let foreign = self.answer(operation, &caller, &combination, n).await;
                let like: Combination<'_> = combination
                    .iter()
                    .map(|(slot, which)| {
                        (*slot, if *which == Which::Foreign { Which::Missing } else { *which })
                    })
                    .collect();
                let key = format!("{} {} {n} {like:?}", person.email, operation.id);
                if !self.missing.contains_key(&key) {
                    let answer = self.answer(operation, &caller, &like, n).await;
                    self.missing.insert(key.clone(), answer);
                }
                let missing = &self.missing[&key];
                if foreign != *missing {
                    self.failures.push(format!(
                        "{} {combination:?} of {}: foreign and missing differ\n    {foreign}\n    {missing}",
                        operation.id, person.email
                    ));
                }
            }
        }
    }

    /// Sends the request with own ids, as someone who may: without an effect, the comparison would prove nothing.
    async fn cover(&mut self, operation: &Operation) {
        // whose sessions no other request needs
        let person = if operation.id == "end_all_sessions" { &self.own.member } else { &self.own.owner };
        let mut caller = self.caller(person);
        if Right::of(operation) == Right::Admin {
            caller.client = self.platform.admin.clone();
            caller.is_admin = true;
        }
        let is_own =
            |combination: &Combination<'_>| combination.iter().all(|(_, which)| *which == Which::Own);
        let counts = operation.slots().map(|slot| self.own.values(&slot.kind).len());
        let most = counts.max().unwrap_or(1);
        for combination in combinations(operation).iter().filter(|one| is_own(one)) {
            let mut answers = Vec::new();
            for n in 0..most {
                let entries = audited(&self.platform.db).await;
                let answer = self.answer(operation, &caller, combination, n).await;
                let is_effective = answer.is_effective();
                let writes = operation.method != Method::GET && !UNRECORDED.contains(&operation.id.as_str());
                if writes && answer.status < 300 && audited(&self.platform.db).await <= entries {
                    self.failures.push(format!("{} is not in the audit log", operation.id));
                }
                answers.push(answer.to_string());
                if is_effective {
                    answers.clear();
                    break;
                }
            }
            if !answers.is_empty() {
                self.failures.push(format!(
                    "{} {combination:?} has no effect: add what its body needs to `overridden` in src/requests.rs, \
                     or what it names to src/tenant.rs\n    {}",
                    operation.id,
                    answers.join("\n    ")
                ));
            }
        }
    }
}

/// The order in which own requests are sent: reads, writes, deletions, and what ends everything.
fn order(operation: &Operation) -> (usize, usize, std::cmp::Reverse<usize>) {
    let last = LAST.iter().position(|id| *id == operation.id).map_or(0, |n| n + 1);
    let method = match operation.method.as_str() {
        "GET" => 0,
        "PUT" | "PATCH" | "POST" => 1,
        _ => 2,
    };
    (last, method, std::cmp::Reverse(operation.path.len()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_another_tenant_looks_like_what_does_not_exist() {
    let platform = Platform::start().await;
    let (own, foreign) = two_tenants(&platform).await;
    let mut operations = operations(platform.document().await);
    let uuids = foreign.uuids(&own);
    let before = rows_of(&platform.db, &uuids).await;
    assert!(before.values().filter(|rows| !rows.is_empty()).count() > 20, "the other tenant owns little");

    let mut matrix = Matrix {
        platform: &platform,
        own: &own,
        foreign: &foreign,
        missing: BTreeMap::new(),
        requests: 0,
        failures: Vec::new(),
    };
    for operation in &operations {
        for person in [&own.viewer, &own.member, &own.owner] {
            matrix.compare(operation, person).await;
        }
    }
    let after = rows_of(&platform.db, &uuids).await;
    matrix.failures.extend(changes(&before, &after));
    operations.sort_by_key(order);
    let is_covered =
        |id: &str| !OF_OTHER_PROGRAMS.contains(&id) && !STREAMS.contains(&id) && id != OF_FREE_UNITS;
    for operation in operations.iter().filter(|one| is_covered(&one.id)) {
        matrix.cover(operation).await;
    }

    let count =
        |place| operations.iter().flat_map(Operation::slots).filter(|slot| slot.place == place).count();
    eprintln!(
        "{} operations, {} ids in paths, {} in queries, {} in bodies, {} requests",
        operations.len(),
        count(Place::Path),
        count(Place::Query),
        count(Place::Body),
        matrix.requests
    );
    let failures = matrix.failures;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
