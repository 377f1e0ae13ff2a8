//! Where an order may run.

use clusters::Clusters;
use crds::Trust;
use gpu_core::instance::Order;
use ids::DatacenterId;

use super::limit;

/// The datacenters in which an order may run, at least one: the one that it names, or none for any. For code
/// of tenants: those in which it runs, unless it runs in all.
pub(crate) async fn places(
    clusters: &Clusters,
    stock: &stock_api::Client,
    order: &Order,
) -> Result<Vec<Option<DatacenterId>>, peer::Error> {
    if order.datacenter_id.is_some() || order.trust() != Trust::Tenant {
        return Ok(vec![order.datacenter_id]);
    }
    let mut places = Vec::new();
    for name in limit(clusters).unwrap_or_default() {
        match stock.find_datacenter(&name).await {
            Ok(datacenter) => places.push(Some(datacenter.id)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    // stock chooses; if such code runs nowhere, the order is refused, or the claimed unit released
    if places.is_empty() {
        places.push(None);
    }
    Ok(places)
}
