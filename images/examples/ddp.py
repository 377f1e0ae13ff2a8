"""DistributedDataParallel under the contract of command engines (docs/JOBS.md): one process for each worker of a gang.

All ranks read the checkpoint; rank 0 writes checkpoints, progress and results.
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STOPPED = 75
BATCH = 16


def report(folder: Path, line: dict[str, int | float]) -> None:
    with (folder / "progress").open("a") as progress:
        progress.write(json.dumps(line) + "\n")


def save(folder: Path, state: dict) -> None:
    """Replaces the checkpoint as a whole, and then reports it."""
    aside = folder / "checkpoint.part"
    with aside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(folder / "checkpoint")
    report(folder, {"checkpoint": state["step"]})


def batch(step: int, rank: int, world: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """The part of a rank in the batch of a step, which depends on the step only: so a resumed job sees the same data."""
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, 8, generator=generator)[rank::world].to(device)
    return inputs, inputs.sum(dim=1, keepdim=True).sin()


def main() -> int:
    folder = Path(os.environ["ATELIER_JOB_DIR"])
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    arguments = json.loads((folder / "input.json").read_text())["parameters"]["arguments"]
    steps, every = int(arguments["steps"]), int(arguments.get("checkpoint_every", 100))
    if steps < 1 or every < 1 or BATCH % world:
        print(f"steps and checkpoint_every must be positive, and the number of workers divide {BATCH}", file=sys.stderr)
        return 2

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo", init_method="env://")

    torch.manual_seed(int(arguments.get("seed", 0)))
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    step = 0
    if (folder / "checkpoint").exists():
        saved = torch.load(folder / "checkpoint", map_location=device, weights_only=True)
        net.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    model = DistributedDataParallel(net) if world > 1 else net

    told = False

    def tell(*_: object) -> None:
        nonlocal told
        told = True

    signal.signal(signal.SIGTERM, tell)

    def state() -> dict:
        return {"step": step, "model": net.state_dict(), "optimizer": optimizer.state_dict()}

    def all_leave() -> bool:
        """Ranks are told at different times: all leave after the same step, or some would wait for the others."""
        if world == 1:
            return told
        votes = torch.tensor(int(told), device=device)
        dist.all_reduce(votes, op=dist.ReduceOp.MAX)
        return bool(votes.item())

    while step < steps:
        if all_leave():
            if rank == 0:
                save(folder, state())
            return STOPPED
        inputs, targets = batch(step, rank, world, device)
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0:
            report(folder, {"step": step, "steps": steps, "loss": loss.item()})
            if step % every == 0:
                save(folder, state())

    if rank == 0:
        (folder / "outputs").mkdir(exist_ok=True)
        torch.save(net.state_dict(), folder / "outputs" / "model.pt")
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
