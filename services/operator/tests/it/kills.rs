//! The operator killed before and after each of its writes: the next one goes on from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::UnitState;
use serde_json::json;

use crate::lab::{Lab, Running};

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

/// An operator that is replaced if it has died, as a Deployment does.
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

async fn survives(word: &'static str) {
    let lab = Lab::new(1, 2).await;
    for (n, step) in [Step::Before, Step::After].into_iter().enumerate() {
        let hook = dies_once(step, word);
        let mut operator = Revived { lab: &lab, running: Some(lab.operator("one", Some(hook)).await) };
        let life = async {
            lab.make_nth_unit(n).await;
            lab.held(n).await;
            lab.wish(n, Some(lab.instance(n, 1))).await;
            let first = lab.running(n, 1).await.instance.unwrap();
            lab.patch(n, &json!({"spec": {"instance": {"restart": 1}}})).await;
            let again = |status: &crds::GpuUnitStatus| {
                status.state == UnitState::Running
                    && status.instance.as_ref().is_some_and(|own| own.restart == 1)
            };
            let second = lab.until(n, "restarted", again).await.instance.unwrap();
            lab.wish(n, None).await;
            let back = lab.held(n).await;
            // every second that it ran is in the record, once
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
            survives($word).await;
        }
    )*};
}

kills! {
    at_making_the_placeholder: "create_placeholder";
    at_making_the_instance: "create_instance";
    at_the_nomination: "nominate";
    at_the_deletion: "delete_pod";
    at_the_status: "unit_status";
    at_the_release: "release_pod";
    at_the_tenant: "tenant";
    at_the_finalizer: "add_finalizer";
}
