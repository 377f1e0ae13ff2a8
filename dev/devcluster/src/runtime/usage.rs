//! Resource usage of the processes of pods, from `/proc`. Not available on other systems.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Nanoseconds of a clock tick of `/proc`: Linux reports 100 ticks a second to programs on all architectures.
const TICK: u64 = 10_000_000;

/// The resource usage of a process group.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    /// CPU time, with that of children that have ended.
    pub cpu_nanoseconds: u64,
    /// Resident memory.
    pub memory_bytes: u64,
}

/// Counters of a network interface.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub name: String,
    pub received_bytes: u64,
    pub sent_bytes: u64,
}

/// The resource usage of each process group of this machine, by its id.
pub(crate) fn groups() -> HashMap<i32, GroupUsage> {
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    let mut groups: HashMap<i32, GroupUsage> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        // it may have ended meanwhile
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((group, usage)) = parse_stat(&stat, page) else { continue };
        let sum = groups.entry(group).or_default();
        sum.cpu_nanoseconds += usage.cpu_nanoseconds;
        sum.memory_bytes += usage.memory_bytes;
    }
    groups
}

/// The process group and use of a process, from `/proc/<pid>/stat`.
fn parse_stat(stat: &str, page: u64) -> Option<(i32, GroupUsage)> {
    // the name before the parenthesis may contain anything
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks: u64 = (11..=14).filter_map(number).sum();
    let usage = GroupUsage { cpu_nanoseconds: ticks * TICK, memory_bytes: number(21)? * page };
    Some((fields.get(2)?.parse().ok()?, usage))
}

/// The interfaces of a process's network namespace. Pods have none of their own: these are the machine's.
pub(crate) fn interfaces(pid: i32) -> Vec<Interface> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    text.lines().filter_map(parse_interface).collect()
}

fn parse_interface(line: &str) -> Option<Interface> {
    let (name, numbers) = line.split_once(':')?;
    let numbers: Vec<u64> = numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
    Some(Interface {
        name: name.trim().to_owned(),
        received_bytes: *numbers.first()?,
        sent_bytes: *numbers.get(8)?,
    })
}

/// Bytes of disk that the files in a folder take. Links are not followed.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // it may be gone meanwhile
            let Ok(metadata) = entry.metadata() else { continue };
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_counted_with_its_ended_children() {
        let stat =
            "7 (a) b) S 1 5 5 0 -1 4194304 100 0 0 0 3 4 10 20 20 0 1 0 999 5000000 25 18446744073709551615";
        let expected = GroupUsage { cpu_nanoseconds: 37 * TICK, memory_bytes: 25 * 4096 };
        assert_eq!(parse_stat(stat, 4096), Some((5, expected)));
        assert_eq!(parse_stat("7 (a", 4096), None);
    }

    #[test]
    fn an_interface_has_counters_in_both_directions() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes packets\n  eth0: 17 1 0 0 0 0 0 0 29 2 0 0 0 0 0 0\n";
        let found: Vec<_> = text.lines().filter_map(parse_interface).collect();
        let expected = Interface { name: "eth0".to_owned(), received_bytes: 17, sent_bytes: 29 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_folder_has_the_size_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let before = disk_bytes(folder.path());
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        let grown = disk_bytes(folder.path()) - before;
        assert!((100_000..300_000).contains(&grown), "{grown}");
    }
}
