"""Half precision and gradient checkpointing as on CUDA, but on the CPU."""

from pathlib import Path

import pytest
import torch

import base
import dataset
import training
from job import Job
from settings import Settings
from worker import folder_of


@pytest.mark.parametrize("base_model", ["tiny-sd", "tiny-sdxl"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, base_model: str, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(training, "_device", lambda _: (torch.device("cpu"), dtype))
    job = Job.read(folder_of(tmp_path / "job", base_model=base_model, steps=2))
    settings = Settings.read({"TRAINER_MODELS": str(models), "TRAINER_DEVICE": "cpu", "TRAINER_PRIOR_PICTURES": "1"})
    model = base.find(settings, base_model)
    fitted = training.Training(job, settings, model, [dataset.read(path, model.resolution) for path in job.uploads])
    unet = fitted.fit.unet
    unet.enable_gradient_checkpointing()
    before = {name: weight.detach().clone() for name, weight in fitted.fit.weights.items()}
    for _ in range(2):
        fitted.advance()
    fitted.save()
    fitted.deliver()
    types = {weight.dtype for weight in unet.parameters() if not weight.requires_grad}
    assert types == {dtype} and {weight.dtype for weight in fitted.fit.weights.values()} == {torch.float32}
    assert all(not torch.equal(before[name], weight) for name, weight in fitted.fit.weights.items() if "lora_B" in name)
    saved = torch.load(job.checkpoint, weights_only=True)
    assert bool(saved["scaler"]) == (dtype is torch.float16)
