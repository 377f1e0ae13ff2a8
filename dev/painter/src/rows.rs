//! Pictures in memory.

/// Largest width and height of a picture that is read.
pub(crate) const MAX_EDGE: u32 = 8_192;

/// Width, height and RGB rows.
pub type Rows<'a> = (usize, usize, &'a [u8]);
