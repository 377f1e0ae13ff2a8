//! Groups and their nodes.

use super::{
    Millis,
    decision::Decision,
    model::{Group, GroupId, GroupMode, NodeId, Shape},
    pool::{GROUP_IDLE, GROUP_LOST, Pool, Timer},
    queue::Place,
};

impl Pool {
    /// Adds the group of a shape, if it is new.
    pub(super) fn open_group(&mut self, shape: &Shape) {
        let Some((id, mode)) = shape.group else { return };
        let group = Group { mode, node: None, bound: 0, yields: false, idle_since: None, lost_since: None };
        self.groups.entry(id).or_insert(group);
        self.change_group(id, |group| group.idle_since = None);
    }

    /// Records that a group has no open jobs any more.
    pub(super) fn close_group(&mut self, shape: &Shape, now: Millis) {
        let Some((id, _)) = shape.group else { return };
        if self.members.contains_key(&id) {
            return;
        }
        if self.groups.get(&id).is_some_and(|group| group.node.is_none()) {
            self.groups.remove(&id);
        } else {
            self.change_group(id, |group| group.idle_since = Some(now));
        }
    }

    /// Binds the group of a job that starts on a node. A strict group takes the node from a group without
    /// running jobs there.
    pub(super) fn bind_group(
        &mut self,
        shape: &Shape,
        node: NodeId,
        now: Millis,
        decisions: &mut Vec<Decision>,
    ) {
        let Some((id, mode)) = shape.group else { return };
        if self.groups.get(&id).is_none_or(|group| group.node == Some(node)) {
            return;
        }
        match mode {
            GroupMode::Strict => {
                if let Some(before) = self.held.get(&node).copied() {
                    self.leave_node(before);
                    decisions.push(Decision::Unbind { group: before, node });
                }
                self.change_group(id, |group| group.bound = now);
                self.move_group(id, Some(node));
                decisions.push(Decision::Bind { group: id, node });
            }
            GroupMode::Prefer => self.change_group(id, |group| group.node = Some(node)),
        }
    }

    /// Unbinds a group from its node. The group is removed if it has no jobs.
    fn leave_node(&mut self, id: GroupId) {
        self.move_group(id, None);
        if self.members.contains_key(&id) {
            self.change_group(id, |group| group.lost_since = None);
        } else {
            // the timer is removed, too
            self.change_group(id, |group| (group.idle_since, group.lost_since) = (None, None));
            self.groups.remove(&id);
        }
    }

    /// Records whether jobs of a strict group run on its node.
    pub(super) fn set_taken(&mut self, id: GroupId) {
        let strict = self.groups.get(&id).filter(|group| group.mode == GroupMode::Strict);
        let Some(node) = strict.and_then(|group| group.node) else { return };
        if self.members.get(&id).is_some_and(|members| members.running > 0) {
            self.taken.insert(node);
        } else {
            self.taken.remove(&node);
        }
    }

    /// Unbinds a group that is due.
    pub(super) fn unbind_group(&mut self, id: GroupId, now: Millis) -> Option<Decision> {
        let group = *self.groups.get(&id)?;
        let node = group.node?;
        let is_due = group.due().is_some_and(|at| at <= now);
        if !is_due {
            return None;
        }
        self.leave_node(id);
        (group.mode == GroupMode::Strict).then_some(Decision::Unbind { group: id, node })
    }

    /// Records that a node got its first worker or lost its last one.
    pub(super) fn node_changed(&mut self, node: NodeId, now: Millis) {
        let lost = (!self.fleet.nodes.contains_key(&node)).then_some(now);
        let groups: Vec<GroupId> = match self.held.get(&node) {
            Some(group) => vec![*group],
            None => return,
        };
        for id in groups {
            if self.groups.get(&id).is_some_and(|group| group.lost_since.is_some() != lost.is_some()) {
                self.change_group(id, |group| group.lost_since = lost);
            }
        }
    }

    /// Changes the node of a group, and the queues of its jobs.
    fn move_group(&mut self, id: GroupId, node: Option<NodeId>) {
        let Some(group) = self.groups.get(&id).copied() else { return };
        if group.mode == GroupMode::Strict {
            let place = |node: Option<NodeId>| node.map_or(Place::Unheld, Place::Node);
            if let Some(members) = self.members.get(&id) {
                for shape in members.queued.keys() {
                    self.queues.move_shape(shape, place(group.node), place(node));
                }
            }
            if let Some(node) = group.node {
                self.held.remove(&node);
                self.taken.remove(&node);
                self.yielding.remove(&node);
            }
            if let Some(node) = node {
                self.held.insert(node, id);
            }
        }
        self.change_group(id, |group| (group.node, group.yields) = (node, false));
        self.set_taken(id);
    }

    pub(super) fn change_group(&mut self, id: GroupId, change: impl FnOnce(&mut Group)) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        if let Some(at) = group.due() {
            self.timers.remove(&(at, Timer::Unbind(id)));
        }
        change(group);
        self.set_group_timer(id);
    }

    pub(super) fn set_group_timer(&mut self, id: GroupId) {
        if let Some(at) = self.groups.get(&id).and_then(Group::due) {
            self.timers.insert((at, Timer::Unbind(id)));
        }
    }
}

impl Group {
    /// When the group leaves its node.
    fn due(&self) -> Option<Millis> {
        let idle = self.idle_since.map(|since| since + GROUP_IDLE);
        let lost = self.lost_since.map(|since| since + GROUP_LOST);
        idle.into_iter().chain(lost).min()
    }
}
