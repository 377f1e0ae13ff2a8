//! What programs leave in their folder: results, and the log.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use crate::{
    door::{Attempt, Error, Session},
    work::{Content, Output},
};

/// Bytes of a log that are sent at a time; of more the last ones.
const PART: u64 = 65_536;

/// The results in a folder, by name.
pub(crate) fn outputs(folder: &Path) -> io::Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let content_type = match name.rsplit('.').next() {
            Some("png") => "image/png",
            Some("csv") => "text/csv",
            Some("json") => "application/json",
            Some("txt") => "text/plain",
            _ => "application/octet-stream",
        };
        outputs.push(Output { name, content_type, content: Content::File(entry.path()) });
    }
    outputs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(outputs)
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
