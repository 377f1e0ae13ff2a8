"""Trains an adapter of Stable Diffusion with a few pictures: the program of `dreambooth.train` (docs/JOBS.md).

Heavy modules are imported when they are needed: SIGTERM is handled, and the inputs are checked, before torch is there.
"""

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import base
import dataset
from job import DONE, FAILED, INVALID, STOPPED, InputError, Job, Termination
from settings import OFFLINE, Settings

if TYPE_CHECKING:
    from training import Training


def main() -> int:
    os.environ.update(OFFLINE)
    termination = Termination()
    try:
        return run(Job.read(Path(os.environ["ATELIER_JOB_DIR"])), Settings.read(), termination)
    except InputError as error:
        print(error, file=sys.stderr)
        return INVALID
    except Exception as error:
        print(last_words(error), file=sys.stderr)
        return FAILED


def run(job: Job, settings: Settings, termination: Termination) -> int:
    model = base.find(settings, job.parameters.base_model)
    pictures = [dataset.read(path, model.resolution) for path in job.uploads]

    from training import Training

    training = Training(job, settings, model, pictures)
    termination.deferred = True
    train(training, settings.checkpoint_steps, termination)
    termination.deferred = False
    if termination.requested:
        return STOPPED
    # a SIGTERM from here on loses nothing: the checkpoint has all steps
    training.deliver()
    return DONE


def train(training: "Training", every: int, termination: Termination) -> None:
    """Does the steps that are left, or those until SIGTERM comes. The checkpoint has them all at the end."""
    training.report()
    saved = None
    while not training.is_done and not termination.requested:
        training.advance()
        if training.fit.step % every == 0:
            training.save()
            saved = training.fit.step
    if saved != training.fit.step:
        training.save()


def last_words(error: Exception) -> str:
    """What the log ends with: the end of it is shown to the user."""
    if is_out_of_memory(error):
        return "The GPU has not enough free memory for this training."
    traceback.print_exception(error)
    return f"The training failed: {error}"


def is_out_of_memory(error: Exception) -> bool:
    """PyTorch's allocator raises OutOfMemoryError. What CUDA refuses outside it, a context say, is an AcceleratorError."""
    torch = sys.modules.get("torch")
    if not torch:
        return False
    refused = isinstance(error, torch.AcceleratorError) and "CUDA error: out of memory" in str(error)
    return refused or isinstance(error, torch.OutOfMemoryError)


if __name__ == "__main__":
    sys.exit(main())
