//! W3C Trace Context: the trace that a request belongs to, on every hop. <https://www.w3.org/TR/trace-context/>

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::trace::{SpanContext, TraceFlags, TraceState};
use uuid::Uuid;

/// The header that names the trace.
pub const HEADER: HeaderName = HeaderName::from_static("traceparent");
/// The header with what tracing systems add to it.
const STATE: HeaderName = HeaderName::from_static("tracestate");
/// Bytes of `tracestate` that are passed on.
const MOST_STATE: usize = 512;

/// A position in a trace: the trace, a span, and whether it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    sampled: bool,
}

impl TraceContext {
    pub(crate) fn new(trace: u128, span: u64, sampled: bool) -> Self {
        Self { trace, span, sampled }
    }

    /// The first position of a new trace.
    pub(crate) fn random() -> Self {
        Self { trace: Uuid::new_v4().as_u128(), span: 0, sampled: false }.next()
    }

    /// Another position in the same trace.
    pub(crate) fn next(self) -> Self {
        Self { span: Uuid::new_v4().as_u64_pair().1, ..self }
    }

    pub(crate) fn with_flag(self, sampled: bool) -> Self {
        Self { sampled, ..self }
    }

    pub(crate) fn remote(self) -> SpanContext {
        let flags = if self.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        SpanContext::new(self.trace.into(), self.span.into(), flags, true, TraceState::NONE)
    }

    /// Reads the headers of a request. Removes `tracestate` if it is not passed on.
    pub(crate) fn take(headers: &mut HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(HEADER).iter();
        let given = values.next().filter(|_| values.next().is_none());
        let given = given.and_then(|value| Self::parse(value.to_str().ok()?));
        let state_size: usize = headers.get_all(STATE).iter().map(HeaderValue::len).sum();
        if given.is_none() || state_size > MOST_STATE {
            headers.remove(STATE);
        }
        given
    }

    /// Parses a `traceparent` of version 00, or of a later version by the rules of version 00.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |text: &str, digits: usize| {
            let valid = text.len() == digits
                && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            valid.then(|| u128::from_str_radix(text, 16).ok()).flatten()
        };
        let mut parts = text.splitn(5, '-');
        let (version, trace) = (hex(parts.next()?, 2)?, hex(parts.next()?, 32)?);
        let (span, flags) = (hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
        let is_valid = version != 0xff && (version != 0 || parts.next().is_none()) && trace != 0 && span != 0;
        is_valid.then_some(Self { trace, span: u64::try_from(span).ok()?, sampled: flags & 1 == 1 })
    }

    /// Returns whether it is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The value of `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }

    /// As [`Self::traceparent`], for a header.
    #[must_use]
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.traceparent()).unwrap_or(HeaderValue::from_static(""))
    }

    /// The id of the trace, as `traceparent` has it.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::{Origin, Tracer};

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    /// The position of a request from another service, in a process that records nothing.
    fn accepted(given: &[&str], state: &str) -> (TraceContext, HeaderMap) {
        let mut headers = HeaderMap::new();
        for given in given {
            headers.append(HEADER, given.parse().unwrap());
        }
        headers.insert(STATE, state.parse().unwrap());
        let span = Tracer::default().accept(&Method::GET, &mut headers, Origin::Inside);
        (span.context().unwrap(), headers)
    }

    #[test]
    fn a_trace_goes_on_with_a_new_span() {
        for given in
            [GIVEN, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-later-versions-have"]
        {
            let (context, headers) = accepted(&[given], "vendor=1");
            assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
            let sent = headers[HEADER].to_str().unwrap();
            assert!(
                sent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && sent.ends_with("-01"),
                "{sent}"
            );
            assert!(!sent.contains("00f067aa0ba902b7"), "{sent}");
            assert_eq!(TraceContext::parse(sent), Some(context));
            assert_eq!(headers[STATE], "vendor=1");
        }
        let (_, headers) = accepted(&[GIVEN], &"x".repeat(513));
        assert!(!headers.contains_key(STATE));
    }

    #[test]
    fn what_is_malformed_is_replaced() {
        for given in [
            &["x"][..],
            &[""],
            &[GIVEN, GIVEN],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"],
            &["ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
            &["00-00000000000000000000000000000000-00f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"],
            &["00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"],
            &["00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
            &[],
        ] {
            let (context, headers) = accepted(given, "vendor=1");
            assert_ne!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736", "{given:?}");
            let sent = headers[HEADER].to_str().unwrap();
            assert_eq!(TraceContext::parse(sent), Some(context), "{sent}");
            assert!(sent.ends_with("-00") && !headers.contains_key(STATE), "{headers:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_accepted_or_replaced(text in "[0-9a-f+Z-]{0,60}") {
            let (context, headers) = accepted(&[&text], "");
            proptest::prop_assert_eq!(headers.get_all(HEADER).iter().count(), 1);
            proptest::prop_assert_eq!(TraceContext::parse(headers[HEADER].to_str().unwrap()), Some(context));
        }
    }
}
