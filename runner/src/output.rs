//! Files that programs write in their folder: results, and the log.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use nix::fcntl::OFlag;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    jobs_service::{Attempt, Error, Refused, Session},
    results::{Content, Output, Results},
};

/// Bytes of a log that are sent at a time; of more the last ones.
const PART: u64 = 65_536;
/// Bytes that they may take as JSON, where a control character takes six: the service takes 256 KiB.
const ENCODED: usize = 200_000;

/// Maximum number of results of an attempt.
const MOST: usize = 64;
/// Maximum number of bytes of a result.
const MAX_BYTES: u64 = 5 << 30;
/// Maximum length of the name of a result, in bytes.
const MAX_NAME: usize = 255;
/// Maximum number of files that are named because they are no results: all of them would be a larger message than the service takes.
const MOST_REFUSED: usize = 64;

/// Opens a file that a program has made. Of another kind, as a pipe or a device, it may never end.
///
/// # Errors
/// If it is none.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Reads a file that a program has made.
///
/// # Errors
/// If it is none, or cannot be read.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path, File::options().read(true))?.take(MAX_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

/// Reads the last bytes of a file that a program has made.
///
/// # Errors
/// If it is none, or cannot be read.
pub(crate) fn read_end(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, File::options().read(true))?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(bytes)))?;
    let mut end = Vec::new();
    file.take(bytes).read_to_end(&mut end)?;
    Ok(end)
}

/// The name of a result, or why the file is none.
fn check(entry: &fs::DirEntry, file_name: &OsStr) -> Result<String, &'static str> {
    let metadata = entry.metadata().map_err(|_| "it cannot be read")?;
    if !metadata.is_file() {
        return Err("it is not a file");
    }
    if metadata.len() > MAX_BYTES {
        return Err("it has more than 5 GiB");
    }
    File::open(entry.path()).map_err(|_| "it cannot be read")?;
    let name = file_name.to_str().ok_or("its name is not UTF-8")?;
    // one form for names that look the same
    let name: String = name.nfc().collect();
    if name.contains(char::is_control) {
        return Err("its name has control characters");
    }
    if name.len() > MAX_NAME { Err("its name has more than 255 bytes") } else { Ok(name) }
}

/// The results in a folder, by name, and the files that are not results.
pub(crate) fn outputs(folder: &Path) -> io::Result<Results> {
    let (mut left, mut more) = (Results::default(), 0_usize);
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let checked = match check(&entry, &file_name) {
            Ok(_) if left.outputs.len() >= MOST => Err("a job has at most 64 results"),
            Ok(name) if left.outputs.iter().any(|other| other.name == name) => {
                Err("another result has the same name")
            }
            checked => checked,
        };
        let name = match checked {
            Ok(name) => name,
            Err(_) if left.refused.len() >= MOST_REFUSED => {
                more += 1;
                continue;
            }
            Err(reason) => {
                left.refused.push(Refused { name: format!("{file_name:?}"), reason });
                continue;
            }
        };
        let content_type = match name.rsplit('.').next() {
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("webp") => "image/webp",
            Some("csv") => "text/csv",
            Some("json") => "application/json",
            Some("txt") => "text/plain",
            _ => "application/octet-stream",
        };
        left.outputs.push(Output { name, content_type, content: Content::File(entry.path()) });
    }
    if more > 0 {
        left.refused.push(Refused { name: format!("{more} more"), reason: "there are too many files" });
    }
    Ok(left)
}

/// The part of a program's log that the service has.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Bytes from the beginning.
    sent: u64,
}

impl Log {
    /// Sends the new output of the program.
    pub(crate) async fn send(
        &mut self,
        session: &Session,
        attempt: Attempt,
        folder: &Path,
    ) -> Result<(), Error> {
        let read = read(&folder.join("log"), self.sent).map_err(|error| Error::Unavailable(error.into()))?;
        if let Some((from, until, text)) = read {
            self.sent = session.log(attempt, (from, until), &text).await?;
        }
        Ok(())
    }
}

/// Returns the part of a file after `sent`: its span, and its text. None if there is no more.
fn read(path: &Path, sent: u64) -> io::Result<Option<(u64, u64, String)>> {
    match read_part(path, sent, PART)? {
        Some((_, _, text)) if Value::from(&*text).to_string().len() > ENCODED => {
            read_part(path, sent, PART / 6)
        }
        read => Ok(read),
    }
}

