//! The client against the document of the service.

use std::net::Ipv4Addr;

use atelier_identity_api::{Client, TokenExchange};
use ids::{TenantId, UserId};
use peer::Endpoint;
use testkit::Documented;

#[tokio::test]
async fn each_call_is_as_documented_and_understands_the_answer() {
    let service = Documented::start(include_str!("../../../../openapi/identity.json")).await;
    let endpoint = Endpoint { url: service.url.parse().unwrap(), token: "token".into() };
    let client = Client::new(reqwest::Client::new(), endpoint);
    client.rights(TenantId::new(), UserId::new()).await.unwrap();
    client.account(&"token".into()).await.unwrap();
    let exchange = TokenExchange { credential: "key".into(), client_address: Ipv4Addr::LOCALHOST.into() };
    client.exchange(&exchange).await.unwrap();
    service.check();
}
