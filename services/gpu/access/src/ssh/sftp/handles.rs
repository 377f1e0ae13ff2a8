//! Requests of the protocol, and the files and directories that a client has open.

use std::{collections::HashMap, fmt::Write as _};

use bytes::Bytes;

use instances::instance::Container;

use super::{
    attributes::{Attributes, FORMAT},
    fields::{Fields, Refusal},
    file::{FileReader, FileWriter},
    packet::{self, Name},
    remote::{Remote, command},
};

/// Files and directories that a client has open at a time.
const MAX_HANDLES: usize = 64;
/// Names in one reply.
const NAMES: usize = 100;

const WRITE: u32 = 2;
const APPEND: u32 = 4;
const CREATE: u32 = 8;
const TRUNCATE: u32 = 0x10;
const EXCLUSIVE: u32 = 0x20;

/// Permission bits that new files never get, as with `umask 022`.
const UMASK: u32 = 0o022;

enum Handle {
    File(Box<File>),
    Directory(std::vec::IntoIter<Name>),
}

pub(super) struct File {
    path: Bytes,
    /// Whether all writes append to the file.
    append: bool,
    reader: FileReader,
    writer: FileWriter,
}

pub(super) struct Handles {
    container: Container,
    remote: Remote,
    open: HashMap<u32, Handle>,
    next: u32,
}

/// The answer to a request: the outer error ends the subsystem, the inner one is sent to the client.
type Answer = Result<Result<Bytes, Refusal>, String>;

impl Handles {
    pub(super) async fn open(container: Container) -> Result<Self, String> {
        let remote = Remote::open(&container).await?;
        Ok(Self { container, remote, open: HashMap::new(), next: 0 })
    }

    /// Carries out a request and returns the reply.
    ///
    /// # Errors
    /// If the instance is gone; a sentence for the user.
    pub(super) async fn serve(&mut self, request: Bytes) -> Result<Bytes, String> {
        let mut fields = Fields(request);
        let Ok(kind) = fields.byte() else { return Ok(packet::status(0, &Err(Refusal::BadMessage))) };
        if kind == 1 {
            return Ok(packet::version());
        }
        let Ok(id) = fields.number() else { return Ok(packet::status(0, &Err(Refusal::BadMessage))) };
        let answer = Box::pin(self.answer(kind, id, &mut fields)).await?;
        Ok(answer.unwrap_or_else(|refusal| packet::status(id, &Err(refusal))))
    }

    async fn answer(&mut self, kind: u8, id: u32, fields: &mut Fields) -> Answer {
        let result = match kind {
            3 => self.open_file(id, fields).await?,
            4 => self.close(fields).await.map(|()| packet::status(id, &Ok(()))),
            5 => self.read(id, fields).await,
            6 => self.write(fields).await.map(|()| packet::status(id, &Ok(()))),
            7 | 17 => {
                let path = self.settled_path(fields).await;
                self.stat(id, path, if kind == 7 { "stat -c" } else { "stat -L -c" }).await?
            }
            8 => match self.flushed_path(fields).await {
                Ok(path) => self.stat(id, Ok(path), "stat -L -c").await?,
                Err(refusal) => Err(refusal),
            },
            9 => {
                let path = self.settled_path(fields).await;
                self.set(id, path, fields).await?
            }
            10 => {
                let path = self.flushed_path(fields).await;
                self.set(id, path, fields).await?
            }
            11 => self.open_directory(id, fields.path()).await?,
            12 => self.read_directory(id, fields),
            13 => {
                let remove = "[ ! -d {} ] || [ -L {} ] || { echo Is a directory; exit 1; }; rm -- {}";
                let path = self.settled_path(fields).await;
                self.on_path(id, path, remove, 3).await?
            }
            14 => {
                let path = fields.path();
                let mode = Attributes::read(fields).ok().and_then(|attributes| attributes.mode);
                let make = format!("umask {:04o}; mkdir -- {{}}", umask(mode.unwrap_or(0o777)));
                self.on_path(id, path, &make, 1).await?
            }
            15 => self.on_path(id, fields.path(), "rmdir -- {}", 1).await?,
            16 => self.real_path(id, fields.path(), "readlink -f -- {} || printf '%s\\n' {}").await?,
            18 => {
                let rename = "[ ! -e {2} ] && [ ! -L {2} ] || { echo File exists; exit 1; }; mv -- {1} {2}";
                self.rename(id, fields, rename).await?
            }
            19 => self.real_path(id, fields.path(), "readlink -- {} # {}").await?,
            20 => {
                let link = "[ ! -e {2} ] && [ ! -L {2} ] || { echo File exists; exit 1; }; ln -s -- {1} {2}";
                match (fields.path(), fields.path()) {
                    (Ok(to), Ok(name)) => self.on_two(id, (&to, &name), link).await?,
                    _ => Err(Refusal::BadMessage),
                }
            }
            200 => self.extended(id, fields).await?,
            _ => Err(Refusal::Unsupported),
        };
        Ok(result)
    }

