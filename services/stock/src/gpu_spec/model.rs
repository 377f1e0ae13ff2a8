//! GPU specifications: their fields, their limits, and how a change affects units.

use std::collections::BTreeMap;

use api::{Checks, checks::is_qualified, money};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use stock_api::{Allocation, GpuSpec, GpuSpecState};
use utoipa::ToSchema;

/// A price and the time in which it was effective.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Price {
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    pub currency: String,
    /// Part of the price, 0 to 1, for which a stopped instance could keep its unit; null if it could not.
    #[serde(with = "money::option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub hold_price_fraction: Option<Decimal>,
    /// Start.
    pub effective_from: Timestamp,
    /// End; null for the current price.
    pub effective_until: Option<Timestamp>,
}

/// A specification to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGpuSpec {
    /// Unique name: a DNS label.
    #[schema(example = "3080-small-4-1")]
    pub name: String,
    /// GPU model: a Kubernetes label value.
    #[schema(example = "NVIDIA-GeForce-RTX-3080")]
    pub gpu_model: String,
    /// Number of GPUs, 1 to 64.
    pub gpu_count: i32,
    /// Cores of each GPU.
    pub gpu_cores: i32,
    /// Video memory of each GPU in MiB.
    pub video_memory_mib: i64,
    /// CPU in thousandths of a core.
    pub cpu_millis: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// Ephemeral disk in GiB.
    pub disk_gib: i64,
    /// Price per hour: a decimal number in a string, 0 to 1000000, with at most 6 digits after the point.
    #[serde(with = "money")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    #[schema(example = "USD")]
    pub currency: String,
    /// Part of the price for which a stopped instance may keep its unit: a decimal number in a string, 0 to 1, with at
    /// most 4 digits after the point. If absent or null, units cannot be held.
    #[serde(default, with = "money::option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub hold_price_fraction: Option<Decimal>,
    /// How the cluster allocates the GPUs.
    pub allocation: Allocation,
    /// Labels that the node of a unit must have, at most 16.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
}

/// Changes of a specification; absent fields stay unchanged. While the specification has units, only price,
/// currency, price of holds and state can change.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuSpecPatch {
    /// New name.
    pub name: Option<String>,
    /// New GPU model.
    pub gpu_model: Option<String>,
    /// New number of GPUs.
    pub gpu_count: Option<i32>,
    /// New number of cores of each GPU.
    pub gpu_cores: Option<i32>,
    /// New video memory of each GPU in MiB.
    pub video_memory_mib: Option<i64>,
    /// New CPU in thousandths of a core.
    pub cpu_millis: Option<i64>,
    /// New memory in MiB.
    pub memory_mib: Option<i64>,
    /// New ephemeral disk in GiB.
    pub disk_gib: Option<i64>,
    /// New price per hour, effective at once. The previous price stays in the history.
    #[serde(with = "money::option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub price_per_hour: Option<Decimal>,
    /// New ISO 4217 code of the currency.
    pub currency: Option<String>,
    /// New part of the price for which a stopped instance may keep its unit; null to end the offer.
    #[serde(with = "money::nullable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub hold_price_fraction: Option<Option<Decimal>>,
    /// New allocation.
    pub allocation: Option<Allocation>,
    /// New node labels; they replace all previous ones.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// `retired` to end the sale, `active` to resume it.
    pub state: Option<GpuSpecState>,
}

impl NewGpuSpec {
    /// Checks all fields.
    pub(crate) fn check(&self) -> Checks {
        let mut checks = Checks::default();
        checks.name("/name", &self.name);
        checks.label_value("/gpu_model", &self.gpu_model);
        checks.within("/gpu_count", self.gpu_count, 1, 64);
        checks.within("/gpu_cores", self.gpu_cores, 1, 10_000_000);
        checks.within("/video_memory_mib", self.video_memory_mib, 1, 4 << 20);
        checks.within("/cpu_millis", self.cpu_millis, 1, 4_096_000);
        checks.within("/memory_mib", self.memory_mib, 1, 64 << 20);
        checks.within("/disk_gib", self.disk_gib, 1, 1 << 20);
        check_price(&mut checks, self.price_per_hour);
        checks.currency("/currency", &self.currency);
        check_fraction(&mut checks, self.hold_price_fraction);
        check_allocation(&self.allocation, &mut checks);
        checks.labels("/node_selector", &self.node_selector);
        checks
    }
}

