//! What the tests need beside Postgres and the programs.

use std::path::PathBuf;

use super::{
    Consent, Tools, debian,
    npm::{helm, openid_provider},
    python::python_program,
};

/// The programs that are installed for the tests. What is None cannot be installed here: the cases that need it skip
/// themselves.
#[derive(Debug)]
pub struct Tests {
    pub tools: Tools,
    /// Folder of an OpenID provider.
    pub openid_provider: Option<PathBuf>,
    pub schemathesis: Option<PathBuf>,
    pub helm: Option<PathBuf>,
    pub kubernetes_validate: Option<PathBuf>,
    pub has_docker_compose: bool,
}

impl Tests {
    /// Installs what is missing.
    ///
    /// # Errors
    /// What is required cannot be installed.
    pub fn install(consent: Consent) -> anyhow::Result<Self> {
        let (root, target) = (crate::root(), crate::target());
        let tools = Tools::install(consent)?;
        debian::required_by_tests(consent)?;
        let python = |name, requirements, folder| {
            python_program(consent, name, &root.join(requirements), &target.join(folder))
        };
        Ok(Self {
            tools,
            openid_provider: openid_provider(consent, &target.join("oidc-provider"))?,
            schemathesis: python(
                "schemathesis",
                "tests/isolation/schemathesis/requirements.txt",
                "schemathesis",
            )?,
            helm: helm(consent, &target.join("helm"))?,
            kubernetes_validate: python(
                "kubernetes-validate",
                "tests/install/requirements.txt",
                "kubernetes-validate",
            )?,
            has_docker_compose: debian::docker_compose(consent)?,
        })
    }
}
