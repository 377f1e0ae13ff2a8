//! Circles of imports.

use std::fmt;

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

/// An import, of a file or a slice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) to: String,
    /// What is imported, as the source names it.
    pub(crate) names: Vec<String>,
}

/// What imports each other in a circle.
#[derive(Debug)]
pub(crate) struct Circle {
    pub(crate) members: Vec<String>,
    imports: Vec<Import>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {} in a circle: {}", self.members.len(), self.members.join(", "))?;
        for Import { from, to, names } in &self.imports {
            writeln!(f, "    {from} -> {to}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the circles, largest first.
pub(crate) fn circles(imports: &[Import]) -> Vec<Circle> {
    let graph: DiGraphMap<&str, ()> =
        imports.iter().map(|import| (import.from.as_str(), import.to.as_str())).collect();
    let mut circles: Vec<_> = tarjan_scc(&graph)
        .into_iter()
        .filter(|members| members.len() > 1)
        .map(|mut members| {
            members.sort_unstable();
            let within = |import: &&Import| {
                members.contains(&import.from.as_str()) && members.contains(&import.to.as_str())
            };
            let imports = imports.iter().filter(within).cloned().collect();
            Circle { members: members.iter().map(|&member| member.to_owned()).collect(), imports }
        })
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.members.len()));
    circles
}
