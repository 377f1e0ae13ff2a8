//! The certificate of the third gateway.

use std::path::Path;

use jiff::{SignedDuration, tz::TimeZone};
use rcgen::{CertificateParams, KeyPair};

use super::clock;

/// Writes `tls.crt` and `tls.key`, valid until this long from now.
pub(super) fn write(folder: &Path, ends: SignedDuration) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    let end = clock::after(ends)?.to_zoned(TimeZone::UTC);
    // whole days: the day before for an end in the past
    let day = u8::try_from(end.day())?;
    parameters.not_after = rcgen::date_time_ymd(i32::from(end.year()), u8::try_from(end.month())?, day);
    let certificate = parameters.self_signed(&key)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("tls.key"), key.serialize_pem())?;
    std::fs::write(folder.join("tls.crt"), certificate.pem())?;
    Ok(())
}
