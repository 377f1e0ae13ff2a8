//! What a GPU specification is, and what may be said of it.

use std::collections::BTreeMap;

use api::Problem;
use ids::GpuSpecId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use api::{Checks, checks::is_qualified};

/// Whether a specification is sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum GpuSpecState {
    /// It is sold.
    Active,
    /// It takes no new stock and no new instances; instances that have it keep it.
    Retired,
}

/// How the cluster gives a GPU to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Allocation {
    /// Whole GPUs by a device plugin.
    Device {
        /// The extended resource, for example `nvidia.com/gpu`.
        resource: String,
    },
    /// A MIG profile.
    Mig {
        /// The extended resource, for example `nvidia.com/mig-1g.10gb`.
        resource: String,
    },
    /// A time slice.
    TimeSlice {
        /// The extended resource, for example `nvidia.com/gpu.shared`.
        resource: String,
    },
    /// A part of a GPU by HAMi.
    Hami {
        /// Memory per GPU in MiB.
        memory_mib: i64,
        /// Share of each GPU's cores in percent, 0 to 100.
        cores: i64,
    },
    /// Devices of a class by dynamic resource allocation.
    Dra {
        /// The `DeviceClass`.
        device_class: String,
        /// CEL selectors that each device must meet, at most 8.
        #[serde(default)]
        selectors: Vec<String>,
    },
}

/// A GPU specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GpuSpec {
    /// Its id.
    pub id: GpuSpecId,
    /// Its name, unique.
    #[schema(example = "3080-small-4-1")]
    pub name: String,
    /// The model of its GPUs.
    #[schema(example = "NVIDIA-GeForce-RTX-3080")]
    pub gpu_model: String,
    /// How many GPUs.
    pub gpu_count: i32,
    /// Cores of each GPU.
    pub gpu_cores: i32,
    /// Video memory of each GPU in MiB.
    pub video_memory_mib: i64,
    /// CPU in thousandths of a core.
    pub cpu_millis: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// Temporary disk in GiB.
    pub disk_gib: i64,
    /// The price of an hour, decimal.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    #[schema(example = "USD")]
    pub currency: String,
    /// How the cluster gives the GPUs.
    pub allocation: Allocation,
    /// Labels that a unit's node must bear.
    pub node_selector: BTreeMap<String, String>,
    /// Whether it is sold.
    pub state: GpuSpecState,
    /// All of it in one line, for people.
    #[schema(example = "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage")]
    pub summary: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Its version, the entity tag.
    #[serde(skip)]
    pub generation: i64,
}

/// A price, and when it was in force.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Price {
    /// The price of an hour, decimal.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// From when on.
    pub effective_from: Timestamp,
    /// Until when; null for the one in force.
    pub effective_until: Option<Timestamp>,
}

/// A specification to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGpuSpec {
    /// Its name: a DNS label, unique.
    #[schema(example = "3080-small-4-1")]
    pub name: String,
    /// The model of its GPUs, fit for a label's value.
    #[schema(example = "NVIDIA-GeForce-RTX-3080")]
    pub gpu_model: String,
    /// How many GPUs, 1 to 64.
    pub gpu_count: i32,
    /// Cores of each GPU.
    pub gpu_cores: i32,
    /// Video memory of each GPU in MiB.
    pub video_memory_mib: i64,
    /// CPU in thousandths of a core.
    pub cpu_millis: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// Temporary disk in GiB.
    pub disk_gib: i64,
    /// The price of an hour: a decimal in a string, 0 or more, at most 6 digits after the point.
    #[serde(with = "money")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    #[schema(example = "USD")]
    pub currency: String,
    /// How the cluster gives the GPUs.
    pub allocation: Allocation,
    /// Labels that a unit's node must bear, at most 16.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
}

/// What to change of a specification; what is absent stays. Everything but price, currency and state can
/// change only while there are no units of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuSpecPatch {
    /// Another name.
    pub name: Option<String>,
    /// Another model.
    pub gpu_model: Option<String>,
    /// Another number of GPUs.
    pub gpu_count: Option<i32>,
    /// Other cores of each GPU.
    pub gpu_cores: Option<i32>,
    /// Other video memory of each GPU in MiB.
    pub video_memory_mib: Option<i64>,
    /// Other CPU in thousandths of a core.
    pub cpu_millis: Option<i64>,
    /// Other memory in MiB.
    pub memory_mib: Option<i64>,
    /// Another temporary disk in GiB.
    pub disk_gib: Option<i64>,
    /// A new price of an hour, in force from now on; the old one stays in the history.
    #[serde(with = "money::option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub price_per_hour: Option<Decimal>,
    /// The currency of the price.
    pub currency: Option<String>,
    /// Another way to give the GPUs.
    pub allocation: Option<Allocation>,
    /// All node labels anew.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// `retired` to sell it no more, `active` to sell it again.
    pub state: Option<GpuSpecState>,
}