    async fn extended(&mut self, id: u32, fields: &mut Fields) -> Answer {
        match fields.bytes().as_deref() {
            Ok(b"posix-rename@openssh.com") => {
                // `mv` without `-T`, which not every `mv` has, moves into the folder that a link points to
                let rename = "[ ! -d {2} ] || [ -L {2} ] || { echo Is a directory; exit 1; }; \
                              if [ -d {2} ] && { [ -e {1} ] || [ -L {1} ]; }; then \
                              [ ! -d {1} ] || [ -L {1} ] || { echo Not a directory; exit 1; }; \
                              mv -fT -- {1} {2} 2>/dev/null || { [ \"$(stat -c %d:%i -- {1})\" != \"$(stat -c %d:%i -- {2})\" ] && \
                              rm -f -- {2} && mv -f -- {1} {2}; }; \
                              else mv -f -- {1} {2}; fi";
                self.rename(id, fields, rename).await
            }
            Ok(b"fsync@openssh.com") => {
                Ok(self.flushed_path(fields).await.map(|_| packet::status(id, &Ok(()))))
            }
            Ok(_) => Ok(Err(Refusal::Unsupported)),
            Err(refusal) => Ok(Err(refusal.clone())),
        }
    }

    /// Runs a command on one path, which the template names `times` times.
    async fn on_path(
        &mut self,
        id: u32,
        path: Result<Bytes, Refusal>,
        template: &str,
        times: usize,
    ) -> Answer {
        let Ok(path) = path else { return Ok(Err(Refusal::BadMessage)) };
        let done = self.remote.call(&command(template, &vec![&path[..]; times])).await?;
        Ok(done.map(|_| packet::status(id, &Ok(()))))
    }