fn read_part(path: &Path, sent: u64, most: u64) -> io::Result<Option<(u64, u64, String)>> {
    let mut file = open(path, File::options().read(true))?;
    let length = file.metadata()?.len();
    let from = sent.max(length.saturating_sub(most));
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(length.saturating_sub(from)).read_to_end(&mut bytes)?;
    // a character that is written in part comes with the next one
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let until = from + bytes.len() as u64;
    Ok((!bytes.is_empty()).then(|| (from, until, String::from_utf8_lossy(&bytes).into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_is_named() {
        use std::os::unix::ffi::OsStrExt as _;

        let folder = tempfile::tempdir().unwrap();
        let write = |name: &[u8]| fs::write(folder.path().join(OsStr::from_bytes(name)), "x").unwrap();
        for name in ["a b.png", "\u{fc}.txt", ".hidden", "c\nd"] {
            write(name.as_bytes());
        }
        write(b"z\xff.png");
        fs::create_dir(folder.path().join("folder")).unwrap();
        let left = outputs(folder.path()).unwrap();
        let names: Vec<&str> = left.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, [".hidden", "a b.png", "\u{fc}.txt"]);
        let refused: Vec<_> =
            left.refused.iter().map(|refused| (refused.name.as_str(), refused.reason)).collect();
        let expected = [
            (r#""c\nd""#, "its name has control characters"),
            (r#""folder""#, "it is not a file"),
            (r#""z\xFF.png""#, "its name is not UTF-8"),
        ];
        assert_eq!(refused, expected);
        (0..70).for_each(|n| write(format!("many-{n:02}").as_bytes()));
        let left = outputs(folder.path()).unwrap();
        assert_eq!((left.outputs.len(), left.refused.len()), (64, 3 + (3 + 70 - 64)));
        (0..2_000).for_each(|n| write(format!("more-{n:04}").as_bytes()));
        let left = outputs(folder.path()).unwrap();
        assert_eq!((left.outputs.len(), left.refused.len()), (64, MOST_REFUSED + 1));
        assert_eq!(
            left.refused[MOST_REFUSED].name,
            format!("{} more", 3 + 3 + 70 + 2_000 - 64 - MOST_REFUSED)
        );
    }

    #[test]
    fn names_that_look_the_same_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        // as macOS writes it; and one that is longer in the other form
        for name in ["cafe\u{301}.txt", "caf\u{e9}.txt", "nin\u{303}o.png", &"\u{958}".repeat(85)] {
            write(name);
        }
        let left = outputs(folder.path()).unwrap();
        let names: Vec<&str> = left.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, ["caf\u{e9}.txt", "ni\u{f1}o.png"]);
        let reasons: Vec<&str> = left.refused.iter().map(|refused| refused.reason).collect();
        assert_eq!(reasons, ["another result has the same name", "its name has more than 255 bytes"]);
        let Content::File(path) = &left.outputs[1].content else { panic!("a file") };
        assert_eq!(fs::read_to_string(path).unwrap(), "nin\u{303}o.png");
    }

    #[test]
    fn only_files_are_read() {
        use std::os::unix::fs::symlink;

        use nix::{sys::stat::Mode, unistd::mkfifo};

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink(at("pipe"), at("link")).unwrap();
        for name in ["pipe", "endless", "link", "none", "."] {
            assert!(read_file(&at(name)).is_err() && read_end(&at(name), 4).is_err(), "{name}");
            assert!(read(&at(name), 0).is_err() && open(&at(name), File::options().append(true)).is_err());
        }
        fs::write(at("file"), "abcdef").unwrap();
        symlink(at("file"), at("newest")).unwrap();
        for name in ["file", "newest"] {
            assert_eq!(read_file(&at(name)).unwrap(), b"abcdef");
            assert_eq!(read_end(&at(name), 4).unwrap(), b"cdef");
            assert_eq!(read_end(&at(name), 40).unwrap(), b"abcdef");
        }
    }

    #[test]
    fn whole_characters_and_the_last_bytes_are_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, &"a\u{e9}".as_bytes()[..2]).unwrap();
        assert_eq!(read(&path, 0).unwrap(), Some((0, 1, "a".to_owned())));
        assert_eq!(read(&path, 1).unwrap(), None);
        fs::write(&path, "a\u{e9}!").unwrap();
        assert_eq!(read(&path, 1).unwrap(), Some((1, 4, "\u{e9}!".to_owned())));
        fs::write(&path, b"x\xffy").unwrap();
        assert_eq!(read(&path, 0).unwrap(), Some((0, 3, "x\u{fffd}y".to_owned())));
        fs::write(&path, "b".repeat(100_000)).unwrap();
        let (from, until, text) = read(&path, 3).unwrap().unwrap();
        assert_eq!((from, until, text.len()), (100_000 - PART, 100_000, 65_536));
        for bytes in [&b"\x01"[..], b"\xff", "\u{20ac}".as_bytes(), b"\x1b[0m"] {
            fs::write(&path, bytes.repeat(100_000)).unwrap();
            let (from, until, text) = read(&path, 3).unwrap().unwrap();
            assert!(from < until && text.len() > 10_000 && Value::from(text).to_string().len() <= ENCODED);
        }
    }
}
