//! An order with two storages and a secret, a lost node, a stop, the removal of a storage and a deletion. Every kind of action has a
//! fault before its effect, after its effect, and before and after the commit that follows: an error, or a killed process.
//! At the end the instance is where it should be, each event happened once, nothing is left over, and the usage is the
//! evidence.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use ids::InstanceId;
use orders::reconcile::{
    Reconciler,
    fault::{ActionKind, Fault, Point},
};
use serde_json::json;
use testkit::eventually;
use tokio::sync::Notify;

use crate::{
    crash::EXPIRE,
    harness::{Fixture, Setup, reconcile_by},
};

/// When the fault happens, relative to an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    ErrorBefore,
    ErrorAfter,
    KilledBefore,
    KilledBeforeCommit,
    KilledAfterCommit,
}

const CASES: [Case; 5] = [
    Case::ErrorBefore,
    Case::ErrorAfter,
    Case::KilledBefore,
    Case::KilledBeforeCommit,
    Case::KilledAfterCommit,
];

/// One fault, at the n-th action of a kind.
struct Injected {
    kind: ActionKind,
    case: Case,
    /// Actions of the kind that are still to come before the fault.
    left: Mutex<usize>,
    /// The action has had its effect, and the next commit is the one that follows.
    awaits_commit: AtomicBool,
    happened: AtomicBool,
    /// Kinds of the actions that began.
    begun: Mutex<Vec<ActionKind>>,
    killed: Notify,
}

impl Injected {
    fn new(kind: ActionKind, case: Case, nth: usize) -> Arc<Self> {
        Arc::new(Self {
            kind,
            case,
            left: Mutex::new(nth),
            awaits_commit: AtomicBool::new(false),
            happened: AtomicBool::new(false),
            begun: Mutex::default(),
            killed: Notify::new(),
        })
    }

    fn at(&self, point: Point) -> Fault {
        if let Point::Before(kind) = point {
            self.begun.lock().unwrap().push(kind);
        }
        if self.happened.load(Ordering::SeqCst) {
            return Fault::None;
        }
        let fault = match (self.case, point) {
            (Case::ErrorBefore, Point::Before(kind)) if self.is_due(kind) => Fault::Error,
            (Case::KilledBefore, Point::Before(kind)) if self.is_due(kind) => Fault::Hang,
            (Case::ErrorAfter, Point::After(kind)) if self.is_due(kind) => Fault::Error,
            (Case::KilledBeforeCommit, Point::After(kind)) if self.is_due(kind) => Fault::Hang,
            (Case::KilledAfterCommit, Point::After(kind)) if self.is_due(kind) => {
                self.awaits_commit.store(true, Ordering::SeqCst);
                return Fault::None;
            }
            (Case::KilledAfterCommit, Point::Committed) if self.awaits_commit.load(Ordering::SeqCst) => {
                Fault::Hang
            }
            _ => return Fault::None,
        };
        self.happened.store(true, Ordering::SeqCst);
        if fault == Fault::Hang {
            self.killed.notify_one();
        }
        fault
    }

    /// Number of actions of this kind that began.
    fn count(&self, kind: ActionKind) -> usize {
        self.begun.lock().unwrap().iter().filter(|begun| **begun == kind).count()
    }

    fn is_due(&self, kind: ActionKind) -> bool {
        let mut left = self.left.lock().unwrap();
        if kind != self.kind || self.awaits_commit.load(Ordering::SeqCst) {
            return false;
        }
        let due = *left == 0;
        *left = left.saturating_sub(1);
        due
    }
}

/// A test platform with one instance, which is reconciled with a fault.
struct Life<'a> {
    fixture: &'a Fixture,
    reconciler: Reconciler,
    injected: Arc<Injected>,
    id: InstanceId,
}

impl Life<'_> {
    /// Reconciles once, as a worker does; a killed one leaves its lease, which expires.
    async fn reconcile(&self) {
        let Fixture { app, service_db, .. } = self.fixture;
        tokio::select! {
            biased;
            () = self.injected.killed.notified() => {
                self.fixture.execute(EXPIRE).await;
            }
            _ = reconcile_by(&self.reconciler, app, service_db, self.id) => {}
        }
    }

    async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let what = format!("{what} ({:?} {:?})", self.injected.kind, self.injected.case);
        eventually(&what, async || {
            self.reconcile().await;
            is_so().await.then_some(())
        })
        .await;
    }

    async fn until_state(&self, state: &str) {
        let (path, member) = (format!("/v1/instances/{}", self.id), self.fixture.member());
        self.until(state, async || {
            let answer = member.get(&path).await;
            answer.body["state"] == state || (state == "gone" && answer.status == 404)
        })
        .await;
    }

    async fn until_emptied(&self, unit: &str) {
        self.until("the unit is emptied", async || {
            self.fixture.operator.unit(unit).await.spec.instance.is_none()
        })
        .await;
        assert!(self.fixture.neighbours.claim_of(self.id).is_some(), "released while it may still run");
    }

    /// Waits until the instance runs in a unit, and it is the one that it has claimed.
    async fn until_running(&self, since: i64) -> String {
        self.until_state("starting").await;
        self.until("its unit names it", async || {
            let Some(unit) = self.fixture.neighbours.claim_of(self.id) else { return false };
            self.fixture.operator.unit(&unit.k8s_name()).await.spec.instance.is_some()
        })
        .await;
        let unit = self.fixture.unit_of(self.id).await;
        let wanted = self.fixture.operator.unit(&unit).await.spec.instance.unwrap();
        assert_eq!(
            self.fixture.secret_names().await,
            [wanted.secret_name.unwrap()],
            "the one that the pod needs"
        );
        self.fixture.operator.ready_since(&unit, since).await;
        self.until_state("running").await;
        unit
    }

    /// Makes the look for what delayed calls have left due.
    async fn leftovers(&self, end: &str) {
        let due = "update gpu.instances set wake_at = now() - interval '1 second' where wake_at is not null";
        self.fixture.execute(due).await;
        let mut admin = self.fixture.db.admin().await;
        self.until(end, async || {
            let rest = "select wake_at is null and lease_until is null from gpu.instances where id = $1";
            let at_rest: bool = sqlx::query_scalar(rest).bind(self.id).fetch_one(&mut admin).await.unwrap();
            if !at_rest {
                self.fixture.execute(due).await;
            }
            at_rest
        })
        .await;
    }
}

