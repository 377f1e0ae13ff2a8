//! Tenants with their users, and pools.

use machine::{
    access::SignIn,
    client::{Api, text},
};
use serde_json::json;

const PASSWORD: &str = "a long password of a user";

pub(super) struct Tenants {
    admin: Api,
    count: usize,
}

impl Tenants {
    pub(super) fn new(admin: Api) -> Self {
        Self { admin, count: 0 }
    }

    /// Users of a new tenant, signed in.
    pub(super) async fn users(&mut self, users: usize) -> anyhow::Result<Vec<Api>> {
        self.count += 1;
        let name = format!("fairness-{}", self.count);
        let tenant = self.admin.post("/v1/tenants", json!({ "name": name }), 201).await?;
        let members = format!("/v1/tenants/{}/members", text(&tenant, "id")?);
        let mut all = Vec::new();
        for number in 0..users {
            let who =
                SignIn { email: format!("{name}-{number}@bench.example"), password: PASSWORD.to_owned() };
            let body = json!({ "email": who.email, "password": who.password });
            let user = self.admin.post("/v1/users", body, 201).await?;
            self.admin.post(&members, json!({ "user_id": user["id"], "role": "member" }), 201).await?;
            all.push(self.admin.sign_in(&who).await?);
        }
        Ok(all)
    }

    /// Creates a pool with workers that a company runs itself. Returns their tokens.
    pub(super) async fn pool(&self, name: &str, workers: usize) -> anyhow::Result<Vec<String>> {
        let body = json!({ "name": name, "gpu_specs": ["small"] });
        let pool = self.admin.post("/v1/platform-pools", body, 201).await?;
        let path = format!("/v1/platform-pools/{}/workers", text(&pool, "id")?);
        let mut tokens = Vec::new();
        for number in 0..workers {
            let name = format!("worker-{number}");
            let body = json!({ "name": name, "gpu_spec": "small", "node": format!("node-{number}") });
            let made = self.admin.post(&path, body, 201).await?;
            tokens.push(text(&made, "token")?.to_owned());
        }
        Ok(tokens)
    }
}

/// The body of a job.
pub(super) fn job() -> serde_json::Value {
    json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" } })
}
