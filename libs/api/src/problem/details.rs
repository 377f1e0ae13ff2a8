//! A problem as JSON: as it is sent.

use super::{Problem, ProblemDetails};

impl From<&Problem> for ProblemDetails {
    fn from(problem: &Problem) -> Self {
        Self {
            kind: problem.kind.uri(),
            title: problem.kind.title().to_owned(),
            status: problem.status.as_u16(),
            detail: problem.detail.clone(),
            next: Some(problem.next.clone()),
            errors: problem.errors.clone(),
            extra: problem.extra.clone(),
        }
    }
}

impl From<Problem> for ProblemDetails {
    fn from(problem: Problem) -> Self {
        Self::from(&problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::ProblemType, *};

    #[test]
    fn a_problem_survives_storing() {
        let problem = Problem::new(ProblemType::StockInUse, "2 units are free.").with("free", 2);
        let sent = serde_json::to_value(&problem).unwrap();
        let stored: ProblemDetails = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(stored, ProblemDetails::from(problem));
        assert!(stored.is(ProblemType::StockInUse) && !stored.is(ProblemType::StockExhausted));
        assert_eq!(stored.extra["free"], 2);
        assert_eq!(serde_json::to_value(&stored).unwrap(), sent);
    }

    #[test]
    fn an_unknown_type_is_kept() {
        let sent = json!({ "type": "https://atelier.dev/problems/from-the-future", "title": "T", "status": 418,
                           "detail": "D", "more": [1] });
        let received: ProblemDetails = serde_json::from_value(sent.clone()).unwrap();
        assert!(ProblemType::ALL.iter().all(|known| !received.is(*known)));
        assert_eq!(serde_json::to_value(&received).unwrap(), sent);
    }
}
