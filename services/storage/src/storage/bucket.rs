//! Buckets: each step may be repeated, and what was done before a kill is found done.

use std::time::Duration;

use super::{
    model::{Phase, Storage, Why, reason},
    reconcile::{Hitch, Outcome},
    store,
};
use crate::{
    app::App,
    credential,
    object_store::{ObjectStore, user_of},
};

/// For how long one pass removes objects.
const EMPTYING: Duration = Duration::from_secs(5);
const KIB_PER_GIB: i64 = 1024 * 1024;

/// One pass over a bucket.
pub(super) async fn reconcile(app: &App, storage: &Storage) -> Result<Outcome, Hitch> {
    let Some(objects) = &app.object_store else {
        return Err(Hitch::NoObjectStore);
    };
    if matches!(storage.phase, Phase::Deleting(_)) {
        return remove(app, objects, storage).await;
    }
    let phase = match storage.phase {
        Phase::Pending(_) => make(app, objects, storage).await?,
        _ => compare(app, objects, storage).await?,
    };
    drop_strays(app, objects, storage).await?;
    let again_in = app.config.reconcile.compare();
    Ok(Outcome::Stands { phase, capacity_gib: None, again_in })
}

async fn make(app: &App, objects: &ObjectStore, storage: &Storage) -> Result<Phase, Hitch> {
    let name = storage.object_name();
    let key = objects.ensure_user(storage.tenant).await?;
    app.faults.effect()?;
    match objects.create_bucket(&key, &name).await {
        Err(error) if error.is("BucketAlreadyExists") => return Ok(taken()),
        done => done?,
    }
    app.faults.effect()?;
    limit(app, objects, storage).await?;
    Ok(Phase::Available)
}

async fn limit(app: &App, objects: &ObjectStore, storage: &Storage) -> Result<(), Hitch> {
    let kib = storage.size_gib.saturating_mul(KIB_PER_GIB);
    objects.limit_bucket(&user_of(storage.tenant), &storage.object_name(), kib).await?;
    app.faults.effect()?;
    Ok(())
}

async fn compare(app: &App, objects: &ObjectStore, storage: &Storage) -> Result<Phase, Hitch> {
    let Some(found) = objects.bucket(&storage.object_name()).await? else {
        // one that was refused may never have been there
        if matches!(&storage.phase, Phase::Failed(why) if why.reason != reason::BUCKET_LOST) {
            return make(app, objects, storage).await;
        }
        let text = "The bucket is gone from the object store, and not by order of this service.";
        return Ok(Phase::Failed(Why::new(reason::BUCKET_LOST, text)));
    };
    if found.owner != user_of(storage.tenant) {
        return Ok(taken());
    }
    if found.limit_kib != Some(storage.size_gib.saturating_mul(KIB_PER_GIB)) {
        limit(app, objects, storage).await?;
    }
    Ok(Phase::Available)
}

fn taken() -> Phase {
    let text = "A bucket of this name belongs to another user of the object store.";
    Phase::Failed(Why::new(reason::BUCKET_NAME_TAKEN, text))
}

/// Keys that were asked to go, whose making was cut short, or that nobody knows of, go.
async fn drop_strays(app: &App, objects: &ObjectStore, storage: &Storage) -> Result<(), Hitch> {
    // what is there is read before what is known: a key is known before it is made
    let there = objects.credentials_of(storage.tenant).await?;
    let mut tx = app.db.worker().await?;
    let known = credential::all_of_tenant(&mut tx, storage.tenant).await?;
    tx.commit().await?;
    for access in there.iter().filter(|access| !known.contains(access)) {
        tracing::warn!(tenant.id = %storage.tenant, access, "a key that nobody knows of is removed");
        objects.remove_key(&user_of(storage.tenant), access).await?;
        app.faults.effect()?;
    }
    let mut tx = app.db.worker().await?;
    let strays = credential::strays(&mut tx, storage.id).await?;
    tx.commit().await?;
    for access in strays {
        objects.remove_key(&user_of(storage.tenant), &access).await?;
        app.faults.effect()?;
        let mut tx = app.db.worker().await?;
        credential::forget(&mut tx, &access).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn remove(app: &App, objects: &ObjectStore, storage: &Storage) -> Result<Outcome, Hitch> {
    let (uid, name) = (user_of(storage.tenant), storage.object_name());
    let mut tx = app.db.worker().await?;
    let keys = credential::all_of(&mut tx, storage.id).await?;
    tx.commit().await?;
    for access in keys {
        objects.remove_key(&uid, &access).await?;
        app.faults.effect()?;
    }
    let ours = objects.bucket(&name).await?.is_some_and(|found| found.owner == uid);
    if ours {
        // nothing may come in while it is emptied
        objects.limit_bucket(&uid, &name, 0).await?;
        app.faults.effect()?;
        let key = objects.ensure_user(storage.tenant).await?;
        app.faults.effect()?;
        let emptied = match objects.empty_bucket(&key, &name, EMPTYING).await {
            // a policy of the tenant's forbids it, to us as well: what is left goes with the bucket
            Err(error) if error.is("AccessDenied") => true,
            emptied => emptied?,
        };
        app.faults.effect()?;
        if !emptied {
            let why = Why::new(reason::BUCKET_EMPTYING, "The bucket's objects are being removed.");
            let phase = Phase::Deleting(Some(why));
            return Ok(Outcome::Stands { phase, capacity_gib: None, again_in: Duration::ZERO });
        }
        objects.remove_bucket(&name).await?;
        app.faults.effect()?;
    }
    let mut tx = app.db.worker().await?;
    let others = store::has_other_buckets(&mut tx, storage.tenant, storage.id).await?;
    tx.commit().await?;
    if !others {
        // should another bucket be ordered right now, making it makes the user again
        objects.remove_user(storage.tenant).await?;
        app.faults.effect()?;
    }
    Ok(Outcome::Gone)
}
