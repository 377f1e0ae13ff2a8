//! Which refusals of the object store can be retried: one table of statuses and codes of S3, as Ceph RGW and others
//! return them.

use reqwest::StatusCode;

/// The meaning of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A repetition may succeed.
    Passing,
    /// With another address it may succeed: the signature has expired, or its key was replaced.
    Stale,
    /// Each retry is refused, too; the code of the attempt's problem.
    Final(&'static str),
}

/// No space, no bucket, and other permanent refusals.
pub(crate) const FULL: &str = "storage-full";
pub(crate) const MISSING: &str = "storage-missing";
pub(crate) const REFUSED: &str = "storage-refused";

/// Codes whose meaning does not follow from the status alone.
const CODES: [(&str, Meaning); 19] = [
    ("QuotaExceeded", Meaning::Final(FULL)),
    ("EntityTooLarge", Meaning::Final(FULL)),
    ("XMinioAdminBucketQuotaExceeded", Meaning::Final(FULL)),
    ("XMinioStorageFull", Meaning::Final(FULL)),
    ("NoSuchBucket", Meaning::Final(MISSING)),
    // the content has changed on its way, or was cut off
    ("BadDigest", Meaning::Passing),
    ("IncompleteBody", Meaning::Passing),
    ("XAmzContentSHA256Mismatch", Meaning::Passing),
    ("RequestTimeout", Meaning::Passing),
    ("RequestTimeTooSkewed", Meaning::Passing),
    ("OperationAborted", Meaning::Passing),
    ("SlowDown", Meaning::Passing),
    ("Throttling", Meaning::Passing),
    ("AccessDenied", Meaning::Stale),
    ("ExpiredToken", Meaning::Stale),
    ("InvalidAccessKeyId", Meaning::Stale),
    ("SignatureDoesNotMatch", Meaning::Stale),
    ("RequestExpired", Meaning::Stale),
    ("AuthorizationQueryParametersError", Meaning::Stale),
];

/// Returns the meaning of an error response.
pub(crate) fn meaning(status: StatusCode, code: &str) -> Meaning {
    if let Some((_, meaning)) = CODES.iter().find(|(known, _)| *known == code) {
        return *meaning;
    }
    match status {
        StatusCode::INSUFFICIENT_STORAGE | StatusCode::PAYLOAD_TOO_LARGE => Meaning::Final(FULL),
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::CONFLICT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => Meaning::Passing,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Meaning::Stale,
        // a header of the request, or a place, that the store does not have
        StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => Meaning::Final(REFUSED),
        status if status.is_client_error() || status.is_redirection() => Meaning::Final(REFUSED),
        _ => Meaning::Passing,
    }
}

/// The code in the body of an answer; empty if it has none.
pub(crate) fn code(body: &str) -> &str {
    let after = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    after.map_or("", |(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_from_what_passes() {
        let meaning = |status: u16, code: &str| meaning(StatusCode::from_u16(status).unwrap(), code);
        for (status, code, expected) in [
            (403, "QuotaExceeded", Meaning::Final(FULL)),
            (400, "EntityTooLarge", Meaning::Final(FULL)),
            (413, "", Meaning::Final(FULL)),
            (507, "", Meaning::Final(FULL)),
            (404, "NoSuchBucket", Meaning::Final(MISSING)),
            (404, "NoSuchUpload", Meaning::Final(REFUSED)),
            (400, "InvalidArgument", Meaning::Final(REFUSED)),
            (411, "MissingContentLength", Meaning::Final(REFUSED)),
            (403, "AccessDenied", Meaning::Stale),
            (403, "SignatureDoesNotMatch", Meaning::Stale),
            (403, "", Meaning::Stale),
            (403, "RequestTimeTooSkewed", Meaning::Passing),
            (400, "RequestTimeout", Meaning::Passing),
            (400, "BadDigest", Meaning::Passing),
            (409, "OperationAborted", Meaning::Passing),
            (429, "", Meaning::Passing),
            (500, "InternalError", Meaning::Passing),
            (502, "", Meaning::Passing),
            (301, "PermanentRedirect", Meaning::Final(REFUSED)),
            (501, "NotImplemented", Meaning::Final(REFUSED)),
            (503, "SlowDown", Meaning::Passing),
        ] {
            assert_eq!(meaning(status, code), expected, "{status} {code}");
        }
        let body = "<?xml version=\"1.0\"?><Error><Code>QuotaExceeded</Code><Message/></Error>";
        assert_eq!((code(body), code("")), ("QuotaExceeded", ""));
    }
}