/// An order with a storage, a lost node, a stop and a deletion, with one fault. Returns the outcome.
async fn live(fixture: &Fixture, kind: ActionKind, case: Case, nth: usize) -> Arc<Injected> {
    let injected = Injected::new(kind, case, nth);
    let faults = Arc::clone(&injected);
    let reconciler = fixture.app.reconciler().clone().with_faults(Arc::new(move |point| faults.at(point)));
    let [kept, removed] = [(); 2].map(|()| fixture.neighbours.add_storage(fixture.tenant));
    let mut order = Fixture::order();
    order["storages"] = json!([{ "storage_id": kept }, { "storage_id": removed, "mount_path": "/models", "read_only": true }]);
    order["secrets"] = json!([{ "name": "TOKEN", "value": "hunter2" }]);
    let id = fixture.ordered(order).await;
    let life = Life { fixture, reconciler, injected: Arc::clone(&injected), id };

    let unit = life.until_running(100).await;
    fixture.operator.node_lost(&unit, 150).await;
    life.until_emptied(&unit).await;
    fixture.operator.node_back(&unit).await;
    let unit = life.until_running(200).await;
    fixture.act(id, "stop").await;
    life.until_emptied(&unit).await;
    fixture.operator.ended(&unit, 260).await;
    life.until_state("stopped").await;
    life.leftovers("nothing of the start is left").await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 2));
    assert_eq!(fixture.secret_names().await, [""; 0], "{kind:?} {case:?}");
    let _ = fixture.change(id, json!({ "storages": [{ "storage_id": kept }] })).await.expect(200);
    life.until("the removed storage is detached", async || {
        fixture.history(id).await.contains(&"storage_detached system".to_owned())
    })
    .await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 1));
    let usage = fixture.usage(id).await;
    assert_eq!(
        (&usage["total_seconds"], usage["items"].as_array().unwrap().len()),
        (&json!(110), 2),
        "{usage}"
    );
    let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    life.until_state("gone").await;
    assert_eq!(fixture.secret_names().await, [""; 0], "{kind:?} {case:?}");
    life.leftovers("nothing of the instance is left").await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 0));

    let history = [
        "created user",
        "storage_attached system",
        "storage_attached system",
        "unit_claimed system",
        "started system",
        "run_ended system",
        "interrupted system node_lost",
        "storage_attached system",
        "storage_attached system",
        "unit_claimed system",
        "started system",
        "stop_requested user",
        "run_ended system",
        "stopped system",
        "updated user",
        "storage_detached system",
        "deletion_requested user",
        "storage_detached system",
        "deleted system",
    ];
    assert_eq!(fixture.history(id).await, history, "each event once: {kind:?} {case:?}");
    let open = "select count(*) from gpu.operations where finished_at is null";
    let open: i64 = sqlx::query_scalar(open).fetch_one(&mut fixture.db.admin().await).await.unwrap();
    assert_eq!(open, 0, "an operation never ends: {kind:?} {case:?}");
    injected
}

#[tokio::test(flavor = "multi_thread")]
async fn every_action_is_carried_out_once_whatever_fails_around_it() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    // until its fault a life is as one without a fault; how often it looks for leftovers differs with time
    let mut undisturbed = Vec::new();
    for _ in 0..3 {
        undisturbed.push(live(&fixture, ActionKind::Claim, Case::ErrorBefore, usize::MAX).await);
    }
    for &kind in ActionKind::ALL {
        let actions = undisturbed.iter().map(|life| life.count(kind)).max().unwrap();
        assert!(actions > 0, "no {kind:?}");
        for (case, nth) in CASES.into_iter().flat_map(|case| (0..actions).map(move |nth| (case, nth))) {
            let injected = live(&fixture, kind, case, nth).await;
            assert!(nth > 0 || injected.happened.load(Ordering::SeqCst), "no {case:?} of {kind:?} happened");
        }
    }
}
