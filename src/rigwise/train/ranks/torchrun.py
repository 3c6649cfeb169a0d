"""Whether someone's own torchrun started this process. No torch here."""

from collections.abc import Mapping

from rigwise.errors import BadInput
from rigwise.speech import say


def started_by_torchrun(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Rank and number of ranks, where torchrun started this process as one of several; else None.

    Raises:
        BadInput: its job goes over several machines.
    """
    try:
        rank, num_ranks, num_here = (int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    except (KeyError, ValueError):
        return None
    if num_ranks != num_here:
        raise BadInput(
            say("this torchrun job has {count} ranks, {here} of them on this machine", count=num_ranks, here=num_here),
            say("rigwise trains on one machine"),
            say("torchrun --standalone --nproc-per-node {here} -m rigwise train DATA", here=num_here),
        )
    return rank, num_ranks
