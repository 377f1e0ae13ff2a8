"""A training from its inputs to its results: the parts in the order in which the memory of a GPU holds them."""

import sys

import torch
from diffusers import DDPMScheduler, UNet2DConditionModel

import adapter
from base import BaseModel
from dataset import Picture
from encoder import LOCAL, Embedding, decode, embed, encode, load_vae
from fit import CheckpointError, Example, Examples, Fit, generator
from job import Job
from sampler import sample
from settings import Settings


class Training:
    def __init__(self, job: Job, settings: Settings, base: BaseModel, pictures: list[Picture]) -> None:
        self.job, self.base = job, base
        self.device, dtype = _device(settings.device)
        parameters = job.parameters
        prompts = [parameters.prompt, parameters.class_prompt, ""]
        self.prompt, class_prompt, self.negative = embed(base, prompts, self.device, dtype)
        vae = load_vae(base, self.device)
        own = [Example(encode(vae, picture.pixels), self.prompt, picture.time_ids) for picture in pictures]
        del vae

        unet = UNet2DConditionModel.from_pretrained(base.folder, subfolder="unet", dtype=dtype, **LOCAL)
        adapter.add(unet, parameters.rank, parameters.seed)
        unet.to(self.device)
        others = self._class_pictures(unet, class_prompt, settings.prior_pictures)
        if self.device.type == "cuda":
            unet.enable_gradient_checkpointing()
        scheduler = DDPMScheduler.from_pretrained(base.folder, subfolder="scheduler", local_files_only=True)
        examples = Examples(own, others, settings.prior_weight)
        self.fit = Fit(unet, scheduler, examples, parameters.seed, settings.learning_rate)
        self._resume()

    def _class_pictures(self, unet: UNet2DConditionModel, prompt: Embedding, count: int) -> list[Example]:
        """Pictures of the base model: the new adapter changes nothing yet."""
        seed, edge = self.job.parameters.seed, self.base.resolution
        draws = [generator(seed, "class", number) for number in range(count)]
        latents = [sample(self.base, unet, prompt, self.negative, draw).float() for draw in draws]
        return [Example(picture, prompt, (edge, edge, 0, 0, edge, edge)) for picture in latents]

    def _resume(self) -> None:
        if not self.job.checkpoint.exists():
            return
        try:
            with self.job.checkpoint.open("rb") as file:
                self.fit.resume(file)
        except CheckpointError as error:
            print(f"The checkpoint cannot be used, the training begins anew: {error}", file=sys.stderr)

    @property
    def is_done(self) -> bool:
        return self.fit.step >= self.job.parameters.steps

    def report(self) -> None:
        self.job.report({"step": self.fit.step, "steps": self.job.parameters.steps})

    def advance(self) -> None:
        loss = self.fit.advance()
        self.job.report({"step": self.fit.step, "steps": self.job.parameters.steps, "loss": loss})

    def save(self) -> None:
        self.job.save_checkpoint(self.fit.step, self.fit.save)

    def deliver(self) -> None:
        """Writes the results: the adapter, a preview made with it, and the losses."""
        parameters, unet = self.job.parameters, self.fit.unet
        tensors = adapter.to_kohya(unet, parameters.rank)
        self.job.save_output("model.safetensors", lambda file: adapter.save(tensors, self.base, parameters, file))
        unet.eval()
        latents = sample(self.base, unet, self.prompt, self.negative, generator(parameters.seed, "preview"))
        # room for the VAE
        unet.to("cpu")
        preview = decode(load_vae(self.base, self.device), latents)
        self.job.save_output("preview.png", lambda file: preview.save(file, "PNG"))
        losses = "".join(f"{step},{loss}\n" for step, loss in enumerate(self.fit.losses, 1))
        self.job.save_output("loss.csv", lambda file: file.write(f"step,loss\n{losses}".encode()))


def _device(name: str) -> tuple[torch.device, torch.dtype]:
    """The device, and the type of frozen weights on it."""
    if name == "cpu":
        return torch.device("cpu"), torch.float32
    if not torch.cuda.is_available():
        raise RuntimeError("There is no CUDA device.")
    return torch.device("cuda"), torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
