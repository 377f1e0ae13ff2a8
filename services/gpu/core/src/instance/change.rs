//! What an order for a stopped instance changes in it. Pure.

use ids::{DatacenterId, GpuSpecId, StorageId};
use rust_decimal::Decimal;

use super::{
    idle_stop::{IdleStop, IdleStopSettings},
    model::Instance,
    mount::Mount,
    own_image::Software,
    parts::OrderedGpu,
    refusal::Refusal,
    state::State,
};
use crate::event::{Created, InstanceField, Updated};

/// A GPU specification that can be ordered, with its present price.
#[derive(Debug, Clone)]
pub struct Offer {
    /// GPU specification.
    pub id: GpuSpecId,
    /// Its name.
    pub name: String,
    /// Its GPUs.
    pub gpu: OrderedGpu,
    /// Price.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

impl Instance {
    /// # Errors
    /// If a service of the platform manages the instance.
    pub fn check_unmanaged(&self) -> Result<(), Refusal> {
        self.managed_by.clone().map_or(Ok(()), |service| Err(Refusal::Managed(service)))
    }

    /// Whether these are its settings.
    pub fn has_idle_stop(&self, new: Option<IdleStopSettings>) -> bool {
        settings(self) == new.map(IdleStop::from)
    }

    /// # Errors
    /// If the instance is not stopped.
    pub fn check_stopped(&self) -> Result<(), Refusal> {
        match &self.state {
            State::Stopped { .. } => Ok(()),
            state => Err(Refusal::NotStopped(state.into())),
        }
    }

    /// Orders another GPU specification, at its price.
    ///
    /// # Errors
    /// If the instance holds a unit, which is of the present specification.
    pub fn change_spec(&mut self, spec: Offer) -> Result<(), Refusal> {
        if spec.id == self.order.gpu_spec_id {
            return Ok(());
        }
        if self.hold().is_some() {
            return Err(Refusal::UnitHeld);
        }
        let order = &mut self.order;
        order.gpu = spec.gpu;
        (order.gpu_spec_id, order.gpu_spec_name) = (spec.id, spec.name);
        (order.price_per_hour, order.currency) = (spec.price_per_hour, spec.currency);
        Ok(())
    }

    /// Orders other storages. Those that are not kept are detached.
    pub fn change_storages(&mut self, mounts: Vec<Mount>) {
        let removed = self.storages();
        self.order.storages = mounts;
        let kept: Vec<StorageId> = self.order.storages.iter().map(|mount| mount.storage_id).collect();
        self.detaching = removed.into_iter().filter(|storage| !kept.contains(storage)).collect();
        self.attached.retain(|storage, _| kept.contains(storage));
    }

    /// Orders units of another datacenter.
    ///
    /// # Errors
    /// If the instance holds a unit of the present one.
    pub fn change_datacenter(&mut self, datacenter: DatacenterId, name: &str) -> Result<(), Refusal> {
        let held = self.hold().map(|hold| hold.claim.place.datacenter_id);
        if held.is_some_and(|held| held != datacenter) {
            return Err(Refusal::UnitHeld);
        }
        self.order.datacenter_id = Some(datacenter);
        self.order.datacenter_name = Some(name.to_owned());
        Ok(())
    }

    /// Orders another version of the service, or another image.
    pub fn change_software(&mut self, software: Software) {
        let order = &mut self.order;
        (order.version, order.image_id) = (software.version, software.image_id);
        order.pull = software.pull;
        order.set_template(software.template);
    }
}

/// The settings of the idle stop, without its announcement.
fn settings(instance: &Instance) -> Option<IdleStop> {
    let idle_stop = instance.idle_stop.clone()?;
    Some(IdleStop { announced: None, ..idle_stop })
}

/// The event of a new instance.
pub fn created(instance: &Instance) -> Created {
    let order = &instance.order;
    Created {
        name: instance.name.clone(),
        gpu_spec_id: order.gpu_spec_id,
        gpu_spec: order.gpu_spec_name.clone(),
        service: order.service.clone(),
        version: order.version.clone(),
        storage_id: order.default_storage(),
        storage_ids: order.storages.iter().map(|mount| mount.storage_id).collect(),
        datacenter_id: order.datacenter_id,
        price_per_hour: order.price_per_hour,
        currency: order.currency.clone(),
        operation_id: instance.operation.id,
    }
}

/// The event of a change.
pub fn updated(before: &Instance, after: &Instance) -> Updated {
    let (old, new) = (&before.order, &after.order);
    let fields = [
        (before.name != after.name, InstanceField::Name),
        (old.gpu_spec_id != new.gpu_spec_id, InstanceField::GpuSpec),
        (!new.has_own_image() && old.version != new.version, InstanceField::Version),
        (
            new.has_own_image() && (&old.template, &old.pull) != (&new.template, &new.pull),
            InstanceField::Image,
        ),
        (old.env != new.env, InstanceField::Env),
        (before.secrets != after.secrets, InstanceField::Secrets),
        (old.storages != new.storages, InstanceField::Storages),
        (before.public_ports != after.public_ports, InstanceField::PublicPorts),
        (old.on_node_loss != new.on_node_loss, InstanceField::OnNodeLoss),
        (settings(before) != settings(after), InstanceField::IdleStop),
    ];
    Updated {
        name: after.name.clone(),
        previous_name: before.name.clone(),
        changed: fields.into_iter().filter_map(|(changed, field)| changed.then_some(field)).collect(),
        gpu_spec: new.gpu_spec_name.clone(),
        version: new.version.clone(),
        price_per_hour: Some(new.price_per_hour),
        currency: new.currency.clone(),
    }
}
