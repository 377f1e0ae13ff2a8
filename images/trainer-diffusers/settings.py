"""Settings of the operator: environment variables that begin with TRAINER_."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# before diffusers, transformers or huggingface_hub are imported: nothing is downloaded in a job
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TQDM_DISABLE": "1",
    "DIFFUSERS_VERBOSITY": "error",
    "TRANSFORMERS_VERBOSITY": "error",
}


@dataclass(frozen=True)
class Settings:
    models: Path
    default_model: str | None
    device: str
    checkpoint_steps: int
    learning_rate: float
    prior_pictures: int
    prior_weight: float

    @classmethod
    def read(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Raises ValueError if a variable is missing or not valid."""
        if not env.get("TRAINER_MODELS"):
            raise ValueError("TRAINER_MODELS is not set")
        settings = cls(
            models=Path(env["TRAINER_MODELS"]),
            default_model=env.get("TRAINER_DEFAULT_MODEL") or None,
            device=env.get("TRAINER_DEVICE", "cuda"),
            checkpoint_steps=int(env.get("TRAINER_CHECKPOINT_STEPS", "100")),
            learning_rate=float(env.get("TRAINER_LEARNING_RATE", "1e-4")),
            prior_pictures=int(env.get("TRAINER_PRIOR_PICTURES", "0")),
            prior_weight=float(env.get("TRAINER_PRIOR_WEIGHT", "1")),
        )
        if settings.device not in ("cuda", "cpu"):
            raise ValueError("TRAINER_DEVICE must be cuda or cpu")
        if settings.checkpoint_steps < 1 or settings.learning_rate <= 0 or settings.prior_pictures < 0:
            raise ValueError("TRAINER_CHECKPOINT_STEPS and TRAINER_LEARNING_RATE must be positive, and "
                             "TRAINER_PRIOR_PICTURES not negative")
        return settings
