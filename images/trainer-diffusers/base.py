"""Base models: folders of diffusers pipelines below one read-only folder. Reads configurations only, without torch."""

import json
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from job import InputError
from settings import Settings

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Kind(Enum):
    """By the class of the pipeline."""

    SD = "StableDiffusionPipeline"
    SDXL = "StableDiffusionXLPipeline"


@dataclass(frozen=True)
class BaseModel:
    """resolution: edge of the pictures that the UNet was trained with, in pixels."""

    name: str
    folder: Path
    kind: Kind
    resolution: int


def find(settings: Settings, name: str) -> BaseModel:
    """The base model of a name; `default` is the one of the settings.

    Raises InputError if there is none. A damaged one, the operator's fault, raises OSError, ValueError or KeyError.
    """
    if name == "default":
        if settings.default_model is None:
            raise InputError("This worker has no default base model: name one in base_model.")
        name = settings.default_model
    # the name is part of a path
    if not NAME.fullmatch(name):
        raise InputError("The name of the base model is not valid: it has 1 to 63 of a-z, 0-9 and -.")
    folder = settings.models / name
    if not (folder / "model_index.json").is_file():
        raise InputError(f"This worker has no base model {name}.")
    pipeline = _config(folder / "model_index.json")["_class_name"]
    try:
        kind = Kind(pipeline)
    except ValueError as error:
        raise InputError(f"The base model {name} cannot be trained: it is neither SD 1.5 nor SDXL.") from error
    scale = 2 ** (len(_config(folder / "vae" / "config.json")["block_out_channels"]) - 1)
    return BaseModel(name, folder, kind, _config(folder / "unet" / "config.json")["sample_size"] * scale)


def _config(path: Path) -> dict:
    return json.loads(path.read_text())
