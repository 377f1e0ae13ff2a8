//! The downloads onto a volume: which of them are requested from the cluster, the addresses that it reads from, and the
//! effects of its reports.
//!
//! For each attempt, first the Secret with a new address is written, then the element of the resource. After a crash in
//! between, the next reconcile writes both again.

use std::{collections::BTreeMap, time::Duration};

use crds::{DownloadPhase, DownloadStatus, GpuStorage, names};
use ids::{DeploymentId, StorageId};
use k8s_openapi::{
    ByteString,
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use storage_api::DownloadState;

use super::{Parts, error::Error};
use crate::{
    download::{self, Download, DownloadReason, Next},
    object,
    storage::Storage,
};

/// Downloads onto a volume at a time.
const AT_A_TIME: usize = 8;
/// Age of an address, in seconds, at which it is replaced, for a pod that has not started. It can be used for 15
/// minutes.
const SIGN_AGAIN: f64 = 600.0;
/// Age of an attempt, in seconds, at which it is given up.
const LONGEST: f64 = 2400.0;
/// Time until a download that waits for something outside the cluster is checked again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The downloads of a volume that are not finished.
pub(super) struct Downloads {
    open: Vec<Download>,
    /// Downloads without a current address.
    unsigned: Vec<DeploymentId>,
}

impl Downloads {
    pub(super) async fn read(parts: &Parts, storage: StorageId) -> Result<Self, Error> {
        let mut tx = parts.db.worker().await?;
        let open = download::open(&mut tx, storage).await?;
        tx.commit().await?;
        Ok(Self { open, unsigned: Vec::new() })
    }

    /// Downloads for the cluster to carry out now.
    fn wanted<'a>(&'a self, storage: &'a Storage) -> impl Iterator<Item = &'a Download> {
        let usable = storage.check_usable().is_ok();
        let due = |download: &&Download| {
            download.state == DownloadState::Pending
                && download.due_in <= 0.0
                && !self.unsigned.contains(&download.id)
        };
        self.open.iter().filter(move |download| usable && due(download)).take(AT_A_TIME)
    }

    /// The elements of the resource, by id.
    pub(super) fn desired(&self, storage: &Storage) -> Vec<crds::Download> {
        self.wanted(storage).map(element).collect()
    }

    /// Whether the downloads of the resource differ from the desired ones.
    pub(super) fn differ(&self, storage: &Storage, observed: &GpuStorage) -> bool {
        self.desired(storage) != observed.spec.downloads
    }
}

fn element(download: &Download) -> crds::Download {
    crds::Download {
        id: download.name(),
        attempt: download.attempt.into(),
        path: download.path.clone(),
        bytes: download.bytes,
        sha256: download.sha256.clone(),
        secret_name: download.name(),
    }
}

/// Why a download waits, or has no address.
enum Unsigned {
    Wait(DownloadReason),
    Gone,
}

/// The downloads of one volume in its cluster.
pub(super) struct Volume<'a> {
    pub(super) parts: &'a Parts,
    pub(super) storage: &'a Storage,
    pub(super) client: kube::Client,
    /// The resource of the volume.
    pub(super) observed: &'a GpuStorage,
}

