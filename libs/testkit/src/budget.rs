//! The budget of a test: the number of its cases.

/// Size of what a case tries at random or many times: `usual` in every run, `long` with `cargo xtask test --long`.
#[must_use]
pub fn budget<T>(usual: T, long: T) -> T {
    if std::env::var_os("TEST_LONG").is_some() { long } else { usual }
}
