//! The store under test, signed Admin Ops calls, and users with S3 clients.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sdk_s3::config::{BehaviorVersion, Region, RequestChecksumCalculation};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use serde_json::Value;

pub(crate) const ADMIN_KEY: &str = "ADMINADMINADMINADMIN";
pub(crate) const ADMIN_SECRET: &str = "not-a-secret-not-a-secret-not-a-secret-0";

pub(crate) struct Store {
    pub(crate) endpoint: String,
    access_key: String,
    secret_key: String,
    embedded: Option<(atelier_devs3::Server, tempfile::TempDir)>,
    http: reqwest::Client,
}

pub(crate) fn config(folder: &std::path::Path) -> atelier_devs3::Config {
    atelier_devs3::Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        data_dir: folder.join("data"),
        admin_access_key: ADMIN_KEY.into(),
        admin_secret_key: ADMIN_SECRET.into(),
        region: "default".into(),
    }
}

impl Store {
    /// The Ceph RGW of the environment, or a new development store.
    pub(crate) async fn open() -> Self {
        if let Ok(endpoint) = std::env::var("RGW_ENDPOINT") {
            return Self {
                endpoint,
                access_key: std::env::var("RGW_ACCESS_KEY").unwrap(),
                secret_key: std::env::var("RGW_SECRET_KEY").unwrap(),
                embedded: None,
                http: reqwest::Client::new(),
            };
        }
        Self::embedded(tempfile::tempdir().unwrap()).await
    }

    /// The development store on the data in `folder`.
    pub(crate) async fn embedded(folder: tempfile::TempDir) -> Self {
        let server = atelier_devs3::Server::start(config(folder.path())).await.unwrap();
        Self {
            endpoint: server.endpoint.clone(),
            access_key: ADMIN_KEY.into(),
            secret_key: ADMIN_SECRET.into(),
            embedded: Some((server, folder)),
            http: reqwest::Client::new(),
        }
    }

    /// Stops the development store and returns its data folder.
    pub(crate) async fn stop(self) -> tempfile::TempDir {
        let (server, folder) = self.embedded.unwrap();
        server.stop().await.unwrap();
        folder
    }

    /// An Admin Ops call signed by the administrator: status, body (null when empty).
    pub(crate) async fn admin(&self, method: &str, path: &str, query: &[(&str, &str)]) -> (u16, Value) {
        self.signed(method, path, query, &self.access_key, &self.secret_key).await
    }

    pub(crate) async fn signed(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        access: &str,
        secret: &str,
    ) -> (u16, Value) {
        let mut url = reqwest::Url::parse(&format!("{}/admin/{path}", self.endpoint)).unwrap();
        url.query_pairs_mut().extend_pairs(query);
        let identity = Credentials::new(access, secret, None, None, "test").into();
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = aws_sigv4::http_request::PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = aws_sigv4::http_request::PercentEncodingMode::Single;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region("default")
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let signable =
            SignableRequest::new(method, url.as_str(), [].into_iter(), SignableBody::Bytes(b"")).unwrap();
        let (instructions, _) = sign(signable, &params).unwrap().into_parts();
        let mut request = self.http.request(method.parse().unwrap(), url);
        for (name, value) in instructions.headers() {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}"))
        };
        (status, body)
    }

    /// A new user with a key.
    pub(crate) async fn user(&self) -> User {
        let uid = format!("t-{}", uuid::Uuid::new_v4().simple());
        let query = [("uid", uid.as_str()), ("display-name", "a test")];
        let (status, body) = self.admin("PUT", "user", &query).await;
        assert_eq!(status, 200, "{body}");
        let text = |name: &str| body["keys"][0][name].as_str().unwrap().to_owned();
        let (access, secret) = (text("access_key"), text("secret_key"));
        User { s3: self.s3(&access, &secret), uid, access, secret }
    }

    pub(crate) fn s3(&self, access: &str, secret: &str) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&self.endpoint)
            .region(Region::new("default"))
            .force_path_style(true)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(aws_sdk_s3::config::ResponseChecksumValidation::WhenRequired)
            .retry_config(aws_sdk_s3::config::retry::RetryConfig::disabled())
            .credentials_provider(Credentials::new(access, secret, None, None, "test"))
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// Removes a user with all its data.
    pub(crate) async fn forget(&self, user: &User) {
        let query = [("uid", user.uid.as_str()), ("purge-data", "true")];
        assert_eq!(self.admin("DELETE", "user", &query).await.0, 200);
    }
}

pub(crate) struct User {
    pub(crate) uid: String,
    pub(crate) access: String,
    pub(crate) secret: String,
    pub(crate) s3: aws_sdk_s3::Client,
}

impl User {
    /// A new bucket of this user.
    pub(crate) async fn bucket(&self) -> String {
        let name = format!("b-{}", uuid::Uuid::new_v4().simple());
        self.s3.create_bucket().bucket(&name).send().await.unwrap();
        name
    }

    pub(crate) async fn put(&self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) -> String {
        self.s3
            .put_object()
            .bucket(bucket)
            .key(key)
            .body(bytes.into().into())
            .send()
            .await
            .map_or_else(|e| code(&e), |_| "ok".to_owned())
    }

    pub(crate) async fn get(&self, bucket: &str, key: &str) -> Result<Vec<u8>, String> {
        let answer = self.s3.get_object().bucket(bucket).key(key).send().await;
        let answer = answer.map_err(|e| code(&e))?;
        Ok(answer.body.collect().await.unwrap().to_vec())
    }
}

/// The S3 code of a failed call, or its status if the response has no body (HEAD).
pub(crate) fn code<E: ProvideErrorMetadata + std::fmt::Debug>(
    error: &aws_sdk_s3::error::SdkError<E, aws_sdk_s3::config::http::HttpResponse>,
) -> String {
    let coded = error.code().map(str::to_owned);
    coded.unwrap_or_else(|| {
        error.raw_response().map_or_else(|| format!("{error:?}"), |r| r.status().as_u16().to_string())
    })
}
