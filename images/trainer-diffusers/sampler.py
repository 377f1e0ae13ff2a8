"""Pictures of the UNet: the preview, and the class pictures of prior preservation."""

import torch
from diffusers import DDIMScheduler, UNet2DConditionModel

from base import BaseModel, Kind
from encoder import Embedding, pipeline_class

STEPS = 25
GUIDANCE = 7.0


def sample(
    base: BaseModel, unet: UNet2DConditionModel, prompt: Embedding, negative: Embedding, generator: torch.Generator
) -> torch.Tensor:
    """Returns scaled latents of one picture, [1, channels, height, width]. The generator is one of the CPU."""
    # the configuration may be of another class, without these two
    scheduler = DDIMScheduler.from_pretrained(
        base.folder, subfolder="scheduler", local_files_only=True, clip_sample=False, set_alpha_to_one=False)
    parts = {"vae": None, "text_encoder": None, "tokenizer": None, "unet": unet, "scheduler": scheduler}
    arguments = {"prompt_embeds": prompt.text, "negative_prompt_embeds": negative.text}
    if base.kind is Kind.SDXL:
        parts |= {"text_encoder_2": None, "tokenizer_2": None, "add_watermarker": False}
        arguments |= {"pooled_prompt_embeds": prompt.pooled, "negative_pooled_prompt_embeds": negative.pooled}
    else:
        parts |= {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    pipeline = pipeline_class(base)(**parts)
    pipeline.set_progress_bar_config(disable=True)
    size = {"height": base.resolution, "width": base.resolution}
    edge = unet.config.sample_size
    noise = torch.randn(1, unet.config.in_channels, edge, edge, generator=generator).to(unet.device, unet.dtype)
    return pipeline(**arguments, **size, latents=noise, num_inference_steps=STEPS, guidance_scale=GUIDANCE,
                    output_type="latent").images
