"""The contract of command engines: exit codes, progress, checkpoints, results."""

import io
import shutil
import signal
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors import safe_open

import train
from worker import STEPS, folder_of, lines, log, picture, run, start, steps, wait


def adapter(folder: Path) -> dict[str, torch.Tensor]:
    """What was trained, in float32: the last checkpoint has it."""
    return torch.load(folder / "checkpoint", weights_only=True)["adapter"]


def assert_same(one: Path, other: Path) -> None:
    assert adapter(one).keys() == adapter(other).keys()
    for name, tensor in adapter(one).items():
        assert torch.equal(tensor, adapter(other)[name]), name
    for name in ["loss.csv", "preview.png"]:
        assert (one / "outputs" / name).read_bytes() == (other / "outputs" / name).read_bytes(), name


@pytest.mark.parametrize("base_model", ["tiny-sd", "tiny-sdxl"])
def test_a_training_has_all_results(trainings: dict[str, Path], base_model: str) -> None:
    job = trainings[base_model]
    assert log(job) == "", "its end is shown to users"
    assert sorted(path.name for path in (job / "outputs").iterdir()) == ["loss.csv", "model.safetensors", "preview.png"]
    assert Image.open(job / "outputs" / "preview.png").size == (64, 64)
    losses = (job / "outputs" / "loss.csv").read_text().splitlines()
    assert losses[0] == "step,loss"
    assert [line.split(",")[0] for line in losses[1:]] == [str(step + 1) for step in range(STEPS)]
    assert lines(job)[0] == {"step": 0, "steps": STEPS}
    assert steps(job) == list(range(1, STEPS + 1)) and all(line.get("steps", STEPS) == STEPS for line in lines(job))
    reported = lines(job)
    saved = [at for at, line in enumerate(reported) if "checkpoint" in line]
    assert [(reported[at - 1]["step"], reported[at]["checkpoint"]) for at in saved] == [(25, 25), (50, 50), (60, 60)]
    assert not list(job.glob("*.part")) and not (job.parent / "hub").exists()


@pytest.fixture
def whole(trainings: dict[str, Path]) -> Path:
    """A training without interruption, which the others have to equal."""
    return trainings["tiny-sd"]


def test_after_sigterm_a_training_goes_on_to_the_same_bits(tmp_path: Path, models: Path, whole: Path) -> None:
    job = folder_of(tmp_path / "job")
    process = start(job, models)
    wait(process, lambda: len(steps(job)) >= 5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=15) == 75, log(job)
    stopped = lines(job)[-1]["checkpoint"]
    assert 5 <= stopped < STEPS and not list((job / "outputs").iterdir())
    (job / "progress").unlink()
    assert run(job, models) == 0, log(job)
    assert lines(job)[0] == {"step": stopped, "steps": STEPS} and steps(job)[0] == stopped + 1
    assert_same(job, whole)


def test_after_sigkill_a_training_goes_on_from_its_checkpoint(tmp_path: Path, models: Path, whole: Path) -> None:
    job = folder_of(tmp_path / "job")
    process = start(job, models, TRAINER_CHECKPOINT_STEPS="10")
    wait(process, lambda: len(steps(job)) >= 25)
    process.kill()
    process.wait()
    # as the runner does: another folder, in which only the checkpoint is left
    after = folder_of(tmp_path / "after")
    shutil.copy(job / "checkpoint", after / "checkpoint")
    assert run(after, models, TRAINER_CHECKPOINT_STEPS="10") == 0, log(after)
    assert steps(after)[0] > 20 and steps(after)[0] % 10 == 1
    assert_same(after, whole)


def test_sigterm_before_the_first_step(tmp_path: Path, models: Path) -> None:
    job = folder_of(tmp_path / "job", steps=100_000)
    process = start(job, models)
    maps = Path(f"/proc/{process.pid}/maps")
    wait(process, lambda: "libtorch" in maps.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=15) == 75, log(job)
    assert lines(job) == [], "loading is not finished first"


