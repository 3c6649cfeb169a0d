"""Which sample comes when: shuffled anew in each epoch, and the same from any sample on."""

from collections.abc import Iterator

import torch
from torch.utils.data import Sampler

from rigwise.train.pictures.loader import epochs


class SampleOrder(Sampler[int]):
    """Endless indices of samples, as an uninterrupted training draws them from sample number `start` on.

        order = SampleOrder(len(dataset), seed=0, start=found.samples_seen if found else 0)
        loader = DataLoader(dataset, batch_size=32, sampler=order, generator=order.generator)

    The position is counted in samples, so that it holds for another batch size too; every epoch follows the one before
    without a gap. `generator` is for the loader: without one it draws from the training's own random numbers each time
    it is started, and a resumed training would go on with others. What worker processes draw is not resumed: let it
    depend on the index of the sample.

    >>> from itertools import islice
    >>> list(islice(SampleOrder(3, seed=1), 6)), list(islice(SampleOrder(3, seed=1, start=4), 2))
    ([2, 0, 1, 0, 1, 2], [1, 2])
    """

    def __init__(self, num_samples: int, *, seed: int = 0, start: int = 0) -> None:
        if num_samples < 1:
            raise ValueError("no samples to order")
        self.num_samples = num_samples
        self.seed = seed
        self.start = start
        self.generator = torch.Generator().manual_seed(seed + start)

    def __iter__(self) -> Iterator[int]:
        return (index for _, index in epochs(self.num_samples, self.seed, self.start))