fn check_price(checks: &mut Checks, price: Decimal) {
    let pointer = "/price_per_hour";
    checks.require(
        price >= Decimal::ZERO && price <= Decimal::from(1_000_000),
        pointer,
        "must be between 0 and 1000000",
    );
    checks.require(price.normalize().scale() <= 6, pointer, "must have at most 6 digits after the point");
}

fn check_fraction(checks: &mut Checks, fraction: Option<Decimal>) {
    let pointer = "/hold_price_fraction";
    let Some(fraction) = fraction else { return };
    checks.require(fraction >= Decimal::ZERO && fraction <= Decimal::ONE, pointer, "must be between 0 and 1");
    checks.require(fraction.normalize().scale() <= 4, pointer, "must have at most 4 digits after the point");
}

fn check_allocation(allocation: &Allocation, checks: &mut Checks) {
    let at = |field: &str| format!("/allocation/{field}");
    match allocation {
        Allocation::Device { resource }
        | Allocation::Mig { resource }
        | Allocation::TimeSlice { resource } => {
            checks.require(
                is_qualified(resource),
                at("resource"),
                "must be a resource's name, like nvidia.com/gpu",
            );
        }
        Allocation::Hami { memory_mib, cores } => {
            checks.within(&at("memory_mib"), *memory_mib, 1, 4 << 20);
            checks.within(&at("cores"), *cores, 0, 100);
        }
        Allocation::Dra { device_class, selectors } => {
            checks.require(
                is_qualified(device_class),
                at("device_class"),
                "must be a DeviceClass's name, like gpu.nvidia.com",
            );
            checks.require(selectors.len() <= 8, at("selectors"), "must be at most 8");
            for (i, selector) in selectors.iter().enumerate() {
                checks.require(
                    (1..=1024).contains(&selector.len()) && !selector.contains('\0'),
                    at(&format!("selectors/{i}")),
                    "must be 1 to 1024 bytes, without NUL",
                );
            }
        }
    }
}

impl GpuSpecPatch {
    /// Returns the changed specification.
    pub(crate) fn apply(self, mut to: GpuSpec) -> GpuSpec {
        to.name = self.name.unwrap_or(to.name);
        to.gpu_model = self.gpu_model.unwrap_or(to.gpu_model);
        to.gpu_count = self.gpu_count.unwrap_or(to.gpu_count);
        to.gpu_cores = self.gpu_cores.unwrap_or(to.gpu_cores);
        to.video_memory_mib = self.video_memory_mib.unwrap_or(to.video_memory_mib);
        to.cpu_millis = self.cpu_millis.unwrap_or(to.cpu_millis);
        to.memory_mib = self.memory_mib.unwrap_or(to.memory_mib);
        to.disk_gib = self.disk_gib.unwrap_or(to.disk_gib);
        to.price_per_hour = self.price_per_hour.unwrap_or(to.price_per_hour);
        to.currency = self.currency.unwrap_or(to.currency);
        to.hold_price_fraction = self.hold_price_fraction.unwrap_or(to.hold_price_fraction);
        to.allocation = self.allocation.unwrap_or(to.allocation);
        to.node_selector = self.node_selector.unwrap_or(to.node_selector);
        to.state = self.state.unwrap_or(to.state);
        to
    }
}

/// Whether stock may be added.
pub(crate) fn takes_stock(spec: &GpuSpec) -> bool {
    spec.state == GpuSpecState::Active
}

