//! What programs leave in their folder: results, and the log.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use crate::{
    door::{Attempt, Error, Refused, Session},
    work::{Content, Output, Results},
};

/// Bytes of a log that are sent at a time; of more the last ones.
const PART: u64 = 65_536;

/// Results of an attempt, at most.
const MOST: usize = 64;
/// Bytes of a result, at most.
const MAX_BYTES: u64 = 5 << 30;

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
    if name.contains(char::is_control) { Err("its name has control characters") } else { Ok(name.to_owned()) }
}

/// The results in a folder, by name, and what is none.
pub(crate) fn outputs(folder: &Path) -> io::Result<Results> {
    let mut left = Results::default();
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let checked = match check(&entry, &file_name) {
            Ok(_) if left.outputs.len() >= MOST => Err("a job has at most 64 results"),
            checked => checked,
        };
        let name = match checked {
            Ok(name) => name,
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
    Ok(left)
}

/// What of a program's log the service has.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Bytes from the beginning.
    sent: u64,
}

impl Log {
    /// Sends what the program has written since.
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
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = sent.max(length.saturating_sub(PART));
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
    }
}