impl NewGpuSpec {
    pub(crate) fn check(&self) -> Result<(), Problem> {
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
        checks.require(
            self.currency.len() == 3 && self.currency.bytes().all(|b| b.is_ascii_uppercase()),
            "/currency",
            "must be three capital letters (ISO 4217)",
        );
        self.allocation.check(&mut checks);
        checks.labels("/node_selector", &self.node_selector);
        checks.finish()
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

impl Allocation {
    fn check(&self, checks: &mut Checks) {
        let at = |field: &str| format!("/allocation/{field}");
        match self {
            Self::Device { resource } | Self::Mig { resource } | Self::TimeSlice { resource } => {
                checks.require(
                    is_qualified(resource),
                    at("resource"),
                    "must be a resource's name, like nvidia.com/gpu",
                );
            }
            Self::Hami { memory_mib, cores } => {
                checks.within(&at("memory_mib"), *memory_mib, 1, 4 << 20);
                checks.within(&at("cores"), *cores, 0, 100);
            }
            Self::Dra { device_class, selectors } => {
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
}

impl GpuSpecPatch {
    /// The specification as it will be.
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
        to.allocation = self.allocation.unwrap_or(to.allocation);
        to.node_selector = self.node_selector.unwrap_or(to.node_selector);
        to.state = self.state.unwrap_or(to.state);
        to
    }
}

impl GpuSpec {
    /// Everything of it that is not its id, times and state.
    pub(crate) fn shape(&self) -> NewGpuSpec {
        NewGpuSpec {
            name: self.name.clone(),
            gpu_model: self.gpu_model.clone(),
            gpu_count: self.gpu_count,
            gpu_cores: self.gpu_cores,
            video_memory_mib: self.video_memory_mib,
            cpu_millis: self.cpu_millis,
            memory_mib: self.memory_mib,
            disk_gib: self.disk_gib,
            price_per_hour: self.price_per_hour,
            currency: self.currency.clone(),
            allocation: self.allocation.clone(),
            node_selector: self.node_selector.clone(),
        }
    }

    /// Whether units made of the one would differ from units made of the other.
    pub(crate) fn reshapes(&self, other: &Self) -> bool {
        self.name != other.name
            || self.gpu_model != other.gpu_model
            || (self.gpu_count, self.gpu_cores) != (other.gpu_count, other.gpu_cores)
            || self.video_memory_mib != other.video_memory_mib
            || (self.cpu_millis, self.memory_mib) != (other.cpu_millis, other.memory_mib)
            || self.disk_gib != other.disk_gib
            || self.allocation != other.allocation
            || self.node_selector != other.node_selector
    }

    /// Whether an hour costs something else.
    pub(crate) fn reprices(&self, other: &Self) -> bool {
        self.price_per_hour != other.price_per_hour || self.currency != other.currency
    }
}

impl NewGpuSpec {
    /// The line under a specification's name in the list of stock.
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

/// Money comes as a decimal in a string, to the last digit; a JSON number is refused.
mod money {
    use rust_decimal::Decimal;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&value.normalize())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| D::Error::custom("must be a decimal number in a string, like \"0.2\""))
    }

    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !digits.starts_with('.');
        if !plain || digits.ends_with('.') || text.len() > 32 {
            return None;
        }
        Decimal::from_str_exact(text).ok()
    }

    pub(super) mod option {
        use super::{Decimal, Deserialize, Deserializer, Error, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<Decimal>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => serializer.collect_str(&value.normalize()),
                None => serializer.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Decimal>, D::Error> {
            let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
            text.map(|text| {
                super::parse(&text)
                    .ok_or_else(|| D::Error::custom("must be a decimal number in a string, like \"0.2\""))
            })
            .transpose()
        }
    }
}

#[cfg(test)]
mod tests {
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
            allocation: Allocation::Device { resource: "nvidia.com/gpu".into() },
            node_selector: BTreeMap::new(),
        }
    }

    #[test]
    fn the_summary_is_the_line_of_the_page_sketch() {
        assert_eq!(
            spec().summary(),
            "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage"
        );
        let half = NewGpuSpec { cpu_millis: 500, memory_mib: 1536, ..spec() };
        assert!(half.summary().contains("0.5 CPU / 1.5GB Memory"), "{}", half.summary());
    }

    #[test]
    fn money_is_exact_or_refused() {
        for (text, good) in [
            ("0.2", true),
            ("0", true),
            ("1000000", true),
            ("0.000001", true),
            ("0.0000010", true),
            ("-0.1", false),
            ("1000000.01", false),
            ("0.0000001", false),
        ] {
            let spec = NewGpuSpec { price_per_hour: money::parse(text).unwrap(), ..spec() };
            assert_eq!(spec.check().is_ok(), good, "{text}");
        }
        for bad in ["", "1e3", ".5", "5.", "0x1", "1,5", " 1", "1.2.3", "NaN", "--1", &"1".repeat(40)] {
            assert_eq!(money::parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn prices_survive_the_wire(micros in 0i64..=1_000_000_000_000) {
            let price = Decimal::new(micros, 6);
            let sent = NewGpuSpec { price_per_hour: price, ..spec() };
            prop_assert!(sent.check().is_ok());
            let text = serde_json::to_string(&sent).unwrap();
            let read: NewGpuSpec = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.price_per_hour, price);
        }

        #[test]
        fn nothing_odd_passes_as_a_name(name in "\\PC{0,70}") {
            let named = NewGpuSpec { name: name.clone(), ..spec() };
            let fits = (1..=63).contains(&name.len())
                && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
                && !name.starts_with('-') && !name.ends_with('-');
            prop_assert_eq!(named.check().is_ok(), fits);
        }
    }
}
