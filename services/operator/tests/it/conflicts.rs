//! Others write to the same objects between the operator's observation and its write.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::{GpuUnit, Run, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use testkit::eventually;

use crate::lab::Lab;

const OTHER: &str = "test.atelier.dev/other";
/// Number of runs that the other adds.
const RUNS: usize = 4;

/// Another writer: adds a finalizer just before the operator does, and with `adds_runs` a run to the status just before
/// each of the operator's writes.
struct Other {
    client: Client,
    has_finalizer: AtomicBool,
    adds_runs: AtomicBool,
    runs: Mutex<Vec<Run>>,
}

impl Other {
    async fn writes(&self, word: &str, name: &str) {
        let params = PatchParams::default();
        let units: Api<GpuUnit> = Api::all(self.client.clone());
        if word == "add_finalizer" && !self.has_finalizer.swap(true, Ordering::SeqCst) {
            let finalizer = json!({"metadata": {"finalizers": [OTHER]}});
            units.patch(name, &params, &Patch::Merge(finalizer)).await.unwrap();
        }
        if word == "unit_status" && self.adds_runs.load(Ordering::SeqCst) {
            let Some(run) = self.another_run() else { return };
            let known = units.get(name).await.unwrap().status.unwrap_or_default().recent_runs;
            let all = [vec![run], known].concat();
            let status = json!({"status": {"recentRuns": all}});
            units.patch_status(name, &params, &Patch::Merge(status)).await.unwrap();
        }
    }

    fn another_run(&self) -> Option<Run> {
        let mut runs = self.runs.lock().unwrap();
        let hours = i64::try_from(runs.len()).unwrap() + 1;
        let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
        let at = Time(now - SignedDuration::from_hours(hours));
        let run = Run {
            instance_id: format!("inst-{hours:032x}"),
            attempt: 1,
            running_since: at.clone(),
            ended_at: at,
            end_unseen: false,
            reason: "Stopped".to_owned(),
        };
        (runs.len() < RUNS).then(|| {
            runs.push(run.clone());
            run
        })
    }
}

fn hook(other: Arc<Other>) -> Hook {
    Arc::new(move |step, word, name| {
        if step == Step::Before {
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(other.writes(word, name));
            });
        }
        Verdict::Continue
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_of_others_are_kept() {
    let lab = Lab::new(1, 2).await;
    let other = Arc::new(Other {
        client: lab.client.clone(),
        has_finalizer: AtomicBool::default(),
        adds_runs: AtomicBool::default(),
        runs: Mutex::default(),
    });
    let operator = lab.operator("one", Some(hook(Arc::clone(&other)))).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let own = lab.running(0, 1).await.instance.unwrap();
    other.adds_runs.store(true, Ordering::SeqCst);
    lab.set_instance(0, None).await;
    lab.held(0).await;

    let own_since = own.running_since.unwrap();
    eventually("every run is in the status once", async || {
        let known = lab.status(0).await.recent_runs;
        let others = other.runs.lock().unwrap().clone();
        let kept = others.iter().all(|run| known.contains(run));
        let own = known.iter().filter(|run| run.instance_id == own.id && run.running_since == own_since);
        (others.len() > 1 && kept && own.count() == 1).then_some(())
    })
    .await;
    let unit = lab.units().get(&lab.unit_name(0)).await.unwrap();
    let mut finalizers = unit.finalizers().to_vec();
    finalizers.sort();
    assert_eq!(finalizers, [names::FINALIZER_UNIT, OTHER], "a finalizer of the unit was lost");
    lab.patch(0, &json!({"metadata": {"finalizers": [names::FINALIZER_UNIT]}})).await;
    lab.end(operator, 1).await;
}
