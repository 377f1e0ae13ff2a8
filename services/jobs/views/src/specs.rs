//! Kinds of workers for [`schedule`]: its specification is a GPU specification together with the models of
//! the worker. So a job gets only workers that have the models that it names, and the rules of the scheduler
//! need not know about models.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::once,
};

use ids::GpuSpecId;
use jobs_core::needs::{Models, Needs};
use schedule::SpecId;

use super::worker_store::WorkerRow;

/// The specification of a job that names a model which the pool is known to lack: it has no workers, and none
/// are ordered for it.
const LACKING: SpecId = SpecId(0);

/// Workers of a GPU specification whose models are unknown.
fn unknown(gpu_spec: &str) -> SpecId {
    SpecId(GpuSpecId::derived(&["gpu_spec", gpu_spec]).uuid().as_u128())
}

fn key(gpu_spec: &str, models: &Models) -> SpecId {
    match models.words() {
        None => unknown(gpu_spec),
        Some(words) => {
            let words: Vec<&str> = ["gpu_spec", gpu_spec].into_iter().chain(words).collect();
            SpecId(GpuSpecId::derived(&words).uuid().as_u128())
        }
    }
}

/// Workers that are equivalent for jobs.
struct Class {
    gpu_spec: String,
    models: Models,
}

/// The kinds of workers in a pool.
pub struct Specs {
    /// Names of GPU specifications, in the order of preference.
    names: Vec<String>,
    classes: BTreeMap<SpecId, Class>,
    /// The models that workers of the pool have, or will have.
    pool: Vec<Models>,
}

impl Specs {
    pub fn new(names: Vec<String>, workers: &[WorkerRow], pool: Vec<Models>) -> Self {
        let class = |gpu_spec: &str, models: Models| {
            (key(gpu_spec, &models), Class { gpu_spec: gpu_spec.to_owned(), models })
        };
        let distinct: BTreeSet<(&str, Models)> =
            workers.iter().map(|row| (&*row.gpu_spec, row.models())).collect();
        let of_workers = distinct.into_iter().map(|(name, models)| class(name, models));
        let classes = names.iter().map(|name| class(name, Models::default())).chain(of_workers).collect();
        Self { names, classes, pool }
    }

    /// The specification of a worker. None: there was no such worker when the pool was loaded.
    pub fn of(&self, worker: &WorkerRow) -> Option<SpecId> {
        let id = key(&worker.gpu_spec, &worker.models());
        self.classes.contains_key(&id).then_some(id)
    }

    /// The same GPU specification, regardless of models.
    pub fn plain(&self, id: SpecId) -> SpecId {
        self.classes.get(&id).map_or(id, |class| unknown(&class.gpu_spec))
    }

    /// Names of GPU specifications.
    pub fn names(&self) -> BTreeMap<SpecId, String> {
        self.names.iter().map(|name| (unknown(name), name.clone())).collect()
    }

    pub fn ids(&self) -> impl Iterator<Item = SpecId> {
        self.classes.keys().copied()
    }

    /// Those of the GPU specification that jobs prefer.
    pub fn preferred(&self) -> impl Iterator<Item = SpecId> {
        let first = self.names.first();
        let is_preferred = move |class: &Class| first.is_some_and(|first| *first == class.gpu_spec);
        self.classes.iter().filter(move |(_, class)| is_preferred(class)).map(|(id, _)| *id)
    }

    /// The models that workers of the pool have, or will have.
    pub fn pool(&self) -> &[Models] {
        &self.pool
    }

    /// The specifications that a job accepts, in the order of preference: those of workers that have, or may
    /// have, what it needs. After a job has run out of memory on `too_small`, only the later specifications,
    /// which are larger, if there are any.
    pub fn accepted(&self, needs: Option<&Needs>, too_small: Option<&str>) -> Vec<SpecId> {
        let may_have = |models: &Models| needs.is_none_or(|needs| models.may_have(needs));
        if !self.pool.is_empty() && !self.pool.iter().any(may_have) {
            return vec![LACKING];
        }
        let place = too_small.and_then(|name| self.names.iter().position(|other| other == name));
        let larger = place.and_then(|place| self.names.get(place + 1..)).filter(|larger| !larger.is_empty());
        let of_name = |name: &String| {
            let first = unknown(name);
            let fits = |id: &SpecId, class: &Class| {
                class.gpu_spec == *name && *id != first && may_have(&class.models)
            };
            // first in each job, as waiting jobs are counted there
            let others = self.classes.iter().filter(|(id, class)| fits(id, class)).map(|(id, _)| *id);
            once(first).chain(others).collect::<Vec<_>>()
        };
        larger.unwrap_or(&self.names).iter().flat_map(of_name).collect()
    }
}