@pytest.mark.parametrize("rank", [4, 2])
def test_a_checkpoint_that_cannot_be_used_begins_anew(tmp_path: Path, models: Path, whole: Path, rank: int) -> None:
    """One that is cut off, and one of another rank. The base model is the default of the worker."""
    job = folder_of(tmp_path / "job", base_model="default", steps=2, rank=rank)
    good = (whole / "checkpoint").read_bytes()
    (job / "checkpoint").write_bytes(good[: len(good) // 2] if rank == 4 else good)
    assert run(job, models, TRAINER_DEFAULT_MODEL="tiny-sd") == 0, log(job)
    assert steps(job) == [1, 2] and "begins anew" in log(job)
    with safe_open(job / "outputs" / "model.safetensors", "pt") as file:
        assert file.metadata()["base_model"] == "tiny-sd"


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("name, content, sentence", [
    ("text.png", b"text", "The file text.png cannot be read as a picture in JPEG, PNG or WebP.\n"),
    ("cut.png", png(picture(0))[:200], "The file cut.png cannot be read as a picture in JPEG, PNG or WebP.\n"),
    ("x.gif", b"GIF89a", "The file x.gif cannot be read as a picture in JPEG, PNG or WebP.\n"),
    ("small.png", png(Image.new("RGB", (8, 900))), "The picture small.png is smaller than 64 pixels.\n"),
    ("bomb.png", png(Image.new("1", (20_000, 20_000))), "The picture bomb.png has more than 64 megapixels.\n"),
])
def test_invalid_pictures(tmp_path: Path, models: Path, name: str, content: bytes, sentence: str) -> None:
    job = folder_of(tmp_path / "job", {name: content})
    assert run(job, models) == 2
    assert log(job) == sentence


@pytest.mark.parametrize("name, sentence", [
    ("unknown", "This worker has no base model unknown.\n"),
    ("not-a-pipeline", "This worker has no base model not-a-pipeline.\n"),
    ("../models/tiny-sd", "The name of the base model is not valid: it has 1 to 63 of a-z, 0-9 and -.\n"),
    ("..", "The name of the base model is not valid: it has 1 to 63 of a-z, 0-9 and -.\n"),
    ("", "The name of the base model is not valid: it has 1 to 63 of a-z, 0-9 and -.\n"),
    ("flux", "The base model flux cannot be trained: it is neither SD 1.5 nor SDXL.\n"),
    ("default", "This worker has no default base model: name one in base_model.\n"),
])
def test_base_models_that_there_are_not(tmp_path: Path, models: Path, name: str, sentence: str) -> None:
    job = folder_of(tmp_path / "job", base_model=name)
    link = tmp_path / "models"
    link.symlink_to(models)
    assert run(job, link) == 2
    assert log(job) == sentence


def test_invalid_parameters(tmp_path: Path, models: Path) -> None:
    job = folder_of(tmp_path / "job", steps="many")
    assert run(job, models) == 2
    assert log(job) == "The parameters cannot be read: steps must be of type int.\n"


def test_the_operator_s_mistakes_can_be_tried_again(tmp_path: Path, models: Path) -> None:
    job = folder_of(tmp_path / "job")
    assert run(job, models, TRAINER_DEVICE="tpu") == 1
    assert log(job).endswith("The training failed: TRAINER_DEVICE must be cuda or cpu\n")


@pytest.mark.parametrize("error", [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
    # when another process has all memory, so there is none for the context (PyTorch 2.11.0+cu130, H200)
    torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com"),
], ids=["allocator", "context"])
def test_too_little_memory_of_the_gpu(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    def run_out(*_: object) -> int:
        raise error

    monkeypatch.setenv("ATELIER_JOB_DIR", str(folder_of(tmp_path / "job")))
    monkeypatch.setenv("TRAINER_MODELS", str(models))
    monkeypatch.setattr(train, "run", run_out)
    before = signal.getsignal(signal.SIGTERM)
    assert train.main() == 1
    signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "The GPU has not enough free memory for this training.\n"
