"""For data of any kind: every rank makes whole batches and takes its rows, and scores whole splits.

Right wherever batches are the same in every process; wasteful only where making them costs more than using them.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from rigwise.train.ranks.rows import Rows
from rigwise.train.step.device import Device
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, TrialInputs


class WholeMaterial(msgspec.Struct, frozen=True):
    """Inputs that know nothing of ranks, for several ranks."""

    build: Callable[[int, Device], TrialInputs]
    """Batch size and device to the inputs of one process; importable in another one."""

    def inputs_of(self, rows: Rows, batch_size: int, device: Device) -> TrialInputs:
        """The rank's rows of every batch; all of the splits."""
        whole = self.build(batch_size, device)

        def own(num_steps: int, first: int) -> Iterator[Batch]:
            for batch in whole.train_batches(num_steps, first):
                yield [tensor[rows.of(len(tensor))] for tensor in batch]

        return msgspec.structs.replace(whole, train_batches=own)

    def joined(self, shares: Sequence[Scored]) -> Scored:
        """Each rank scored everything: those of the first."""
        return shares[0]
