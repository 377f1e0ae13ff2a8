//! Which pages may use signed URLs of a bucket: browsers ask the object store before they send another origin's request (CORS).

use aws_sdk_s3::types::{CorsConfiguration, CorsRule};

use super::{Code, Error, KeyPair, ObjectStore, s3};

/// The methods of the pages.
const METHODS: [&str; 3] = ["GET", "HEAD", "PUT"];
/// The headers of the pages, for preflight requests.
const HEADER: &str = "content-type";
/// How long browsers cache the answer, in seconds.
const MAX_AGE: i32 = 3600;

impl ObjectStore {
    /// Lets pages of the configured origins read and write objects of a bucket by signed URLs. Rules of the
    /// bucket's owner stay. Returns whether the rules were changed.
    pub(crate) async fn allow_pages(&self, key: &KeyPair, bucket: &str) -> Result<bool, Error> {
        let origins = &self.config.allowed_origins;
        if origins.is_empty() {
            return Ok(false);
        }
        let mut rules = self.rules(key, bucket).await?;
        if rules.iter().any(|rule| allows(rule, origins)) {
            return Ok(false);
        }
        let own = CorsRule::builder()
            .set_allowed_origins(Some(origins.clone()))
            .set_allowed_methods(Some(METHODS.map(str::to_owned).to_vec()))
            .allowed_headers(HEADER)
            .max_age_seconds(MAX_AGE);
        rules.push(own.build().map_err(Error::unavailable)?);
        let rules = CorsConfiguration::builder().set_cors_rules(Some(rules)).build();
        let put = self.s3.put_bucket_cors().bucket(bucket);
        let put = put.cors_configuration(rules.map_err(Error::unavailable)?).customize();
        put.config_override(s3::as_user(key)).send().await.map_err(s3::refused)?;
        Ok(true)
    }

    async fn rules(&self, key: &KeyPair, bucket: &str) -> Result<Vec<CorsRule>, Error> {
        let get = self.s3.get_bucket_cors().bucket(bucket).customize();
        match get.config_override(s3::as_user(key)).send().await.map_err(s3::refused) {
            Err(error) if error.is(&Code::NoSuchCORSConfiguration) => Ok(Vec::new()),
            found => Ok(found?.cors_rules.unwrap_or_default()),
        }
    }
}

/// Whether a rule allows the requests of pages of these origins.
fn allows(rule: &CorsRule, origins: &[String]) -> bool {
    origins.iter().all(|origin| rule.allowed_origins().contains(origin))
        && METHODS.iter().all(|method| rule.allowed_methods().iter().any(|allowed| allowed == method))
        && rule.allowed_headers().iter().any(|allowed| allowed.eq_ignore_ascii_case(HEADER))
}
