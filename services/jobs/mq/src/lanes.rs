//! Messages that wait to be taken in, by tenant: tenants take turns, whatever one of them sends. Pure.

use std::collections::{BTreeSet, HashMap, VecDeque};

use ids::{MqCredentialId, TenantId};
use serde_json::Value;
use uuid::Uuid;

use super::{message::Message, model};

/// The owner of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Tenant(TenantId),
    /// Messages of a tenant that this process does not know yet.
    Credential(MqCredentialId),
    /// Messages without a valid credential.
    Nobody,
}

/// Maximum number of messages that wait at a time, and bytes of them. A tenant may have twice as many as
/// still fit: two thirds of the total while it is alone, so that another tenant's messages always fit.
const ROOM: usize = 30_000;
const ROOM_BYTES: usize = 64 << 20;
/// Approximate number of bytes that a message takes besides its contents.
const OVERHEAD: usize = 512;
/// Maximum number of messages of a batch.
const BATCH: usize = 512;
/// Maximum number of a tenant's messages in a batch while others wait, or are taken in.
const QUANTUM: usize = 64;
/// Messages whose uploads are checked at a time: as many as are taken in, so that the intake does not wait
/// for checks. And messages that are refused at a time.
const UNCHECKED: usize = BATCH;
const EXCESS: usize = 4_096;
/// Maximum number of pending messages before one that is acknowledged alone, as the broker iterates over each
/// of them. Behind more, it is acknowledged with them.
const AHEAD: usize = 256;

/// A message that waits.
struct Item {
    tag: u64,
    message: Message,
    bytes: usize,
}

/// Whether a lane has a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Turn {
    /// It has no messages.
    #[default]
    None,
    Waits,
    /// Its messages are being worked on: it gets the next turn afterwards.
    Taken,
}

#[derive(Default)]
struct Lane {
    ready: VecDeque<Item>,
    turn: Turn,
    /// Messages whose uploads must be checked first.
    unchecked: VecDeque<Item>,
    check: Turn,
    count: usize,
    bytes: usize,
}

/// The step that a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    ToBeTaken,
    ForCheck,
    ToBeRefused,
}

/// Messages to take in, in one transaction.
pub(super) struct Batch {
    pub(super) messages: Vec<Message>,
    tags: Vec<u64>,
    /// Number of messages of each owner, and their bytes.
    owners: Vec<(Owner, usize, usize)>,
}

/// Messages of a tenant whose uploads must be checked.
pub(super) struct Check {
    pub(super) owner: Owner,
    items: Vec<Item>,
}

impl Check {
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.items.iter().map(|item| &item.message)
    }
}

/// A message that did not fit.
pub(super) struct Excess {
    pub(super) owner: Owner,
    pub(super) req_no: Option<Uuid>,
    tag: u64,
}

/// Acknowledgements for the broker.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledgements {
    /// This message, and all before it.
    pub(super) up_to: Option<u64>,
    /// These alone.
    pub(super) single: Vec<u64>,
}

/// The messages of a queue that wait.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: HashMap<Owner, Lane>,
    turns: VecDeque<Owner>,
    checks: VecDeque<Owner>,
    excess: Vec<Excess>,
    count: usize,
    bytes: usize,
    /// Tags of messages in progress.
    pending: BTreeSet<u64>,
    /// Tags of finished messages that are not acknowledged yet.
    done: BTreeSet<u64>,
}

impl Lanes {
    /// Whether messages of an owner wait, or are being taken in.
    pub(super) fn has(&self, owner: Owner) -> bool {
        self.lanes.contains_key(&owner)
    }

    /// Adds a message.
    pub(super) fn push(&mut self, owner: Owner, tag: u64, message: Message, names_uploads: bool) -> Waits {
        self.pending.insert(tag);
        let bytes = bytes(&message);
        let lane = self.lanes.entry(owner).or_default();
        let (room, room_bytes) = (ROOM.saturating_sub(self.count), ROOM_BYTES.saturating_sub(self.bytes));
        if lane.count >= 2 * room || lane.bytes + bytes > 2 * room_bytes {
            if lane.count == 0 {
                self.lanes.remove(&owner);
            }
            self.excess.push(Excess { owner, req_no: model::any_req_no(&message), tag });
            return Waits::ToBeRefused;
        }
        lane.count += 1;
        lane.bytes += bytes;
        self.count += 1;
        self.bytes += bytes;
        let item = Item { tag, message, bytes };
        if names_uploads {
            lane.unchecked.push_back(item);
            if lane.check == Turn::None {
                lane.check = Turn::Waits;
                self.checks.push_back(owner);
            }
            return Waits::ForCheck;
        }
        lane.ready.push_back(item);
        self.give_turn(owner);
        Waits::ToBeTaken
    }

