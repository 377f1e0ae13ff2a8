"""The folder of a job and the signal to leave, by the contract of command engines (docs/JOBS.md)."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

DONE, FAILED, INVALID, STOPPED = 0, 1, 2, 75


class InputError(Exception):
    """The inputs are not valid, and another attempt would have the same end. The text is for the user."""


@dataclass(frozen=True)
class Parameters:
    """Those of `dreambooth.train` that the trainer uses."""

    theme: str
    token: str
    base_model: str
    steps: int
    rank: int
    seed: int

    @property
    def prompt(self) -> str:
        return f"a photo of {self.token} {self.theme}"

    @property
    def class_prompt(self) -> str:
        return f"a photo of {self.theme}"


@dataclass(frozen=True)
class Job:
    folder: Path
    parameters: Parameters
    uploads: list[Path]

    @classmethod
    def read(cls, folder: Path) -> "Job":
        """Reads `input.json`.

        Raises InputError if a parameter is missing or has another type.
        """
        try:
            text = json.loads((folder / "input.json").read_text())
            given, types = text["parameters"], Parameters.__annotations__
            for name, kind in types.items():
                if type(given[name]) is not kind:
                    raise TypeError(f"{name} must be of type {kind.__name__}")
            parameters = Parameters(**{name: given[name] for name in types})
            uploads = [folder / path for path in text["uploads"]]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"The parameters cannot be read: {error}.") from error
        if not uploads or parameters.steps < 1 or parameters.rank < 1:
            raise InputError("A training needs pictures, steps and a rank.")
        return cls(folder, parameters, uploads)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def report(self, line: dict[str, int | float]) -> None:
        with (self.folder / "progress").open("a") as progress:
            progress.write(json.dumps(line) + "\n")

    def save_checkpoint(self, step: int, write: Callable[[BinaryIO], None]) -> None:
        self._replace(self.checkpoint, write)
        self.report({"checkpoint": step})

    def save_output(self, name: str, write: Callable[[BinaryIO], None]) -> None:
        outputs = self.folder / "outputs"
        outputs.mkdir(exist_ok=True)
        self._replace(outputs / name, write)

    def _replace(self, path: Path, write: Callable[[BinaryIO], None]) -> None:
        """Readers see the old content or the new one. It is written beside `outputs/`: partial files are no results."""
        aside = self.folder / f"{path.name}.part"
        with aside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)


class Termination:
    """What SIGTERM does: it ends the process at once with STOPPED, or sets `requested` while it is `deferred`.

    It has to be deferred while there are steps that no checkpoint has.
    """

    def __init__(self) -> None:
        self.requested = False
        self.deferred = False
        signal.signal(signal.SIGTERM, self._handle)

    def _handle(self, *_: object) -> None:
        self.requested = True
        if not self.deferred:
            os._exit(STOPPED)
