"""The fit of the adapter.

Picture, noise and timestep of a step are functions of the seed and the step, so a resumed fit makes the adapter that an
uninterrupted one makes.
"""

import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO

import torch
from diffusers import DDPMScheduler, UNet2DConditionModel

import adapter
from encoder import Embedding

MAX_NORM = 1.0


class CheckpointError(Exception):
    """The checkpoint is damaged, or of another training."""


@dataclass(frozen=True)
class Example:
    """latents: [1, channels, height, width], scaled. time_ids: six numbers, of SDXL only."""

    latents: torch.Tensor
    prompt: Embedding
    time_ids: tuple[int, ...]


@dataclass(frozen=True)
class Examples:
    """pictures: the user's, one in each step. class_pictures: of prior preservation, one more in each step, or none."""

    pictures: list[Example]
    class_pictures: list[Example]
    prior_weight: float


def generator(seed: int, purpose: str, number: int = 0) -> torch.Generator:
    """A generator of the CPU. Its state comes from 32 bits, so they are a hash of all three."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{number}".encode(), digest_size=4).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest))


class Fit:
    """step: the number of steps done. losses: one for each of them."""

    def __init__(
        self, unet: UNet2DConditionModel, scheduler: DDPMScheduler, examples: Examples, seed: int, learning_rate: float
    ) -> None:
        self.unet, self.scheduler, self.examples, self.seed = unet, scheduler, examples, seed
        self.weights = adapter.weights(unet)
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=learning_rate)
        self.scaler = torch.amp.GradScaler(unet.device.type, enabled=unet.dtype is torch.float16)
        self.step = 0
        self.losses: list[float] = []
        unet.train()

    def advance(self) -> float:
        """Does one step, and returns the loss before it. Raises ArithmeticError if the loss is not finite."""
        batch = [pick(self.examples.pictures, self.seed, self.step)]
        if self.examples.class_pictures:
            batch.append(pick(self.examples.class_pictures, self.seed, self.step))
        losses = self._losses(batch)
        loss = losses[0] + self.examples.prior_weight * losses[1:].sum()
        value = loss.item()
        if not torch.isfinite(loss):
            raise ArithmeticError("The training has diverged: the loss is not finite.")
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.weights.values(), MAX_NORM)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1
        self.losses.append(value)
        return value

    def _losses(self, batch: list[Example]) -> torch.Tensor:
        """The mean squared error of each example, [examples]."""
        device, draw = self.unet.device, generator(self.seed, "noise", self.step)
        latents = torch.cat([example.latents for example in batch])
        noise = torch.randn(latents.shape, generator=draw).to(device)
        timesteps = torch.randint(self.scheduler.config.num_train_timesteps, (len(batch),), generator=draw).to(device)
        noisy = self.scheduler.add_noise(latents, noise, timesteps)
        with self._autocast():
            output = self.unet(noisy.to(self.unet.dtype), timesteps, **_conditions(batch, device)).sample
        if self.scheduler.config.prediction_type == "v_prediction":
            target = self.scheduler.get_velocity(latents, noise, timesteps)
        else:
            target = noise
        return (output.float() - target).square().mean(dim=(1, 2, 3))

    def _autocast(self) -> AbstractContextManager:
        """The adapter is in float32, the frozen weights on CUDA in half precision."""
        return torch.autocast(self.unet.device.type, self.unet.dtype, enabled=self.unet.dtype is not torch.float32)

    def save(self, file: BinaryIO) -> None:
        state = {
            "step": self.step,
            "losses": self.losses,
            "adapter": {name: weight.detach() for name, weight in self.weights.items()},
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
        }
        torch.save(state, file)

    def resume(self, file: BinaryIO) -> None:
        """Goes on from what `save` wrote.

        Raises CheckpointError, and changes nothing then.
        """
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
            step, losses, saved = int(state["step"]), list(state["losses"]), state["adapter"]
            shapes = {name: weight.shape for name, weight in saved.items()}
            if shapes != {name: weight.shape for name, weight in self.weights.items()} or len(losses) != step:
                raise ValueError("of another training")
            self.optimizer.load_state_dict(state["optimizer"])
            self.scaler.load_state_dict(state["scaler"])
        except Exception as error:  # damaged files raise many kinds: RuntimeError, UnpicklingError, EOFError, KeyError
            raise CheckpointError(str(error)) from error
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(saved[name])
        self.step, self.losses = step, losses


def pick(examples: list[Example], seed: int, step: int) -> Example:
    """Each of them once in a round, in an order that depends on the seed and the round."""
    turn, at = divmod(step, len(examples))
    return examples[int(torch.randperm(len(examples), generator=generator(seed, "order", turn))[at])]


def _conditions(batch: list[Example], device: torch.device) -> dict:
    """Arguments of the UNet."""
    arguments: dict = {"encoder_hidden_states": torch.cat([example.prompt.text for example in batch])}
    pooled = [example.prompt.pooled for example in batch if example.prompt.pooled is not None]
    if pooled:
        time_ids = torch.tensor([example.time_ids for example in batch], dtype=pooled[0].dtype, device=device)
        arguments["added_cond_kwargs"] = {"text_embeds": torch.cat(pooled), "time_ids": time_ids}
    return arguments