    /// Returns the next batch: of each tenant in turn, except those whose messages are being taken in.
    pub(super) fn take(&mut self) -> Option<Batch> {
        let most = if self.lanes.len() == 1 { BATCH } else { QUANTUM };
        let mut batch = Batch { messages: Vec::new(), tags: Vec::new(), owners: Vec::new() };
        while batch.messages.len() < BATCH {
            let Some(owner) = self.turns.pop_front() else { break };
            let Some(lane) = self.lanes.get_mut(&owner) else { continue };
            lane.turn = Turn::Taken;
            let count = most.min(BATCH - batch.messages.len()).min(lane.ready.len());
            let mut bytes = 0;
            for item in lane.ready.drain(..count) {
                bytes += item.bytes;
                batch.tags.push(item.tag);
                batch.messages.push(item.message);
            }
            batch.owners.push((owner, count, bytes));
        }
        (!batch.messages.is_empty()).then_some(batch)
    }

    /// Records that messages were taken in.
    pub(super) fn taken(&mut self, batch: &Batch) -> Acknowledgements {
        for (owner, count, bytes) in &batch.owners {
            self.count -= count;
            self.bytes -= bytes;
            if let Some(lane) = self.lanes.get_mut(owner) {
                lane.count -= count;
                lane.bytes -= bytes;
                lane.turn = Turn::None;
            }
            self.give_turn(*owner);
        }
        self.acknowledge(batch.tags.iter().copied())
    }

    /// Returns messages of the next tenant whose uploads must be checked.
    pub(super) fn take_unchecked(&mut self) -> Option<Check> {
        let owner = self.checks.pop_front()?;
        let lane = self.lanes.get_mut(&owner)?;
        lane.check = Turn::Taken;
        let count = lane.unchecked.len().min(UNCHECKED);
        Some(Check { owner, items: lane.unchecked.drain(..count).collect() })
    }

    /// Records that uploads were checked.
    pub(super) fn checked(&mut self, check: Check) {
        let Some(lane) = self.lanes.get_mut(&check.owner) else { return };
        lane.ready.extend(check.items);
        lane.check = Turn::None;
        if !lane.unchecked.is_empty() {
            lane.check = Turn::Waits;
            self.checks.push_back(check.owner);
        }
        self.give_turn(check.owner);
    }

    /// Returns messages that did not fit.
    pub(super) fn take_excess(&mut self) -> Vec<Excess> {
        let count = self.excess.len().min(EXCESS);
        self.excess.drain(..count).collect()
    }

    /// Records that messages were refused.
    pub(super) fn refused(&mut self, excess: &[Excess]) -> Acknowledgements {
        self.acknowledge(excess.iter().map(|one| one.tag))
    }

    /// Gives a tenant a turn if it has messages, and forgets it if it has none.
    fn give_turn(&mut self, owner: Owner) {
        let Some(lane) = self.lanes.get_mut(&owner) else { return };
        if lane.count == 0 {
            self.lanes.remove(&owner);
        } else if lane.turn == Turn::None && !lane.ready.is_empty() {
            lane.turn = Turn::Waits;
            self.turns.push_back(owner);
        }
    }

    fn acknowledge(&mut self, tags: impl Iterator<Item = u64>) -> Acknowledgements {
        for tag in tags {
            self.pending.remove(&tag);
            self.done.insert(tag);
        }
        let up_to =
            self.pending.first().map_or_else(|| self.done.last(), |first| self.done.range(..first).last());
        let up_to = up_to.copied();
        if let Some(last) = up_to {
            self.done = self.done.split_off(&(last + 1));
        }
        let bound = self.pending.iter().nth(AHEAD).copied().unwrap_or(u64::MAX);
        let behind = self.done.split_off(&bound);
        let single = std::mem::replace(&mut self.done, behind).into_iter().collect();
        Acknowledgements { up_to, single }
    }
}

/// The approximate memory that a message takes.
fn bytes(message: &Message) -> usize {
    let headers = message.properties.headers.iter();
    OVERHEAD + message.body.len() + headers.map(|(name, value)| name.len() + size(value)).sum::<usize>()
}

