"""Starts the trainer as the runner does: a process in the folder of a job."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

PROGRAM = Path(__file__).parents[1] / "train.py"
STEPS = 60
# a training takes seconds, on a machine that does nothing else
LIMIT = 600
PARAMETERS = {"images": ["upl_x"], "theme": "dog", "token": "sks", "name": "Rex", "base_model": "tiny-sd",
              "steps": STEPS, "rank": 4, "seed": 7}


def folder_of(path: Path, pictures: dict[str, bytes] | None = None, **parameters: object) -> Path:
    """The folder of a job, by default with pictures in the three formats."""
    (path / "inputs").mkdir(parents=True)
    (path / "outputs").mkdir()
    if pictures is None:
        for number, extension in enumerate(["png", "jpg", "webp"]):
            picture(number).save(path / "inputs" / f"{number}-dog.{extension}")
    for name, content in (pictures or {}).items():
        (path / "inputs" / name).write_bytes(content)
    uploads = [f"inputs/{file.name}" for file in sorted((path / "inputs").iterdir())]
    text = {"application": "dreambooth", "method": "train", "parameters": PARAMETERS | parameters,
            "uploads": uploads, "models": []}
    (path / "input.json").write_text(json.dumps(text))
    return path


def picture(number: int) -> Image.Image:
    """Stripes, not square."""
    pixels = np.zeros((96, 128, 3), dtype=np.uint8)
    pixels[:, number * 8 :: 32] = (220, 40 * number, 30)
    return Image.fromarray(pixels)


def start(folder: Path, models: Path, **settings: str) -> subprocess.Popen:
    # no download would pass this proxy
    proxies = {name: "http://127.0.0.1:9" for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]}
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TRAINER_", "HF_", "ATELIER_"))}
    env |= {"ATELIER_JOB_DIR": str(folder), "TRAINER_MODELS": str(models), "TRAINER_DEVICE": "cpu",
            "TRAINER_LEARNING_RATE": "1e-2", "OMP_NUM_THREADS": "1", "HF_HOME": str(folder.parent / "hub")}
    env |= proxies | settings
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([sys.executable, PROGRAM], cwd=folder, env=env, stdout=log, stderr=log)


def run(folder: Path, models: Path, **settings: str) -> int:
    return start(folder, models, **settings).wait(timeout=LIMIT)


def lines(folder: Path) -> list[dict]:
    """The complete lines of progress."""
    path = folder / "progress"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def steps(folder: Path) -> list[int]:
    """The steps that have a loss."""
    return [line["step"] for line in lines(folder) if "loss" in line]


def log(folder: Path) -> str:
    return (folder / "log").read_text()


def wait(process: subprocess.Popen, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < deadline, "too late"
        assert process.poll() is None, f"ended with {process.returncode}"
        time.sleep(0.01)