    /// Renames a file. Open handles get the new path.
    async fn rename(&mut self, id: u32, fields: &mut Fields, template: &str) -> Answer {
        let (Ok(from), Ok(to)) = (fields.path(), fields.path()) else {
            return Ok(Err(Refusal::BadMessage));
        };
        self.settle(|_| true).await;
        let answer = self.on_two(id, (&from, &to), template).await?;
        if answer.is_ok() {
            for file in self.files() {
                let rest = file.path.strip_prefix(&from[..]);
                if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(b"/")) {
                    file.path = [&to[..], rest].concat().into();
                }
            }
        }
        Ok(answer)
    }

    /// Runs a command on two paths, `{1}` and `{2}`.
    async fn on_two(&mut self, id: u32, (first, second): (&[u8], &[u8]), template: &str) -> Answer {
        let script =
            format!("a={{}}; b={{}}; {}", template.replace("{1}", "\"$a\"").replace("{2}", "\"$b\""));
        let done = self.remote.call(&command(&script, &[first, second])).await?;
        Ok(done.map(|_| packet::status(id, &Ok(()))))
    }

    async fn stat(&mut self, id: u32, path: Result<Bytes, Refusal>, stat: &str) -> Answer {
        let Ok(path) = path else { return Ok(Err(Refusal::BadMessage)) };
        let printed = self.remote.call(&command(&format!("{stat} '{FORMAT}' -- {{}}"), &[&path])).await?;
        Ok(printed.and_then(|printed| {
            let attributes = Attributes::parse(&String::from_utf8_lossy(&printed));
            let attributes = attributes.ok_or_else(|| Refusal::Failure("stat printed nonsense".into()))?;
            Ok(packet::attributes(id, &attributes))
        }))
    }

    async fn set(&mut self, id: u32, path: Result<Bytes, Refusal>, fields: &mut Fields) -> Answer {
        let (Ok(path), Ok(attributes)) = (path, Attributes::read(fields)) else {
            return Ok(Err(Refusal::BadMessage));
        };
        // some of the commands make a file that is not there
        let mut script = "p={}; [ -e \"$p\" ] || { echo No such file; exit 1; }".to_owned();
        if let Some(size) = attributes.size {
            let _ = write!(script, " && truncate -s {size} -- \"$p\"");
        }
        if let Some((user, group)) = attributes.owner {
            let _ = write!(script, " && chown {user}:{group} -- \"$p\"");
        }
        if let Some(mode) = attributes.mode {
            let _ = write!(script, " && chmod {:04o} -- \"$p\"", mode & 0o7777);
        }
        if let Some((accessed, changed)) = attributes.times {
            let touch = format!("touch -a -d @{accessed} -- \"$p\" && touch -m -d @{changed} -- \"$p\"");
            let _ = write!(script, " && {touch}");
        }
        let done = self.remote.call(&command(&script, &[&path])).await?;
        Ok(done.map(|_| packet::status(id, &Ok(()))))
    }

    async fn real_path(&mut self, id: u32, path: Result<Bytes, Refusal>, template: &str) -> Answer {
        let Ok(path) = path else { return Ok(Err(Refusal::BadMessage)) };
        let path = if path.is_empty() { Bytes::from_static(b".") } else { path };
        let printed = self.remote.call(&command(template, &[&path, &path])).await?;
        Ok(printed.map(|printed| {
            let name =
                printed.strip_suffix(b"\n").map_or_else(|| printed.clone(), |name| printed.slice_ref(name));
            packet::names(id, &[Name { name, attributes: Attributes::default() }])
        }))
    }

    async fn open_file(&mut self, id: u32, fields: &mut Fields) -> Answer {
        let opened = (|| Ok((fields.path()?, fields.number()?, Attributes::read(fields)?)))();
        let (path, flags, attributes) = match opened {
            Ok(opened) => opened,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let redirect = match flags & (WRITE | CREATE | TRUNCATE | EXCLUSIVE) {
            f if f & WRITE == 0 && f & CREATE != 0 && f & EXCLUSIVE == 0 => {
                "[ ! -d \"$p\" ] || { echo Is a directory; exit 1; }; { [ \"$e\" ] || : >>\"$p\"; } && : <\"$p\""
            }
            f if f & WRITE == 0 && f & CREATE == 0 => {
                "[ ! -d \"$p\" ] || { echo Is a directory; exit 1; }; : <\"$p\""
            }
            f if f & CREATE == 0 && f & TRUNCATE == 0 => "{ [ \"$e\" ] || : <\"$p\"; } && : >>\"$p\"",
            f if f & CREATE == 0 => "{ [ \"$e\" ] || : <\"$p\"; } && : >\"$p\"",
            f if f & EXCLUSIVE != 0 => "set -C; : >\"$p\"",
            f if f & TRUNCATE != 0 => ": >\"$p\"",
            _ => ": >>\"$p\"",
        };
        // a redirection makes files without the permission to execute
        let mode = match attributes.mode {
            Some(mode) if flags & CREATE != 0 => {
                format!("|| exit; [ -n \"$e\" ] || chmod {:04o} -- \"$p\"", mode & 0o777 & !UMASK)
            }
            _ => String::new(),
        };
        let mask = umask(attributes.mode.unwrap_or(0o666));
        let script = format!("umask {mask:04o}; p={{}}; e=; [ ! -e \"$p\" ] || e=1; {redirect} {mode}");
        self.settle(|file| file.path == path).await;
        match self.remote.call(&command(&script, &[&path])).await? {
            Err(refusal) => Ok(Err(refusal)),
            Ok(_) => {
                let (reader, writer) = (FileReader::default(), FileWriter::default());
                let append = flags & APPEND != 0;
                Ok(self.add(id, Handle::File(Box::new(File { path, append, reader, writer }))))
            }
        }
    }

    fn add(&mut self, id: u32, handle: Handle) -> Result<Bytes, Refusal> {
        if self.open.len() >= MAX_HANDLES {
            return Err(Refusal::Failure(format!("at most {MAX_HANDLES} files can be open")));
        }
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, handle);
        Ok(packet::handle(id, self.next))
    }

    async fn close(&mut self, fields: &mut Fields) -> Result<(), Refusal> {
        match self.open.remove(&number(fields)?) {
            Some(Handle::File(mut file)) => file.writer.finish().await,
            Some(Handle::Directory(_)) => Ok(()),
            None => Err(no_handle()),
        }
    }

    async fn read(&mut self, id: u32, fields: &mut Fields) -> Result<Bytes, Refusal> {
        let number = number(fields)?;
        let (offset, length) = (fields.long()?, fields.number()? as usize);
        let path = self.file(number)?.path.clone();
        for file in self.files().filter(|file| file.path == path) {
            // a failure is reported through the other handle
            let _ = file.writer.finish().await;
        }
        let Some(Handle::File(file)) = self.open.get_mut(&number) else { return Err(Refusal::BadMessage) };
        Ok(packet::data(id, &file.reader.read(&self.container, &path, offset, length).await?))
    }

    async fn write(&mut self, fields: &mut Fields) -> Result<(), Refusal> {
        let number = number(fields)?;
        let (offset, bytes) = (fields.long()?, fields.bytes()?);
        let path = self.file(number)?.path.clone();
        for (other, handle) in &mut self.open {
            let Handle::File(file) = handle else { continue };
            if file.path == path {
                // it may have read ahead
                file.reader = FileReader::default();
                if *other != number {
                    // earlier writes finish first; a failure is reported through the other handle
                    let _ = file.writer.finish().await;
                }
            }
        }
        let Some(Handle::File(file)) = self.open.get_mut(&number) else { return Err(Refusal::BadMessage) };
        let offset = (!file.append).then_some(offset);
        file.writer.write(&self.container, &path, offset, &bytes).await
    }

    fn file(&mut self, number: u32) -> Result<&mut File, Refusal> {
        match self.open.get_mut(&number) {
            Some(Handle::File(file)) => Ok(file),
            Some(Handle::Directory(_)) => Err(Refusal::BadMessage),
            None => Err(no_handle()),
        }
    }

    fn files(&mut self) -> impl Iterator<Item = &mut File> {
        self.open.values_mut().filter_map(|handle| match handle {
            Handle::File(file) => Some(&mut **file),
            Handle::Directory(_) => None,
        })
    }

    /// Waits until all that was sent to these files is written. Failures are reported when their handles are
    /// used or closed.
    pub(super) async fn settle(&mut self, which: impl Fn(&File) -> bool) {
        for file in self.files().filter(|file| which(file)) {
            let _ = file.writer.finish().await;
            file.reader = FileReader::default();
        }
    }

    /// Returns a path, after all that was sent to it is written.
    async fn settled_path(&mut self, fields: &mut Fields) -> Result<Bytes, Refusal> {
        let path = fields.path()?;
        self.settle(|file| file.path == path).await;
        Ok(path)
    }

    /// Returns the path of an open file, after all that was sent to it is written.
    async fn flushed_path(&mut self, fields: &mut Fields) -> Result<Bytes, Refusal> {
        let number = number(fields)?;
        let path = self.file(number)?.path.clone();
        self.settle(|file| file.path == path).await;
        self.file(number)?.writer.finish().await?;
        Ok(path)
    }

    async fn open_directory(&mut self, id: u32, path: Result<Bytes, Refusal>) -> Answer {
        let Ok(path) = path else { return Ok(Err(Refusal::BadMessage)) };
        self.settle(|_| true).await;
        let mark = self.remote.mark().to_owned();
        // status 126: too many names for one command
        let list = format!(
            "p={{}}; case $p in /*) ;; *) p=./$p ;; esac; \
             [ -e \"$p\" ] || {{ echo No such file; exit 1; }}; \
             [ -d \"$p\" ] || {{ echo Not a directory; exit 1; }}; \
             cd \"$p\" || exit; [ -r . ] || {{ echo Permission denied; exit 1; }}; f='{mark} {FORMAT} %n'; \
             stat -c \"$f\" -- * .[!.]* ..?* 2>/dev/null; \
             [ $? -ne 126 ] || find . -mindepth 1 -maxdepth 1 -exec stat -c \"$f\" {{.}} +"
        );
        let list = command(&list.replace("{.}", "\u{1}"), &[&path]);
        let list: Vec<u8> =
            list.into_iter().flat_map(|byte| if byte == 1 { b"{}".to_vec() } else { vec![byte] }).collect();
        Ok(match self.remote.call(&list).await? {
            Ok(printed) => self.add(id, Handle::Directory(entries(&printed, &mark).into_iter())),
            Err(refusal) => Err(refusal),
        })
    }

    fn read_directory(&mut self, id: u32, fields: &mut Fields) -> Result<Bytes, Refusal> {
        let entries = match self.open.get_mut(&number(fields)?) {
            Some(Handle::Directory(entries)) => entries,
            Some(Handle::File(_)) => return Err(Refusal::BadMessage),
            None => return Err(no_handle()),
        };
        let names: Vec<Name> = entries.by_ref().take(NAMES).collect();
        if names.is_empty() { Err(Refusal::End) } else { Ok(packet::names(id, &names)) }
    }
}

