//! Objects end with the rights of their maker.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::sync::{Arc, Mutex};

use atelier_auth::{EndedMaker, Made, MadeBy, Maker, Revocation, Whom, session_of};
use ids::{ApiKeyId, TenantId, UserId};
use jiff::Timestamp;
use testkit::{Issuer, eventually};

/// Objects in memory, in place of a service's tables.
#[derive(Clone, Default)]
struct Things(Arc<Mutex<Vec<MadeBy>>>);

impl Made for Things {
    async fn makers(&self, whom: &Whom) -> anyhow::Result<Vec<MadeBy>> {
        let concerns = |made: &&MadeBy| {
            whom.all
                || whom.users.contains(&made.maker.user_id)
                || made.maker.api_key_id.is_some_and(|key| whom.api_keys.contains(&key))
        };
        Ok(self.0.lock().unwrap().iter().filter(concerns).copied().collect())
    }

    async fn end(&self, ended: &EndedMaker) -> anyhow::Result<()> {
        let stays = |made: &MadeBy| {
            made.maker != ended.maker || ended.before.is_some_and(|before| made.rights_at >= before)
        };
        self.0.lock().unwrap().retain(stays);
        Ok(())
    }
}

impl Things {
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    fn make(&self, maker: Maker) {
        self.0.lock().unwrap().push(MadeBy { maker, rights_at: Timestamp::now() });
    }

    async fn are_left(&self, expected: &[Maker]) {
        let left = async || {
            let left: Vec<Maker> = self.0.lock().unwrap().iter().map(|made| made.maker).collect();
            (left == expected).then_some(())
        };
        eventually("the others have ended", left).await;
    }
}

fn maker(tenant: TenantId, api_key_id: Option<ApiKeyId>) -> Maker {
    Maker { user_id: UserId::new(), tenant_id: Some(tenant), api_key_id }
}

#[tokio::test]
async fn what_was_made_ends_with_the_member_the_user_and_the_key() {
    let (issuer, things, process) = (Issuer::start().await, Things::default(), service::Process::default());
    let tenant = TenantId::new();
    let key = ApiKeyId::new();
    let [member, user, stays, early] = std::array::from_fn(|_| maker(tenant, None));
    let by_key = Maker { api_key_id: Some(key), ..stays };
    for maker in [member, user, by_key, stays] {
        things.make(maker);
    }
    // while no worker follows the feed
    things.make(early);
    issuer.revoke(Revocation { user_id: Some(early.user_id), ..Revocation::default() });
    let verifier = issuer.auth().verifier;
    process.workers.start("test", verifier.task().into_iter().chain(verifier.makers_task(things.clone())));
    things.are_left(&[member, user, by_key, stays]).await;

    issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    things.are_left(&[member, user, stays]).await;
    issuer.revoke(Revocation { user_id: Some(user.user_id), ..Revocation::default() });
    things.are_left(&[member, stays]).await;
    // a revocation in another tenant, and one of the whole tenant, which may become active again
    let elsewhere = Some(TenantId::new());
    issuer.revoke(Revocation { user_id: Some(member.user_id), tenant_id: elsewhere, session_id: None });
    issuer.revoke(Revocation { tenant_id: Some(tenant), ..Revocation::default() });
    issuer.revoke(Revocation { user_id: Some(member.user_id), tenant_id: Some(tenant), session_id: None });
    things.are_left(&[stays]).await;
    // the maker's rights are newer than the revocation
    things.make(member);
    issuer.revoke(Revocation { user_id: Some(member.user_id), tenant_id: elsewhere, session_id: None });
    issuer.revoke(Revocation { user_id: Some(stays.user_id), ..Revocation::default() });
    things.are_left(&[member]).await;
    process.shutdown.begin();
    process.shutdown.finish().await;
}
