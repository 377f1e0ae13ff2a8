//! What the pod of a download reports to the operator.

/// Why a download has failed, as the exit code of `atelier-fetch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadFailure {
    /// The store refuses the address.
    UrlRefused,
    /// The store cannot be reached, or the connection broke.
    Unreachable,
    /// The object has another size or SHA-256.
    ContentMismatch,
    /// The volume has no space left.
    VolumeFull,
    /// The path cannot be written.
    PathNotWritable,
}

impl DownloadFailure {
    const ALL: [Self; 5] =
        [Self::UrlRefused, Self::Unreachable, Self::ContentMismatch, Self::VolumeFull, Self::PathNotWritable];

    /// Returns the exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::UrlRefused => 10,
            Self::Unreachable => 11,
            Self::ContentMismatch => 12,
            Self::VolumeFull => 13,
            Self::PathNotWritable => 14,
        }
    }

    /// Returns the failure with this exit code.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| i32::from(failure.code()) == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_read_back_and_none_is_a_shells() {
        for failure in DownloadFailure::ALL {
            assert_eq!(DownloadFailure::from_code(failure.code().into()), Some(failure));
        }
        for code in [0, 1, 2, 101, 126, 127, 128 + 9, 128 + 15] {
            assert_eq!(DownloadFailure::from_code(code), None, "{code}");
        }
    }
}