impl Volume<'_> {
    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.storage.tenant.k8s_name())
    }

    /// Writes the addresses that are missing or old. Downloads without an address are not requested now.
    pub(super) async fn sign(&self, downloads: &mut Downloads) -> Result<(), Error> {
        let mut unsigned = Vec::new();
        for download in downloads.wanted(self.storage) {
            let asked = self.observed.spec.downloads.contains(&element(download));
            if asked && download.signed_since.is_some_and(|age| age < SIGN_AGAIN) {
                continue;
            }
            let url = self.url(download).await?;
            if let Ok(url) = &url {
                self.write_secret(download, url).await?;
                self.parts.faults.effect().await;
            } else {
                unsigned.push(download.id);
            }
            let mut tx = self.parts.db.worker().await?;
            match url {
                Ok(_) => download::sign(&mut tx, download).await?,
                Err(Unsigned::Wait(reason)) => download::wait(&mut tx, download, reason, None).await?,
                Err(Unsigned::Gone) => {
                    let message = "the bucket does not have the object";
                    download::fail(&mut tx, download, DownloadReason::ObjectGone, message).await?;
                }
            }
            tx.commit().await?;
        }
        downloads.unsigned = unsigned;
        Ok(())
    }

    async fn url(&self, download: &Download) -> Result<Result<String, Unsigned>, Error> {
        let Parts { db, object_store, .. } = self.parts;
        let signed = async {
            let objects = object_store.get()?;
            let (owner, bucket) = (download.tenant, download.bucket);
            object::download_url(db, objects, owner, bucket, &download.object, download.bytes).await
        };
        Ok(match signed.await {
            Ok(Some(url)) => Ok(url),
            Ok(None) | Err(object::Error::NotFound | object::Error::Storage(_)) => Err(Unsigned::Gone),
            Err(object::Error::Tenant(tenants::Error::Suspended)) => {
                Err(Unsigned::Wait(DownloadReason::TenantSuspended))
            }
            Err(object::Error::Database(error) | object::Error::Tenant(tenants::Error::Database(error))) => {
                return Err(error.into());
            }
            Err(object::Error::NotConfigured(_) | object::Error::ObjectStore(_)) => {
                Err(Unsigned::Wait(DownloadReason::ObjectStoreUnavailable))
            }
        })
    }

    async fn write_secret(&self, download: &Download, url: &str) -> Result<(), Error> {
        let labels = [
            ("app.kubernetes.io/managed-by", names::MANAGER_STORAGE.to_owned()),
            (names::LABEL_TENANT, self.storage.tenant.k8s_name()),
            (names::LABEL_STORAGE, self.storage.object_name()),
        ];
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(download.name()),
                labels: Some(labels.map(|(label, value)| (label.to_owned(), value)).into()),
                // deleted with the volume
                owner_references: Some(vec![OwnerReference {
                    api_version: GpuStorage::api_version(&()).into_owned(),
                    kind: GpuStorage::kind(&()).into_owned(),
                    name: self.observed.name_any(),
                    uid: self.observed.uid().unwrap_or_default(),
                    controller: None,
                    block_owner_deletion: None,
                }]),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(names::KEY_URL.to_owned(), ByteString(url.as_bytes().to_vec()))])),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        let params = PatchParams::apply(names::MANAGER_STORAGE).force();
        // the answer has the metadata only
        self.secrets().patch_metadata(&download.name(), &params, &Patch::Apply(&secret)).await?;
        Ok(())
    }

    async fn delete_secret(&self, download: &Download) -> Result<(), Error> {
        match self.secrets().delete(&download.name(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            deleted => drop(deleted?),
        }
        self.parts.faults.effect().await;
        Ok(())
    }

    /// Records the reports of the cluster. Returns when to check again; none if nothing is left to wait for.
    pub(super) async fn settle(&self, downloads: &Downloads) -> Result<Option<Duration>, Error> {
        let statuses =
            self.observed.status.as_ref().map(|status| status.downloads.as_slice()).unwrap_or_default();
        let mut again: Option<Duration> = None;
        for download in &downloads.open {
            let after = if download.state == DownloadState::Removing {
                self.forget(download).await?;
                continue;
            } else if downloads.unsigned.contains(&download.id) {
                LOOK_AGAIN
            } else if self.observed.spec.downloads.contains(&element(download)) {
                let own = |status: &&DownloadStatus| {
                    status.id == download.name() && status.attempt == i64::from(download.attempt)
                };
                self.observe(download, statuses.iter().find(own)).await?
            } else if download.due_in > 0.0 {
                Duration::from_secs_f64(download.due_in)
            } else {
                let usable = self.storage.check_usable().is_ok();
                let reason = if usable { DownloadReason::Queued } else { DownloadReason::VolumeUnavailable };
                let mut tx = self.parts.db.worker().await?;
                download::wait(&mut tx, download, reason, None).await?;
                tx.commit().await?;
                LOOK_AGAIN
            };
            again = Some(again.map_or(after, |known| known.min(after)));
        }
        Ok(again)
    }

    /// Deletes a download that the resource no longer has.
    async fn forget(&self, download: &Download) -> Result<(), Error> {
        self.delete_secret(download).await?;
        let mut tx = self.parts.db.worker().await?;
        download::delete_row(&mut tx, download.id).await?;
        Ok(tx.commit().await?)
    }

    /// Records the cluster's report of an attempt. Returns when to check again.
    async fn observe(&self, download: &Download, status: Option<&DownloadStatus>) -> Result<Duration, Error> {
        let default = DownloadStatus::default();
        let status = status.unwrap_or(&default);
        let reason = status.reason.as_deref().and_then(|reason| reason.parse::<crds::DownloadReason>().ok());
        let message = status.message.as_deref();
        let failure = match status.phase {
            DownloadPhase::Pending if -download.due_in < LONGEST => {
                let reason = reason.map_or(DownloadReason::Requested, DownloadReason::from);
                let mut tx = self.parts.db.worker().await?;
                download::wait(&mut tx, download, reason, message).await?;
                tx.commit().await?;
                return Ok(LOOK_AGAIN);
            }
            DownloadPhase::Pending => DownloadReason::TimedOut,
            DownloadPhase::Done => {
                self.delete_secret(download).await?;
                let mut tx = self.parts.db.worker().await?;
                download::finish(&mut tx, download).await?;
                tx.commit().await?;
                tracing::info!(
                    download.id = %download.id, storage.id = %self.storage.id, tenant.id = %download.tenant,
                    "download done"
                );
                return Ok(Duration::ZERO);
            }
            DownloadPhase::Failed => reason.map_or(DownloadReason::PodFailed, DownloadReason::from),
        };
        let message = message.unwrap_or("no attempt ended in time");
        tracing::warn!(
            download.id = %download.id, storage.id = %self.storage.id, tenant.id = %download.tenant,
            attempt = download.attempt, reason = %failure, message, "attempt at a download failed"
        );
        let next = download::after_failure(download.attempt, failure);
        if next == Next::GiveUp {
            self.delete_secret(download).await?;
        }
        let mut tx = self.parts.db.worker().await?;
        match next {
            Next::Repeat(after) => download::repeat(&mut tx, download, after, message).await?,
            Next::GiveUp => download::fail(&mut tx, download, failure, message).await?,
        }
        tx.commit().await?;
        Ok(Duration::ZERO)
    }
}