/// Whether a job accepts no worker that the pool has or will have.
pub fn lacks_model(accepted: &[SpecId]) -> bool {
    accepted == [LACKING]
}

#[cfg(test)]
mod tests {
    use ids::WorkerId;
    use jiff::Timestamp;

    use super::*;
    use jobs_core::worker::Tenure;

    fn models(checkpoints: &[&str]) -> Models {
        let checkpoints = checkpoints.iter().map(|&name| name.to_owned()).collect();
        Models { checkpoints: Some(checkpoints), base_models: None }
    }

    fn worker(gpu_spec: &str, models: Models) -> WorkerRow {
        WorkerRow {
            id: WorkerId::new(),
            gpu_spec: gpu_spec.to_owned(),
            node: "node-1".to_owned(),
            session: 1,
            model: None,
            quantum_end: None,
            busy_until: None,
            idle_since: Timestamp::UNIX_EPOCH,
            current_job: None,
            tenure: Tenure::Firm,
            leave_by: None,
            recall_rank: 0,
            checkpoints: models.checkpoints,
            base_models: models.base_models,
        }
    }

    #[test]
    fn a_job_accepts_workers_that_have_or_may_have_what_it_needs() {
        let (plain, anime, both) = (models(&[]), models(&["anime"]), models(&["anime", "photo"]));
        let workers = [
            worker("small", Models::default()),
            worker("small", anime.clone()),
            worker("small", anime.clone()),
            worker("large", both.clone()),
            worker("large", plain.clone()),
        ];
        let sets = vec![Models::default(), anime, both, plain];
        let specs = Specs::new(vec!["small".to_owned(), "large".to_owned()], &workers, sets);
        let id = |n: usize| specs.of(&workers[n]).unwrap();
        let accepted = |name: Option<&str>, too_small| {
            let needs = name.map(|name| Needs::of_job("stable-diffusion", Some(name)).unwrap());
            specs.accepted(needs.as_ref(), too_small)
        };
        assert_eq!(id(1), id(2));
        assert_eq!(accepted(None, None).len(), 2 + 3, "any worker");
        assert_eq!(accepted(Some("anime"), None), [id(0), id(1), unknown("large"), id(3)]);
        assert_eq!(accepted(Some("photo"), None), [id(0), unknown("large"), id(3)]);
        assert_eq!(accepted(Some("photo"), Some("small")), [unknown("large"), id(3)]);
        assert_eq!(accepted(Some("anime"), Some("large")).len(), 4, "none is larger");
        assert_eq!(accepted(Some("flux"), None), [unknown("small"), unknown("large")], "one may come");
        assert_eq!((specs.plain(id(3)), specs.preferred().count()), (unknown("large"), 2));
        assert_eq!(specs.of(&worker("small", models(&["other"]))), None);
    }

    #[test]
    fn what_the_pool_is_known_to_lack_no_worker_runs() {
        let (needs, base) = (
            Needs::of_job("stable-diffusion", Some("flux")).unwrap(),
            Needs::of_job("dreambooth", Some("flux")).unwrap(),
        );
        let specs = Specs::new(vec!["small".to_owned()], &[], vec![models(&["anime"])]);
        assert!(lacks_model(&specs.accepted(Some(&needs), None)));
        assert!(!lacks_model(&specs.accepted(Some(&base), None)), "that is not known");
        assert!(!lacks_model(&specs.accepted(None, None)));
        let nothing_known = Specs::new(vec!["small".to_owned()], &[], Vec::new());
        assert!(!lacks_model(&nothing_known.accepted(Some(&needs), None)));
    }
}
