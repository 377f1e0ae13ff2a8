//! Additional requirements of `cargo xtask test --long`: Python with the packages of programs that run on
//! workers.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Consent, python::python_environment};

/// Free space that PyTorch needs, in GiB: PyPI has it for Linux on x86-64 with CUDA only, of which the CPU needs nothing. 2.7 GiB are
/// downloaded, and 7 GiB stay.
const PYTORCH_GIB: u64 = 20;

/// Python programs. What is None cannot be installed here: what needs it is skipped.
#[derive(Debug)]
pub struct Long {
    /// With what the trainer needs, PyTorch among it.
    pub pytorch: Option<PathBuf>,
    pub ray: Option<PathBuf>,
}

impl Long {
    /// Installs missing packages.
    ///
    /// # Errors
    /// Without consent.
    pub fn install(consent: Consent) -> anyhow::Result<Self> {
        let (root, target) = (crate::root(), crate::target());
        let python = |folder: PathBuf| folder.join("bin/python");
        let examples = root.join("images/examples/requirements.txt");
        let ray = python_environment(consent, "Ray", &examples, &target.join("ray"))?.map(python);
        let folder = target.join("pytorch");
        let has_room =
            folder.join("installed.txt").exists() || free_gib(&target).is_none_or(|free| free >= PYTORCH_GIB);
        if !has_room {
            println!("  PyTorch is not installed: it needs {PYTORCH_GIB} GiB of free space");
            return Ok(Self { pytorch: None, ray });
        }
        // one file: changed parts are installed again
        let trainer = root.join("images/trainer-diffusers");
        let parts = ["requirements.txt", "tests/requirements.txt"].map(|name| trainer.join(name));
        let texts: Vec<String> = parts.iter().map(std::fs::read_to_string).collect::<Result<_, _>>()?;
        let requirements = target.join("pytorch.requirements.txt");
        std::fs::write(&requirements, texts.concat())?;
        let pytorch = python_environment(consent, "PyTorch and diffusers, 7 GiB", &requirements, &folder)?;
        Ok(Self { pytorch: pytorch.map(python), ray })
    }
}

/// Free space of a file system. None: not known.
fn free_gib(folder: &Path) -> Option<u64> {
    let mut df = Command::new("df");
    let output = df.args(["--output=avail", "--block-size=1G"]).arg(folder).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().nth(1)?.trim().parse().ok()
}
