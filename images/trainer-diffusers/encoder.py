"""Embeddings of prompts and latents of pictures. Each is computed once; text encoders and VAE are freed then."""

from dataclasses import dataclass

import numpy as np
import torch
from diffusers import AutoencoderKL, DiffusionPipeline, StableDiffusionPipeline, StableDiffusionXLPipeline
from PIL import Image

from base import BaseModel, Kind

# read-only, by name: nothing is fetched, and no pickle is loaded, which would be code
LOCAL = {"local_files_only": True, "use_safetensors": True}


@dataclass(frozen=True)
class Embedding:
    """text: [1, tokens, features]. pooled: [1, features], of SDXL only."""

    text: torch.Tensor
    pooled: torch.Tensor | None


def pipeline_class(base: BaseModel) -> type[DiffusionPipeline]:
    return StableDiffusionXLPipeline if base.kind is Kind.SDXL else StableDiffusionPipeline


@torch.no_grad()
def embed(base: BaseModel, prompts: list[str], device: torch.device, dtype: torch.dtype) -> list[Embedding]:
    parts = {"unet": None, "vae": None}
    if base.kind is Kind.SD:
        parts |= {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    pipeline = pipeline_class(base).from_pretrained(base.folder, dtype=dtype, **parts, **LOCAL).to(device)
    embeddings = []
    for prompt in prompts:
        encoded = pipeline.encode_prompt(
            prompt, device=device, num_images_per_prompt=1, do_classifier_free_guidance=False)
        embeddings.append(Embedding(encoded[0], encoded[2] if base.kind is Kind.SDXL else None))
    return embeddings


def load_vae(base: BaseModel, device: torch.device) -> AutoencoderKL:
    """In float32: in half precision the VAE of SDXL overflows."""
    return AutoencoderKL.from_pretrained(base.folder, subfolder="vae", dtype=torch.float32, **LOCAL).to(device)


@torch.no_grad()
def encode(vae: AutoencoderKL, pixels: np.ndarray) -> torch.Tensor:
    """pixels: [3, height, width]. Returns scaled latents, [1, channels, height / 8, width / 8]: the mode, no sample."""
    batch = torch.from_numpy(pixels).unsqueeze(0).to(vae.device)
    return vae.encode(batch).latent_dist.mode() * vae.config.scaling_factor


@torch.no_grad()
def decode(vae: AutoencoderKL, latents: torch.Tensor) -> Image.Image:
    """latents: [1, channels, height, width], scaled."""
    pixels = vae.decode(latents.to(vae.device, vae.dtype) / vae.config.scaling_factor).sample[0]
    rgb = ((pixels.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    return Image.fromarray(rgb.permute(1, 2, 0).cpu().numpy())
