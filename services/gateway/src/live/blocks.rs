//! Reads server-sent events as the services write them: a line for each field, `\n` as the line break, one line of data.

/// Longest event, in bytes.
const LONGEST: usize = 1024 * 1024;

/// A part of a stream, up to its empty line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) id: Option<String>,
    /// Type of the event; none for a position or a comment.
    pub(super) kind: Option<String>,
    pub(super) data: String,
}

/// The bytes of a stream that were not read yet.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<u8>);

/// An event is too long, or is not text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

impl Blocks {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the next complete block, if there is one.
    pub(super) fn take(&mut self) -> Result<Option<Block>, Unreadable> {
        let Some(end) = self.0.windows(2).position(|pair| pair == b"\n\n") else {
            return if self.0.len() > LONGEST { Err(Unreadable) } else { Ok(None) };
        };
        let bytes: Vec<u8> = self.0.drain(..end + 2).collect();
        let text = std::str::from_utf8(&bytes).map_err(|_| Unreadable)?;
        let mut block = Block::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => block.id = Some(id.to_owned()),
                Some(("event", kind)) => block.kind = Some(kind.to_owned()),
                Some(("data", data)) => data.clone_into(&mut block.data),
                _ => {}
            }
        }
        Ok(Some(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_however_they_are_cut() {
        let text =
            "retry: 1000\nid: 7:7:\n\n:\n\nid: 8\nevent: a.b\ndata: {\"x\": \"y: z\"}\n\n: the end\n\n";
        for size in [1, 3, text.len()] {
            let (mut blocks, mut read) = (Blocks::default(), Vec::new());
            for part in text.as_bytes().chunks(size) {
                blocks.push(part);
                while let Some(block) = blocks.take().unwrap() {
                    read.push(block);
                }
            }
            let event = Block {
                id: Some("8".to_owned()),
                kind: Some("a.b".to_owned()),
                data: "{\"x\": \"y: z\"}".to_owned(),
            };
            let position = Block { id: Some("7:7:".to_owned()), ..Block::default() };
            assert_eq!(read, [position, Block::default(), event, Block::default()], "{size}");
        }
    }

    #[test]
    fn what_never_ends_is_refused() {
        let mut blocks = Blocks::default();
        blocks.push(&vec![b'x'; LONGEST + 1]);
        assert_eq!(blocks.take(), Err(Unreadable));
    }
}