fn no_handle() -> Refusal {
    Refusal::Failure("no such handle".to_owned())
}

fn number(fields: &mut Fields) -> Result<u32, Refusal> {
    let handle = fields.bytes()?;
    <[u8; 4]>::try_from(&handle[..]).map(u32::from_be_bytes).map_err(|_| Refusal::BadMessage)
}

fn umask(mode: u32) -> u32 {
    (0o777 & !mode) | UMASK
}

/// The entries that `stat` printed, each after the mark: names may contain newlines.
fn entries(printed: &Bytes, mark: &str) -> Vec<Name> {
    let mark = format!("{mark} ");
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(found) = printed
        .get(at..)
        .and_then(|rest| rest.windows(mark.len()).position(|window| window == mark.as_bytes()))
    {
        starts.push(at + found);
        at += found + mark.len();
    }
    let ends = starts.iter().skip(1).copied().chain([printed.len()]);
    let entry = |(start, end): (&usize, usize)| {
        let entry = printed.get(start + mark.len()..end)?;
        let entry = entry.strip_suffix(b"\n").unwrap_or(entry);
        let mut fields = entry.splitn(7, |byte| *byte == b' ');
        let numbers: Vec<&[u8]> = fields.by_ref().take(6).collect();
        let attributes = Attributes::parse(std::str::from_utf8(&numbers.join(&b' ')).ok()?)?;
        let name = fields.next()?;
        let name = name.strip_prefix(b"./").unwrap_or(name);
        Some(Name { name: printed.slice_ref(name), attributes })
    };
    starts.iter().zip(ends).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_anything() {
        let printed = "m 81a4 1 0 0 0 5 a b\nm 41ed 4096 0 0 0 6 ./c\nd\nm 81a4 0 0 0 0 0 -\n";
        let names = entries(&Bytes::from_static(printed.as_bytes()), "m");
        let all: Vec<&[u8]> = names.iter().map(|name| &name.name[..]).collect();
        assert_eq!(all, [&b"a b"[..], b"c\nd", b"-"]);
        assert_eq!(names[0].attributes.size, Some(1));
        assert_eq!(names[1].attributes.mode, Some(0o040_755));
        assert_eq!(entries(&Bytes::new(), "m"), []);
    }
}