fn size(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(size).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Properties;

    fn message(bytes: usize) -> Message {
        Message { properties: Properties::default(), body: vec![b' '; bytes], fault: None }
    }

    fn tenant() -> Owner {
        Owner::Tenant(TenantId::new())
    }

    fn owners(batch: &Batch) -> Vec<(Owner, usize)> {
        batch.owners.iter().map(|(owner, count, _)| (*owner, *count)).collect()
    }

    /// Adds messages of a tenant, and returns what they wait for last.
    fn push(lanes: &mut Lanes, owner: Owner, tags: std::ops::Range<u64>) -> Option<Waits> {
        tags.map(|tag| lanes.push(owner, tag, message(0), false)).last()
    }

    #[test]
    fn each_tenant_takes_its_turn() {
        let (mut lanes, many, few) = (Lanes::default(), tenant(), tenant());
        push(&mut lanes, many, 0..5_000);
        let first = lanes.take().unwrap();
        assert_eq!(owners(&first), [(many, BATCH)]);
        // the others of a tenant wait until these are taken in
        assert!(lanes.take().is_none());
        push(&mut lanes, few, 5_000..5_003);
        let second = lanes.take().unwrap();
        assert_eq!(owners(&second), [(few, 3)]);
        assert_eq!(lanes.taken(&first), Acknowledgements { up_to: Some(511), single: Vec::new() });
        push(&mut lanes, few, 5_003..5_004);
        let third = lanes.take().unwrap();
        assert_eq!(owners(&third), [(many, QUANTUM)]);
        lanes.taken(&second);
        let fourth = lanes.take().unwrap();
        assert_eq!(owners(&fourth), [(few, 1)]);
        lanes.taken(&fourth);
        assert_eq!(lanes.taken(&third).up_to, Some(575));
        assert_eq!(owners(&lanes.take().unwrap()), [(many, BATCH)]);
        assert_eq!(lanes.lanes.len(), 1);
    }

    #[test]
    fn who_is_behind_many_is_acknowledged_with_them() {
        let (mut lanes, many, few) = (Lanes::default(), tenant(), tenant());
        let ahead = AHEAD as u64;
        push(&mut lanes, many, 0..ahead + 1);
        push(&mut lanes, few, ahead + 1..ahead + 2);
        let batch = lanes.take().unwrap();
        assert_eq!(owners(&batch), [(many, QUANTUM), (few, 1)]);
        let quantum = QUANTUM as u64;
        let done = Acknowledgements { up_to: Some(quantum - 1), single: vec![ahead + 1] };
        assert_eq!(lanes.taken(&batch), done, "fewer than {AHEAD} are before it");

        let (mut lanes, mut acknowledged) = (Lanes::default(), Vec::new());
        push(&mut lanes, many, 0..3_000);
        let held = lanes.take().unwrap();
        push(&mut lanes, few, 3_000..3_001);
        let behind = lanes.take().unwrap();
        assert_eq!(owners(&behind), [(few, 1)]);
        assert_eq!(lanes.taken(&behind), Acknowledgements::default(), "{BATCH} are before it");
        let mut next = Some(held);
        while let Some(batch) = next {
            acknowledged.extend(lanes.taken(&batch).up_to);
            next = lanes.take();
        }
        assert_eq!(acknowledged.last(), Some(&3_000));
        assert!(lanes.pending.is_empty() && lanes.done.is_empty());
    }

    /// The work of the intake while somebody sends without end: two transactions and a look for uploads at a time.
    #[test]
    fn behind_an_endless_flood_others_wait_for_a_few_transactions() {
        for (flooder, names_uploads) in [
            (tenant(), false),
            (tenant(), true),
            (Owner::Credential(MqCredentialId::new()), false),
            (Owner::Nobody, false),
        ] {
            let (mut lanes, mut tag) = (Lanes::default(), 0);
            let mut running = VecDeque::new();
            // what waits of others: its tag, and the transactions since it came
            let (mut waiting, mut done) = (Vec::new(), 0);
            for step in 0..200_u64 {
                for _ in 0..if step == 0 { 20_000 } else { 1_000 } {
                    lanes.push(flooder, tag, message(0), names_uploads);
                    tag += 1;
                }
                if step % 10 == 5 {
                    lanes.push(tenant(), tag, message(0), names_uploads);
                    waiting.push((tag, 0));
                    tag += 1;
                }
                assert!(lanes.count <= ROOM, "{}", lanes.count);
                for _ in 0..2 {
                    if let Some(check) = lanes.take_unchecked() {
                        assert!(
                            check.messages().count() <= BATCH,
                            "the next transaction waits for all of them"
                        );
                        lanes.checked(check);
                    }
                }
                while running.len() < 2
                    && let Some(batch) = lanes.take()
                {
                    waiting.iter_mut().for_each(|(_, transactions)| *transactions += 1);
                    waiting.retain(|(tag, transactions)| {
                        assert!(*transactions <= 3, "{flooder:?} {names_uploads} {tag}: {transactions}");
                        let is_taken = batch.tags.contains(tag);
                        done += usize::from(is_taken);
                        !is_taken
                    });
                    running.push_back(batch);
                }
                let mut acknowledged = Vec::new();
                if let Some(batch) = running.pop_front() {
                    acknowledged.push(lanes.taken(&batch));
                }
                let excess = lanes.take_excess();
                acknowledged.push(lanes.refused(&excess));
                for tag in acknowledged.into_iter().flat_map(|done| done.single) {
                    let before = lanes.pending.range(..tag).take(AHEAD + 1).count();
                    assert!(before <= AHEAD, "the broker looks at each message before {tag}");
                }
            }
            assert_eq!((done, waiting.len()), (20, 0), "{flooder:?} {names_uploads}");
        }
    }

    #[test]
    fn there_is_always_room_for_another_tenant() {
        let (mut lanes, mut tag) = (Lanes::default(), 0);
        let mut last = ROOM;
        for _ in 0..5 {
            let (owner, before) = (tenant(), lanes.count);
            while lanes.push(owner, tag, message(0), false) == Waits::ToBeTaken {
                tag += 1;
            }
            tag += 1;
            let got = lanes.count - before;
            assert!(got > 100 && got < last, "{got}");
            last = got;
        }
        assert!(lanes.count < ROOM);
        assert_eq!(lanes.excess.len(), 5);
        // the same for bytes
        let (mut lanes, owner) = (Lanes::default(), tenant());
        let mut tag = 0;
        while lanes.push(owner, tag, message(1 << 20), false) == Waits::ToBeTaken {
            tag += 1;
        }
        assert!((40..44).contains(&tag), "{tag}");
        assert_eq!(lanes.push(tenant(), tag + 1, message(1 << 20), false), Waits::ToBeTaken);
        let refused = lanes.take_excess();
        assert_eq!((refused.len(), refused[0].owner), (1, owner));
        assert_eq!(lanes.refused(&refused).single, [tag]);
        let batch = lanes.take().unwrap();
        assert_eq!(lanes.taken(&batch).up_to, Some(tag + 1));
        assert_eq!((lanes.count, lanes.bytes, lanes.lanes.len()), (0, 0, 0));
    }

    #[test]
    fn messages_with_uploads_wait_beside_the_others() {
        let (mut lanes, owner, other) = (Lanes::default(), tenant(), tenant());
        let (batch, last) = (UNCHECKED as u64, 2 * UNCHECKED as u64 + 8);
        for tag in 0..last {
            assert_eq!(lanes.push(owner, tag, message(0), true), Waits::ForCheck);
        }
        push(&mut lanes, owner, last..last + 1);
        lanes.push(other, last + 1, message(0), true);
        let first = lanes.take_unchecked().unwrap();
        assert_eq!((first.owner, first.messages().count()), (owner, UNCHECKED));
        let second = lanes.take_unchecked().unwrap();
        assert_eq!((second.owner, second.messages().count()), (other, 1));
        assert!(lanes.take_unchecked().is_none(), "one at a time of a tenant");
        let taken = lanes.take().unwrap();
        assert_eq!(owners(&taken), [(owner, 1)]);
        lanes.checked(first);
        assert!(lanes.take().is_none(), "one at a time of a tenant");
        assert_eq!(lanes.taken(&taken), Acknowledgements::default(), "behind many");
        lanes.checked(second);
        let taken = lanes.take().unwrap();
        assert_eq!(owners(&taken), [(owner, QUANTUM), (other, 1)]);
        assert_eq!(lanes.taken(&taken).up_to, Some(QUANTUM as u64 - 1), "the other is behind many");
        for expected in [UNCHECKED, 8] {
            let check = lanes.take_unchecked().unwrap();
            assert_eq!(check.messages().count(), expected);
            lanes.checked(check);
        }
        let taken: Vec<_> = std::iter::from_fn(|| {
            let taken = lanes.take()?;
            lanes.taken(&taken).up_to
        })
        .collect();
        assert_eq!(taken, [QUANTUM as u64 + batch - 1, last + 1]);
        assert!(lanes.lanes.is_empty() && lanes.pending.is_empty() && lanes.done.is_empty());
    }
}
