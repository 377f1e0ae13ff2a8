//! The page: no external files, all links relative.

/// The page for `version` of the WebUI and `model`.
pub(crate) fn render(version: &str, model: &str) -> String {
    include_str!("page.html").replace("{{version}}", &escape(version)).replace("{{model}}", &escape(model))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
