//! Which traces are recorded, and what is exported of them.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use atelier_traces::{HEADER, Origin, Span, SpanKind, TelemetryConfig, TraceContext, Tracer, child, current};
use testkit::Collector;

/// The headers of a request, or what is forwarded of them.
type Headers = http::HeaderMap;

fn given(trace: u32, flags: &str) -> Headers {
    let value = format!("00-{trace:032x}-00f067aa0ba902b7-{flags}");
    [(HEADER, value.parse().unwrap())].into_iter().collect()
}

fn tracer(collector: &Collector, sample_ratio: f64) -> Tracer {
    let endpoint = collector.endpoint().parse().unwrap();
    Tracer::start("test", &TelemetryConfig { endpoint, sample_ratio }).unwrap()
}

fn accept(tracer: &Tracer, headers: &mut Headers, origin: Origin) -> Span {
    tracer.accept(&http::Method::GET, headers, origin)
}

async fn export(tracer: Tracer) {
    tokio::task::spawn_blocking(move || tracer.shut_down()).await.unwrap();
}

fn is_sampled(headers: &Headers) -> bool {
    TraceContext::parse(headers[HEADER].to_str().unwrap()).unwrap().is_sampled()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_do_not_decide_what_is_recorded() {
    let collector = Collector::start().await;
    for (ratio, recorded) in [(0.0, false), (1.0, true)] {
        let tracer = tracer(&collector, ratio);
        for flags in ["00", "01"] {
            let mut headers = given(7, flags);
            let span = accept(&tracer, &mut headers, Origin::Outside);
            assert_eq!(span.is_recorded(), recorded, "{ratio} {flags}");
            let position = span.context().unwrap();
            assert_eq!(position.is_sampled(), recorded, "what services get: {ratio} {flags}");
            assert_eq!(position.trace_id(), format!("{:032x}", 7));
            assert_eq!(is_sampled(&headers), flags == "01", "what instances get: {ratio} {flags}");
        }
        export(tracer).await;
    }
    assert_eq!(collector.spans().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_records_what_its_caller_records() {
    let collector = Collector::start().await;
    for ratio in [0.0, 1.0] {
        let tracer = tracer(&collector, ratio);
        for (flags, recorded) in [("00", false), ("01", true)] {
            let span = accept(&tracer, &mut given(1, flags), Origin::Inside);
            assert_eq!(span.is_recorded(), recorded, "{ratio} {flags}");
            span.scope(async {
                let below = child(SpanKind::Internal, "below");
                assert_eq!((below.is_recorded(), current()), (recorded, span.context()));
            })
            .await;
            let request = span.context();
            assert_eq!(tracer.reconcile("later", request).is_recorded(), recorded, "{ratio} {flags}");
        }
        let first = accept(&tracer, &mut Headers::new(), Origin::Inside);
        assert_eq!(
            (first.is_recorded(), tracer.reconcile("first", None).is_recorded()),
            (ratio > 0.5, ratio > 0.5)
        );
        drop(first);
        export(tracer).await;
    }
    let spans = collector.trace(&format!("{:032x}", 1));
    assert_eq!(spans.len(), 6, "{spans:?}");
    for later in spans.iter().filter(|span| span.name == "later") {
        let request = spans.iter().find(|span| span.id == later.parent).unwrap();
        assert_eq!((request.kind, &later.links), ("server", &vec![request.id.clone()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_the_traces_is_recorded_whatever_their_ids_are() {
    let collector = Collector::start().await;
    let tracer = tracer(&collector, 0.25);
    let recorded = |_: &u32| accept(&tracer, &mut given(1, "01"), Origin::Outside).is_recorded();
    let count = (0..4000).filter(recorded).count();
    // the probability of another result is below 1e-12
    assert!((800..=1200).contains(&count), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_recorded_without_a_tracer_or_after_its_end() {
    let collector = Collector::start().await;
    let ended = tracer(&collector, 1.0);
    export(ended.clone()).await;
    for tracer in [Tracer::default(), ended] {
        let mut headers = given(3, "01");
        let span = accept(&tracer, &mut headers, Origin::Inside);
        assert!(!span.is_recorded());
        let span = span.scope(async { child(SpanKind::Client, "below") }).await;
        assert!(!span.is_recorded() && span.header().is_some(), "the trace goes on: {span:?}");
    }
    assert!(current().is_none() && child(SpanKind::Client, "alone").header().is_none());
    assert_eq!(collector.spans().len(), 0);
}

#[tokio::test]
async fn a_configuration_that_cannot_work_is_refused() {
    for (endpoint, sample_ratio) in
        [("http://127.0.0.1:1", 1.5), ("http://127.0.0.1:1", -0.1), ("grpc://a:1", 1.0)]
    {
        let config = TelemetryConfig { endpoint: endpoint.parse().unwrap(), sample_ratio };
        assert!(Tracer::start("test", &config).is_err(), "{endpoint} {sample_ratio}");
    }
}
