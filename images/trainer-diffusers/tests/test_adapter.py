"""What a training makes: that it learns, and that its file is one of kohya's format, which diffusers loads."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers import DDPMScheduler, StableDiffusionPipeline, StableDiffusionXLPipeline
from PIL import Image
from safetensors import safe_open

import dataset
from encoder import encode
from worker import STEPS, folder_of, log, picture, run

PIPELINES = {"tiny-sd": StableDiffusionPipeline, "tiny-sdxl": StableDiffusionXLPipeline}


@pytest.fixture(params=PIPELINES)
def trained(request: pytest.FixtureRequest, trainings: dict[str, Path]) -> tuple[str, Path]:
    """A base model, and the folder of a training with it."""
    return request.param, trainings[request.param]


@pytest.fixture
def pipeline(trained: tuple[str, Path], models: Path) -> StableDiffusionPipeline | StableDiffusionXLPipeline:
    """The base model with the adapter."""
    name, job = trained
    loaded = PIPELINES[name].from_pretrained(models / name, local_files_only=True)
    loaded.load_lora_weights(job / "outputs", weight_name="model.safetensors", adapter_name="rex")
    return loaded


def outputs(pipeline: StableDiffusionPipeline | StableDiffusionXLPipeline, batch: torch.Tensor, timesteps: torch.Tensor
            ) -> torch.Tensor:
    """What the UNet predicts under the prompt of the training."""
    encoded = pipeline.encode_prompt("a photo of sks dog", device="cpu", num_images_per_prompt=1,
                                     do_classifier_free_guidance=False)
    arguments = {"encoder_hidden_states": encoded[0].expand(len(batch), -1, -1)}
    if isinstance(pipeline, StableDiffusionXLPipeline):
        time_ids = torch.tensor([[96, 128, 0, 11, 64, 64]]).expand(len(batch), -1)
        arguments["added_cond_kwargs"] = {"text_embeds": encoded[2].expand(len(batch), -1), "time_ids": time_ids}
    with torch.no_grad():
        return pipeline.unet(batch, timesteps, **arguments).sample


def loss(pipeline: StableDiffusionPipeline | StableDiffusionXLPipeline, job: Path) -> float:
    """The mean over the pictures with noise that is always the same."""
    scheduler = DDPMScheduler.from_config(pipeline.scheduler.config)
    pictures = [dataset.read(path, 64).pixels for path in sorted((job / "inputs").iterdir())]
    latents = torch.cat([encode(pipeline.vae, pixels) for pixels in pictures]).repeat(16, 1, 1, 1)
    draw = torch.Generator().manual_seed(1)
    noise = torch.randn(latents.shape, generator=draw)
    timesteps = torch.randint(1000, (len(latents),), generator=draw)
    predicted = outputs(pipeline, scheduler.add_noise(latents, noise, timesteps), timesteps)
    return (predicted - noise).square().mean().item()


def test_the_loss_falls(pipeline: StableDiffusionPipeline, trained: tuple[str, Path]) -> None:
    with_adapter = loss(pipeline, trained[1])
    pipeline.disable_lora()
    without = loss(pipeline, trained[1])
    assert with_adapter < 0.95 * without, f"from {without} to {with_adapter}"


def test_the_weight_0_changes_nothing(pipeline: StableDiffusionPipeline) -> None:
    batch, timesteps = torch.randn(2, 4, 32, 32, generator=torch.Generator().manual_seed(2)), torch.tensor([400, 800])
    with_adapter = outputs(pipeline, batch, timesteps)
    pipeline.set_adapters(["rex"], [0.0])
    weight_0 = outputs(pipeline, batch, timesteps)
    pipeline.unload_lora_weights()
    without = outputs(pipeline, batch, timesteps)
    assert torch.equal(weight_0, without)
    assert (with_adapter - without).abs().max() > 0.01


def test_names_and_shapes_are_kohya_s(trained: tuple[str, Path], models: Path) -> None:
    name, job = trained
    unet = PIPELINES[name].from_pretrained(models / name, local_files_only=True).unet
    attention = {"lora_unet_" + path.replace(".", "_"): module for path, module in unet.named_modules()
                 if re.search(r"\.attn[12]\.to_(q|k|v|out\.0)$", path)}
    assert len(attention) == {"tiny-sd": 8 * 4, "tiny-sdxl": 8 * 8}[name]
    with safe_open(job / "outputs" / "model.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}
        metadata = file.metadata()
    parts = ["lora_down.weight", "lora_up.weight", "alpha"]
    assert tensors.keys() == {f"{module}.{part}" for module in attention for part in parts}
    for path, module in attention.items():
        assert tensors[f"{path}.lora_down.weight"].shape == (4, module.in_features)
        assert tensors[f"{path}.lora_up.weight"].shape == (module.out_features, 4)
        assert tensors[f"{path}.alpha"].item() == 4
    version = {"tiny-sd": "sd_v1", "tiny-sdxl": "sdxl_base_v1-0"}[name]
    assert metadata == {
        "ss_base_model_version": version, "ss_network_module": "networks.lora", "ss_network_dim": "4",
        "ss_network_alpha": "4.0", "base_model": name, "theme": "dog", "token": "sks", "steps": str(STEPS)}


def test_class_pictures_change_what_is_learnt(tmp_path: Path, models: Path) -> None:
    without, prior = (folder_of(tmp_path / name, steps=3) for name in ["without", "prior"])
    assert run(without, models) == 0, log(without)
    assert run(prior, models, TRAINER_PRIOR_PICTURES="2") == 0, log(prior)
    one, other = (torch.load(job / "checkpoint", weights_only=True) for job in [without, prior])
    assert other["losses"][0] > one["losses"][0]
    assert any(not torch.equal(tensor, other["adapter"][name]) for name, tensor in one["adapter"].items())


def test_pictures_are_turned_and_cropped(tmp_path: Path) -> None:
    """Red, green and blue thirds of a landscape, stored upright with the orientation that turns it."""
    pixels = np.repeat(np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], dtype=np.uint8), 100, axis=0)[None]
    stored = Image.fromarray(np.repeat(pixels, 100, axis=0)).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    stored.save(tmp_path / "turned.png", exif=exif)
    read = dataset.read(tmp_path / "turned.png", 64)
    assert stored.size == (100, 300) and read.time_ids == (100, 300, 0, 64, 64, 64)
    np.testing.assert_allclose(read.pixels[:, 32, 32], [-1, 1, -1], atol=0.01)
    assert read.pixels.shape == (3, 64, 64)


def test_transparency_is_white(tmp_path: Path) -> None:
    image = picture(1).convert("RGBA")
    image.putalpha(0)
    image.save(tmp_path / "clear.png")
    assert (dataset.read(tmp_path / "clear.png", 64).pixels == 1).all()
