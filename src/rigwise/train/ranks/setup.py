"""How many ranks a run has and what they run on; refused before anything is started where that cannot work."""

from collections.abc import Callable
from typing import Any

import msgspec
import torch

from rigwise.errors import BadInput
from rigwise.speech import say
from rigwise.train.ranks.rank import Backend
from rigwise.train.ranks.trial import device_of
from rigwise.train.recipe_sections import Recipe
from rigwise.train.step.device import CudaDevice
from rigwise.train.step.plan import SMALLEST_BATCH


class RanksSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of a run."""

    num_ranks: int
    backend: Backend
    uuids: tuple[str, ...] = ()
    """Of their GPUs, as NVML names them."""
    make_device: Callable[[Any], Any] = device_of


def ranks_setup(asked: int, recipe: Recipe | None = None) -> RanksSetup:
    """The ranks that were asked for: 0 means one for each usable GPU.

    Raises:
        BadInput: more ranks than GPUs, none for the CPU, or a batch that leaves a rank fewer than two samples.
    """
    num_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == 0 and num_gpus == 0:
        raise BadInput(
            say("--ranks 0 means one rank for each GPU, and PyTorch sees no GPU"),
            say("ranks share the CPU only where that is asked for"),
            say("rigwise check; or, on the CPU: rigwise train DATA --ranks 2"),
        )
    if num_gpus and asked > num_gpus:
        raise BadInput(
            say("{asked} ranks need as many GPUs, and PyTorch sees {count}", asked=asked, count=num_gpus),
            say("two ranks on one GPU take turns, and NCCL refuses them"),
            say("--ranks {count}; or, where a GPU is missing: rigwise check", count=num_gpus),
        )
    num_ranks = asked or num_gpus
    if recipe is not None:
        _refuse_unfit(recipe, num_ranks)
    uuids = tuple(CudaDevice(number).uuid for number in range(num_ranks if num_gpus else 0))
    return RanksSetup(num_ranks=num_ranks, backend="nccl" if num_gpus else "gloo", uuids=uuids)


def _refuse_unfit(recipe: Recipe, num_ranks: int) -> None:
    batch_size = recipe.training.batch_size
    if batch_size < SMALLEST_BATCH * num_ranks:
        raise BadInput(
            say("a batch of {batch} is too small for {ranks} ranks", batch=batch_size, ranks=num_ranks),
            say(
                "the batch is that of all ranks together, and each needs at least {fewest} samples",
                fewest=SMALLEST_BATCH,
            ),
            say("training.batch_size = {batch} in a recipe, or fewer ranks", batch=SMALLEST_BATCH * num_ranks),
        )
    if recipe.knobs.optimizer_in_backward:
        raise BadInput(
            say("knobs.optimizer_in_backward cannot be combined with --ranks"),
            say("it updates each weight before the other ranks' gradients have arrived"),
            say("switch it off in the recipe, or leave out --ranks"),
        )
