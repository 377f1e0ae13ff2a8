//! The operator is killed before and after each of its writes: the next one continues from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::UnitState;
use serde_json::json;

use crate::lab::{Lab, Running};

/// Kills the operator at the first write of an action.
pub(crate) fn dies_once(step: Step, word: &'static str) -> Hook {
    let done = AtomicBool::new(false);
    Arc::new(move |at, action, _| {
        if at == step && action == word && !done.swap(true, Ordering::SeqCst) {
            Verdict::Hang
        } else {
            Verdict::Continue
        }
    })
}

/// An operator that is replaced after it was killed, as by a Deployment.
pub(crate) struct Revived<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) running: Option<Running>,
}

impl Revived<'_> {
    pub(crate) async fn tend<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
            }
            if self.running.as_ref().is_some_and(Running::hangs) {
                self.running.take().unwrap().kill();
                self.running = Some(self.lab.operator("one", None).await);
            }
        }
    }
}

async fn survives_kills_at(word: &'static str) {
    let lab = Lab::new(1, 2).await;
    for (n, step) in [Step::Before, Step::After].into_iter().enumerate() {
        let hook = dies_once(step, word);
        let mut operator = Revived { lab: &lab, running: Some(lab.operator("one", Some(hook)).await) };
        let life = async {
            lab.create_nth_unit(n).await;
            lab.held(n).await;
            lab.set_instance(n, Some(lab.instance(n, 1))).await;
            let first = lab.running(n, 1).await.instance.unwrap();
            lab.patch(n, &json!({"spec": {"instance": {"restart": 1}}})).await;
            let again = |status: &crds::GpuUnitStatus| {
                status.state == UnitState::Running
                    && status.instance.as_ref().is_some_and(|own| own.restart == 1)
            };
            let second = lab.until(n, "restarted", again).await.instance.unwrap();
            lab.set_instance(n, None).await;
            let back = lab.held(n).await;
            // each run is recorded once
            let runs: Vec<_> = back.recent_runs.iter().map(|run| run.running_since.clone()).collect();
            assert_eq!(
                runs,
                [second.running_since.unwrap(), first.running_since.unwrap()],
                "{word} {step:?}"
            );
            testkit::eventually("only the placeholder is left", async || {
                (lab.pods(n).await.len() == 1).then_some(())
            })
            .await;
        };
        operator.tend(life).await;
        operator.running.take().unwrap().stop().await;
    }
    let operator = lab.operator("two", None).await;
    lab.end(operator, 2).await;
}

macro_rules! kills {
    ($($name:ident: $word:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            survives_kills_at($word).await;
        }
    )*};
}

kills! {
    when_it_creates_the_placeholder: "create_placeholder";
    when_it_creates_the_instance: "create_instance";
    when_it_nominates: "nominate";
    when_it_deletes_a_pod: "delete_pod";
    when_it_stores_the_status: "unit_status";
    when_it_releases_a_pod: "release_pod";
    when_it_applies_the_namespace: "tenant";
    when_it_adds_the_finalizer: "add_finalizer";
}