/// Returns what a new specification of the same kind would be created from.
pub(crate) fn shape(spec: &GpuSpec) -> NewGpuSpec {
    NewGpuSpec {
        name: spec.name.clone(),
        gpu_model: spec.gpu_model.clone(),
        gpu_count: spec.gpu_count,
        gpu_cores: spec.gpu_cores,
        video_memory_mib: spec.video_memory_mib,
        cpu_millis: spec.cpu_millis,
        memory_mib: spec.memory_mib,
        disk_gib: spec.disk_gib,
        price_per_hour: spec.price_per_hour,
        currency: spec.currency.clone(),
        hold_price_fraction: spec.hold_price_fraction,
        allocation: spec.allocation.clone(),
        node_selector: spec.node_selector.clone(),
    }
}

/// Whether units of `spec` and `other` would have different objects in the cluster.
pub(crate) fn reshapes(spec: &GpuSpec, other: &GpuSpec) -> bool {
    spec.name != other.name
        || spec.gpu_model != other.gpu_model
        || (spec.gpu_count, spec.gpu_cores) != (other.gpu_count, other.gpu_cores)
        || spec.video_memory_mib != other.video_memory_mib
        || (spec.cpu_millis, spec.memory_mib) != (other.cpu_millis, other.memory_mib)
        || spec.disk_gib != other.disk_gib
        || spec.allocation != other.allocation
        || spec.node_selector != other.node_selector
}

/// Whether an hour has different prices.
pub(crate) fn reprices(spec: &GpuSpec, other: &GpuSpec) -> bool {
    spec.price_per_hour != other.price_per_hour
        || spec.currency != other.currency
        || spec.hold_price_fraction != other.hold_price_fraction
}

impl NewGpuSpec {
    /// Returns the summary in one line.
    pub(crate) fn summary(&self) -> String {
        let gib = |mib: i64| Decimal::new(mib * 100 / 1024, 2).normalize();
        format!(
            "{gpus} GPU / {gpus} x {video}GB Video RAM / {cpu} CPU / {memory}GB Memory / {disk}GB Temporary Storage",
            gpus = self.gpu_count,
            video = gib(self.video_memory_mib),
            cpu = Decimal::new(self.cpu_millis, 3).normalize(),
            memory = gib(self.memory_mib),
            disk = self.disk_gib,
        )
    }
}

#[cfg(test)]
mod tests {
    use ids::GpuSpecId;
    use proptest::prelude::*;

    use super::*;

    fn spec() -> NewGpuSpec {
        NewGpuSpec {
            name: "3080-small-4-1".into(),
            gpu_model: "NVIDIA-GeForce-RTX-3080".into(),
            gpu_count: 1,
            gpu_cores: 8704,
            video_memory_mib: 10_240,
            cpu_millis: 4000,
            memory_mib: 8192,
            disk_gib: 50,
            price_per_hour: Decimal::new(2, 1),
            currency: "USD".into(),
            hold_price_fraction: None,
            allocation: Allocation::Device { resource: "nvidia.com/gpu".into() },
            node_selector: BTreeMap::new(),
        }
    }

    #[test]
    fn the_summary_has_the_documented_form() {
        assert_eq!(
            spec().summary(),
            "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage"
        );
        let half = NewGpuSpec { cpu_millis: 500, memory_mib: 1536, ..spec() };
        assert!(half.summary().contains("0.5 CPU / 1.5GB Memory"), "{}", half.summary());
    }

