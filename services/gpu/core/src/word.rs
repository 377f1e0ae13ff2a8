//! Enumerations that are stored as text.

/// A stored word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word: {0}")]
pub struct UnknownWord(pub String);

/// Implements `as_str`, `Display` and `FromStr` of an enumeration with a text for each variant.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal,)+ }) => {
        impl $name {
            /// Returns the stored form.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::word::UnknownWord(word.to_owned())),
                }
            }
        }
    };
}
