"""The adapter: LoRA on the attention projections of the UNet, and its file."""

from typing import BinaryIO

import safetensors.torch
import torch
from diffusers import UNet2DConditionModel
from diffusers.training_utils import cast_training_params
from peft import LoraConfig

from base import BaseModel, Kind
from job import Parameters

TARGETS = ["to_q", "to_k", "to_v", "to_out.0"]
VERSIONS = {Kind.SD: "sd_v1", Kind.SDXL: "sdxl_base_v1-0"}


def add(unet: UNet2DConditionModel, rank: int, seed: int) -> None:
    """Adds an adapter that changes nothing yet, in float32, and freezes all other weights.

    The UNet is on the CPU, so the weights are the same for all devices.
    """
    unet.requires_grad_(False)
    torch.manual_seed(seed)
    unet.add_adapter(LoraConfig(r=rank, lora_alpha=rank, init_lora_weights="gaussian", target_modules=TARGETS))
    cast_training_params(unet, torch.float32)


def weights(unet: UNet2DConditionModel) -> dict[str, torch.nn.Parameter]:
    """By names as `down_blocks.0.….to_q.lora_A.default.weight`. lora_A is [rank, inputs], lora_B [outputs, rank]."""
    return {name: weight for name, weight in unet.named_parameters() if weight.requires_grad}


def to_kohya(unet: UNet2DConditionModel, rank: int) -> dict[str, torch.Tensor]:
    """The weights in float16, by the names of kohya's scripts: `lora_unet_down_blocks_0_…_to_q.lora_down.weight`."""
    tensors = {}
    for name, weight in weights(unet).items():
        module, part, _, _ = name.rsplit(".", 3)
        module = "lora_unet_" + module.replace(".", "_")
        part = {"lora_A": "lora_down", "lora_B": "lora_up"}[part]
        tensors[f"{module}.{part}.weight"] = weight.detach().to("cpu", torch.float16).contiguous()
        tensors[f"{module}.alpha"] = torch.tensor(float(rank), dtype=torch.float16)
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise ArithmeticError("The training has diverged: the adapter has values that are not finite.")
    return tensors


def save(tensors: dict[str, torch.Tensor], base: BaseModel, parameters: Parameters, file: BinaryIO) -> None:
    metadata = {
        "ss_base_model_version": VERSIONS[base.kind],
        "ss_network_module": "networks.lora",
        "ss_network_dim": str(parameters.rank),
        "ss_network_alpha": str(float(parameters.rank)),
        "base_model": base.name,
        "theme": parameters.theme,
        "token": parameters.token,
        "steps": str(parameters.steps),
    }
    file.write(safetensors.torch.save(tensors, metadata))
