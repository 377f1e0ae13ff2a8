"""Runs ddp.py as the runner does: a folder and a process for each rank."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import torch

PROGRAM = Path(__file__).parents[1] / "ddp.py"
# a job takes seconds, on a machine that does nothing else
LIMIT = 600


def folder_of(path: Path, steps: int, every: int = 10) -> Path:
    path.mkdir()
    (path / "outputs").mkdir()
    arguments = {"steps": steps, "checkpoint_every": every}
    (path / "input.json").write_text(json.dumps({"parameters": {"arguments": arguments}}))
    return path


def start(folders: list[Path]) -> list[subprocess.Popen]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    gang = {"WORLD_SIZE": str(len(folders)), "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    place = [gang | {"RANK": str(rank), "ATELIER_JOB_DIR": str(folder)} for rank, folder in enumerate(folders)]
    base = os.environ | {"OMP_NUM_THREADS": "1"}
    return [subprocess.Popen([sys.executable, PROGRAM], cwd=env["ATELIER_JOB_DIR"], env=base | env) for env in place]


def run(folders: list[Path]) -> list[int]:
    return [process.wait(timeout=LIMIT) for process in start(folders)]


def model(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "outputs" / "model.pt", weights_only=True)


def lines(folder: Path) -> list[dict]:
    path = folder / "progress"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def gang_of(path: Path, steps: int) -> list[Path]:
    return [folder_of(path.with_name(f"{path.name}-{rank}"), steps) for rank in range(2)]


def test_two_workers_make_what_one_makes(tmp_path: Path) -> None:
    one, two = folder_of(tmp_path / "one", 40), gang_of(tmp_path / "two", 40)
    assert run([one]) == [0]
    assert run(two) == [0, 0]
    for name, tensor in model(one).items():
        torch.testing.assert_close(model(two[0])[name], tensor, rtol=1e-4, atol=1e-5)
    assert lines(two[1]) == [] and not (two[1] / "checkpoint").exists(), "rank 0 alone writes"
    assert {"checkpoint": 40} in lines(two[0])


def test_a_stopped_gang_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, parts = gang_of(tmp_path / "whole", 2000), gang_of(tmp_path / "parts", 2000)
    assert run(whole) == [0, 0]
    processes = start(parts)
    deadline = time.monotonic() + LIMIT
    while len(lines(parts[0])) < 25:
        assert time.monotonic() < deadline and processes[0].poll() is None
        time.sleep(0.01)
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(timeout=15) for process in processes] == [75, 75]
    stopped = lines(parts[0])[-1]["checkpoint"]
    assert 0 < stopped < 2000
    shutil.copy(parts[0] / "checkpoint", parts[1] / "checkpoint")
    assert run(parts) == [0, 0]
    for name, tensor in model(whole[0]).items():
        assert torch.equal(model(parts[0])[name], tensor), name


def test_wrong_steps_are_the_users_mistake(tmp_path: Path) -> None:
    assert run([folder_of(tmp_path / "job", 0)]) == [2]
