"""Base models with random weights, as small as their classes allow: nothing is downloaded."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from settings import OFFLINE

os.environ.update(OFFLINE)

import torch
from diffusers import (AutoencoderKL, DDIMScheduler, EulerDiscreteScheduler, StableDiffusionPipeline,
                       StableDiffusionXLPipeline, UNet2DConditionModel)
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

from worker import LIMIT, folder_of, log, start

torch.set_num_threads(1)
FEATURES = 32
# sample_size 32 and a VAE that halves once: pictures of 64 pixels
EDGE = 32
BETAS = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    tokenizer = _tokenizer(folder / "tokenizer")
    StableDiffusionPipeline(
        vae=_vae(), text_encoder=CLIPTextModel(_text(tokenizer)).eval(), tokenizer=tokenizer, unet=_unet(),
        scheduler=DDIMScheduler(**BETAS, clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ).save_pretrained(folder / "tiny-sd")
    StableDiffusionXLPipeline(
        vae=_vae(), text_encoder=CLIPTextModel(_text(tokenizer)).eval(), tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(_text(tokenizer)).eval(), tokenizer_2=tokenizer,
        scheduler=EulerDiscreteScheduler(**BETAS, timestep_spacing="leading"),
        unet=_unet(cross_attention_dim=2 * FEATURES, addition_embed_type="text_time", addition_time_embed_dim=8,
                   projection_class_embeddings_input_dim=6 * 8 + FEATURES, transformer_layers_per_block=(1, 2)),
    ).save_pretrained(folder / "tiny-sdxl")
    (folder / "not-a-pipeline").mkdir()
    other = folder / "flux"
    other.mkdir()
    (other / "model_index.json").write_text(json.dumps({"_class_name": "FluxPipeline"}))
    return folder


@pytest.fixture(scope="session")
def trainings(models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of a training without interruption, by base model."""
    folder = tmp_path_factory.mktemp("trainings")
    jobs = {name: folder_of(folder / name, base_model=name) for name in ["tiny-sd", "tiny-sdxl"]}
    processes = {name: start(job, models, TRAINER_CHECKPOINT_STEPS="25") for name, job in jobs.items()}
    for name, process in processes.items():
        assert process.wait(timeout=LIMIT) == 0, log(jobs[name])
    return jobs


def _tokenizer(folder: Path) -> CLIPTokenizer:
    """Letters only: words are spelled."""
    folder.mkdir()
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 77}))
    return CLIPTokenizer.from_pretrained(folder)


def _text(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    return CLIPTextConfig(
        vocab_size=len(tokenizer), hidden_size=FEATURES, intermediate_size=37, num_hidden_layers=2,
        num_attention_heads=4, projection_dim=FEATURES, max_position_embeddings=77, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)


def _vae() -> AutoencoderKL:
    return AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=8, latent_channels=4, sample_size=2 * EDGE,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2).eval()


def _unet(cross_attention_dim: int = FEATURES, **others: object) -> UNet2DConditionModel:
    return UNet2DConditionModel(
        block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1, sample_size=EDGE,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4, cross_attention_dim=cross_attention_dim, **others).eval()
