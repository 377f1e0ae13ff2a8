//! The one page: no outside files, every link relative to where it is served.

/// The page for `version` of the WebUI, drawing with `model`.
pub(crate) fn render(version: &str, model: &str) -> String {
    include_str!("page.html").replace("{{version}}", &escape(version)).replace("{{model}}", &escape(model))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