    /// The pointers of the fields that are not valid.
    fn refused(spec: &NewGpuSpec) -> Vec<String> {
        spec.check().into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn a_price_has_bounds_and_six_digits() {
        for (price, valid) in [
            (Decimal::new(2, 1), true),
            (Decimal::ZERO, true),
            (Decimal::from(1_000_000), true),
            (Decimal::new(1, 6), true),
            (Decimal::new(10, 7), true),
            (Decimal::new(-1, 1), false),
            (Decimal::new(100_000_001, 2), false),
            (Decimal::new(1, 7), false),
        ] {
            let expected: &[&str] = if valid { &[] } else { &["/price_per_hour"] };
            assert_eq!(refused(&NewGpuSpec { price_per_hour: price, ..spec() }), expected, "{price}");
        }
    }

    #[test]
    fn a_hold_costs_a_part_of_the_price() {
        for (fraction, valid) in [
            (None, true),
            (Some(Decimal::ZERO), true),
            (Some(Decimal::ONE), true),
            (Some(Decimal::new(1, 4)), true),
            (Some(Decimal::new(1, 5)), false),
            (Some(Decimal::new(-1, 4)), false),
            (Some(Decimal::new(10_001, 4)), false),
        ] {
            let expected: &[&str] = if valid { &[] } else { &["/hold_price_fraction"] };
            assert_eq!(
                refused(&NewGpuSpec { hold_price_fraction: fraction, ..spec() }),
                expected,
                "{fraction:?}"
            );
        }
    }

    #[test]
    fn a_patch_tells_null_from_absent() {
        let read = |text: &str| serde_json::from_str::<GpuSpecPatch>(text).unwrap().hold_price_fraction;
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"hold_price_fraction":null}"#), Some(None));
        assert_eq!(read(r#"{"hold_price_fraction":"0.5"}"#), Some(Some(Decimal::new(5, 1))));
        let sent = GpuSpecPatch { hold_price_fraction: Some(None), ..Default::default() };
        assert_eq!(serde_json::to_value(sent).unwrap()["hold_price_fraction"], serde_json::Value::Null);
    }

    #[test]
    fn each_number_has_bounds() {
        type Set = fn(&mut NewGpuSpec, i64);
        let fields: [(&str, i64, Set); 6] = [
            ("/gpu_count", 64, |spec, n| spec.gpu_count = n.try_into().unwrap()),
            ("/gpu_cores", 10_000_000, |spec, n| spec.gpu_cores = n.try_into().unwrap()),
            ("/video_memory_mib", 4 << 20, |spec, n| spec.video_memory_mib = n),
            ("/cpu_millis", 4_096_000, |spec, n| spec.cpu_millis = n),
            ("/memory_mib", 64 << 20, |spec, n| spec.memory_mib = n),
            ("/disk_gib", 1 << 20, |spec, n| spec.disk_gib = n),
        ];
        for (pointer, most, set) in fields {
            for (value, valid) in [(0, false), (1, true), (most, true), (most + 1, false)] {
                let mut spec = spec();
                set(&mut spec, value);
                let expected: &[&str] = if valid { &[] } else { &[pointer] };
                assert_eq!(refused(&spec), expected, "{value}");
            }
        }
    }

    #[test]
    fn an_allocation_is_checked_by_its_kind() {
        let resource = |text: &str| text.to_owned();
        let dra = |device_class: &str, selectors: Vec<String>| Allocation::Dra {
            device_class: device_class.into(),
            selectors,
        };
        for (allocation, expected) in [
            (Allocation::Mig { resource: resource("nvidia.com/mig-1g.10gb") }, None),
            (Allocation::Device { resource: resource("a b") }, Some("/allocation/resource")),
            (Allocation::TimeSlice { resource: resource("") }, Some("/allocation/resource")),
            (Allocation::Hami { memory_mib: 1, cores: 0 }, None),
            (Allocation::Hami { memory_mib: 4 << 20, cores: 100 }, None),
            (Allocation::Hami { memory_mib: 0, cores: 1 }, Some("/allocation/memory_mib")),
            (Allocation::Hami { memory_mib: 1, cores: 101 }, Some("/allocation/cores")),
            (dra("gpu.nvidia.com", vec!["x".repeat(1024); 8]), None),
            (dra("GPU!", vec![]), Some("/allocation/device_class")),
            (dra("gpu", vec!["x".into(); 9]), Some("/allocation/selectors")),
            (dra("gpu", vec!["x".into(), String::new()]), Some("/allocation/selectors/1")),
            (dra("gpu", vec!["x".repeat(1025)]), Some("/allocation/selectors/0")),
            (dra("gpu", vec!["\0".into()]), Some("/allocation/selectors/0")),
        ] {
            let spec = NewGpuSpec { allocation: allocation.clone(), ..spec() };
            assert_eq!(refused(&spec), expected.as_slice(), "{allocation:?}");
        }
    }

    fn existing() -> GpuSpec {
        let new = spec();
        GpuSpec {
            id: GpuSpecId::new(),
            summary: new.summary(),
            name: new.name,
            gpu_model: new.gpu_model,
            gpu_count: new.gpu_count,
            gpu_cores: new.gpu_cores,
            video_memory_mib: new.video_memory_mib,
            cpu_millis: new.cpu_millis,
            memory_mib: new.memory_mib,
            disk_gib: new.disk_gib,
            price_per_hour: new.price_per_hour,
            currency: new.currency,
            hold_price_fraction: new.hold_price_fraction,
            allocation: new.allocation,
            node_selector: new.node_selector,
            state: GpuSpecState::Active,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            generation: 1,
        }
    }

    /// The effect of a patch on units and on the price history.
    #[test]
    fn a_patch_reshapes_reprices_or_retires() {
        let hami = Allocation::Hami { memory_mib: 1, cores: 1 };
        let label = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        for (patch, reshapes, reprices) in [
            (GpuSpecPatch::default(), false, false),
            (GpuSpecPatch { name: Some("x".into()), ..Default::default() }, true, false),
            (GpuSpecPatch { gpu_model: Some("x".into()), ..Default::default() }, true, false),
            (GpuSpecPatch { gpu_count: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { gpu_cores: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { video_memory_mib: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { cpu_millis: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { memory_mib: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { disk_gib: Some(2), ..Default::default() }, true, false),
            (GpuSpecPatch { allocation: Some(hami), ..Default::default() }, true, false),
            (GpuSpecPatch { node_selector: Some(label), ..Default::default() }, true, false),
            (GpuSpecPatch { price_per_hour: Some(Decimal::new(20, 2)), ..Default::default() }, false, false),
            (GpuSpecPatch { price_per_hour: Some(Decimal::ONE), ..Default::default() }, false, true),
            (GpuSpecPatch { currency: Some("EUR".into()), ..Default::default() }, false, true),
            (
                GpuSpecPatch { hold_price_fraction: Some(Some(Decimal::ONE)), ..Default::default() },
                false,
                true,
            ),
            (GpuSpecPatch { hold_price_fraction: Some(None), ..Default::default() }, false, false),
            (GpuSpecPatch { state: Some(GpuSpecState::Retired), ..Default::default() }, false, false),
        ] {
            let before = existing();
            let retired = patch.state.is_some();
            let after = patch.clone().apply(before.clone());
            assert_eq!(
                (super::reshapes(&after, &before), super::reprices(&after, &before)),
                (reshapes, reprices),
                "{patch:?}"
            );
            assert_eq!(takes_stock(&after), !retired);
        }
    }

    proptest! {
        #[test]
        fn prices_survive_the_wire(micros in 0i64..=1_000_000_000_000) {
            let price = Decimal::new(micros, 6);
            let sent = NewGpuSpec { price_per_hour: price, ..spec() };
            prop_assert!(sent.check().finish().is_ok());
            let text = serde_json::to_string(&sent).unwrap();
            let read: NewGpuSpec = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.price_per_hour, price);
        }

        #[test]
        fn only_dns_labels_are_names(name in "\\PC{0,70}") {
            let named = NewGpuSpec { name: name.clone(), ..spec() };
            let fits = (1..=63).contains(&name.len())
                && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
                && !name.starts_with('-') && !name.ends_with('-');
            prop_assert_eq!(named.check().finish().is_ok(), fits);
        }
    }
}
