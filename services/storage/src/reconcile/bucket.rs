//! Buckets: each step can be repeated after a crash, and skips what is already done.

use std::time::Duration;

use super::{Observation, Parts, error::Error};
use crate::{
    credential,
    object_store::{self, Code, KeyPair, ObjectStore, user_of},
    storage::{self, Finding, Phase, Reason, ReasonCode, Storage},
    tenant,
};

/// How long one reconcile deletes objects.
const EMPTYING: Duration = Duration::from_secs(5);
const KIB_PER_GIB: i64 = 1024 * 1024;

/// Brings a bucket to its desired state.
pub(super) async fn reconcile(parts: &Parts, storage: &Storage) -> Result<Observation, Error> {
    let objects = parts.object_store.get()?;
    let user = user_of(storage.tenant);
    let bucket = Bucket { parts, objects, storage, user, name: storage.object_name() };
    let phase = match &storage.phase {
        Phase::Deleting(_) => return bucket.delete().await,
        Phase::Pending(_) => bucket.create().await?,
        Phase::Available | Phase::Resizing(_) | Phase::Failed(_) => bucket.compare().await?,
    };
    bucket.remove_stray_keys().await?;
    tenant::apply_access::<Error>(&parts.db, objects, storage.tenant).await?;
    Ok(bucket.found(phase, parts.config.compare()))
}

/// A bucket that is being reconciled.
struct Bucket<'a> {
    parts: &'a Parts,
    objects: &'a ObjectStore,
    storage: &'a Storage,
    /// The tenant's user in the object store.
    user: String,
    name: String,
}

impl Bucket<'_> {
    fn found(&self, phase: Phase, requeue_after: Duration) -> Observation {
        Observation::Found { finding: Finding { phase, capacity_gib: None }, requeue_after }
    }

    /// Called after each effect on the object store.
    async fn effect(&self) {
        self.parts.faults.effect().await;
    }

    async fn create(&self) -> Result<Phase, Error> {
        let key = self.objects.ensure_user(self.storage.tenant).await?;
        self.effect().await;
        match self.objects.create_bucket(&key, &self.name).await {
            Err(error) if error.is(&Code::BucketAlreadyExists) => return Ok(name_taken()),
            done => done?,
        }
        self.effect().await;
        self.allow_pages(&key).await?;
        self.set_quota(self.quota_kib()).await?;
        Ok(Phase::Available)
    }

    /// Allows the console to show results of jobs, and to upload files for jobs.
    async fn allow_pages(&self, key: &KeyPair) -> Result<(), Error> {
        if self.storage.id != storage::output_bucket_id(self.storage.tenant) {
            return Ok(());
        }
        match self.objects.allow_pages(key, &self.name).await {
            Ok(is_changed) => {
                if is_changed {
                    self.effect().await;
                }
                Ok(())
            }
            // the tenant is suspended, or its policy forbids it: its bucket exists all the same
            Err(object_store::Error::Refused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn quota_kib(&self) -> i64 {
        self.storage.size_gib.saturating_mul(KIB_PER_GIB)
    }

    async fn set_quota(&self, kib: i64) -> Result<(), Error> {
        self.objects.limit_bucket(&self.user, &self.name, kib).await?;
        self.effect().await;
        Ok(())
    }

    async fn compare(&self) -> Result<Phase, Error> {
        let Some(actual) = self.objects.bucket(&self.name).await? else {
            // a bucket that was refused may never have existed
            return match &self.storage.phase {
                Phase::Failed(reason) if reason.code != ReasonCode::BucketLost => self.create().await,
                _ => Ok(lost()),
            };
        };
        if actual.owner != self.user {
            return Ok(name_taken());
        }
        if actual.limit_kib != Some(self.quota_kib()) {
            self.set_quota(self.quota_kib()).await?;
        }
        if let Some(key) = self.objects.platform_key(self.storage.tenant).await? {
            self.allow_pages(&key).await?;
        }
        Ok(Phase::Available)
    }

    /// Removes the keys that are marked for removal, and those without a record.
    async fn remove_stray_keys(&self) -> Result<(), Error> {
        // reads the actual keys before the recorded ones, as a key is recorded before it is created
        let actual = self.objects.credentials_of(self.storage.tenant).await?;
        let mut tx = self.parts.db.worker().await?;
        let recorded = credential::of_tenant(&mut tx, self.storage.tenant).await?;
        let removable = credential::removable(&mut tx, self.storage.id).await?;
        tx.commit().await?;
        for access in actual.iter().filter(|access| !recorded.contains(access)) {
            tracing::warn!(tenant.id = %self.storage.tenant, access, "removing a key without a record");
            self.remove_key(access).await?;
        }
        for access in removable {
            self.remove_key(&access).await?;
            let mut tx = self.parts.db.worker().await?;
            credential::delete(&mut tx, &access).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn remove_key(&self, access: &str) -> Result<(), Error> {
        self.objects.remove_key(&self.user, access).await?;
        self.effect().await;
        Ok(())
    }

    async fn delete(&self) -> Result<Observation, Error> {
        let mut tx = self.parts.db.worker().await?;
        let keys = credential::of_storage(&mut tx, self.storage.id).await?;
        tx.commit().await?;
        for access in keys {
            self.remove_key(&access).await?;
        }
        let actual = self.objects.bucket(&self.name).await?;
        if actual.is_some_and(|bucket| bucket.owner == self.user) {
            // no new objects while it is emptied
            self.set_quota(0).await?;
            if !self.empty().await? {
                let reason =
                    Reason::new(ReasonCode::BucketEmptying, "The objects of the bucket are being deleted.");
                return Ok(self.found(Phase::Deleting(Some(reason)), Duration::ZERO));
            }
            self.objects.remove_bucket(&self.name).await?;
            self.effect().await;
        }
        let mut tx = self.parts.db.worker().await?;
        let last = !storage::has_other_buckets(&mut tx, self.storage.tenant, self.storage.id).await?;
        tx.commit().await?;
        if last {
            // a bucket that is created concurrently creates the user again
            self.objects.remove_user(self.storage.tenant).await?;
            self.effect().await;
        }
        Ok(Observation::Gone)
    }

    /// Deletes objects for a while. Returns whether the bucket can be removed.
    async fn empty(&self) -> Result<bool, Error> {
        let key = self.objects.ensure_user(self.storage.tenant).await?;
        self.effect().await;
        let emptied = match self.objects.empty_bucket(&key, &self.name, EMPTYING).await {
            // a policy of the tenant forbids it, or the tenant is suspended; the objects are removed with the bucket
            Err(error) if error.is(&Code::AccessDenied) || error.is(&Code::UserSuspended) => true,
            emptied => emptied?,
        };
        self.effect().await;
        Ok(emptied)
    }
}

fn name_taken() -> Phase {
    let message = "Another user of the object store has a bucket of this name.";
    Phase::Failed(Reason::new(ReasonCode::BucketNameTaken, message))
}

fn lost() -> Phase {
    let message = "The bucket has disappeared from the object store, and was not deleted by this platform.";
    Phase::Failed(Reason::new(ReasonCode::BucketLost, message))
}
