//! Memory of a group of processes. Pages of files count once for the group and in full: the proportional set size is less while
//! another platform runs the same programs.

use std::collections::HashMap;

use nix::unistd::Pid;

/// Memory of the processes that were added.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// KiB that no file has: proportional, where processes share it.
    own: u64,
    /// KiB of the pages of files, by device, inode and offset of the mapping: those of the process that has most.
    files: HashMap<String, u64>,
}

impl Memory {
    /// Adds a process, unless it has ended. Linux only: elsewhere none has memory.
    pub(super) fn add(&mut self, pid: Pid) {
        self.add_mappings(&std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default());
    }

    /// Adds the values of `/proc/<pid>/smaps`.
    fn add_mappings(&mut self, smaps: &str) {
        let (mut file, mut clean) = (None, 0);
        for line in smaps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let size = words.get(1).and_then(|size| size.parse::<u64>().ok()).unwrap_or_default();
            match (words.first().copied(), &file) {
                (Some("Pss:"), None) | (Some("Pss_Dirty:"), Some(_)) => self.own += size,
                (Some("Shared_Clean:"), Some(_)) => clean = size,
                (Some("Private_Clean:"), Some(file)) => {
                    let most = self.files.entry(String::clone(file)).or_default();
                    *most = (*most).max(clean + size);
                }
                (Some(first), _) if !first.ends_with(':') => {
                    file = match words[1..] {
                        [permissions, offset, device, inode, ..]
                            if inode != "0" && permissions.ends_with('p') =>
                        {
                            Some(format!("{device} {inode} {offset}"))
                        }
                        _ => None,
                    };
                }
                _ => {}
            }
        }
    }

    /// The memory of all of them, in MiB.
    pub(super) fn mib(&self) -> u64 {
        (self.own + self.files.values().sum::<u64>()) / 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_program_count_once_and_in_full() {
        let process = "\
55a0-55b0 r-xp 00001000 fe:00 77   /programs/gpu
Rss:                4096 kB
Pss:                1024 kB
Pss_Dirty:             0 kB
Shared_Clean:       4096 kB
Shared_Dirty:          0 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
55b0-55c0 rw-p 00005000 fe:00 77   /programs/gpu
Rss:                1024 kB
Pss:                1024 kB
Pss_Dirty:          1024 kB
Shared_Clean:          0 kB
Shared_Dirty:          0 kB
Private_Clean:         0 kB
Private_Dirty:      1024 kB
7f00-7f10 rw-p 00000000 00:00 0    [heap]
Rss:                2048 kB
Pss:                2048 kB
Pss_Dirty:          2048 kB
Shared_Clean:          0 kB
Private_Clean:         0 kB
7f10-7f20 rw-s 00000000 00:01 9    /dev/zero (deleted)
Rss:                2048 kB
Pss:                1024 kB
Pss_Dirty:          1024 kB
Shared_Clean:          0 kB
Private_Clean:         0 kB
";
        let mut memory = Memory::default();
        memory.add_mappings(process);
        assert_eq!(memory.mib(), 4 + 1 + 2 + 1);
        memory.add_mappings(process);
        assert_eq!(memory.mib(), 4 + 2 * (1 + 2 + 1));
    }
}
