"""Which rows of a batch, or samples of a split, are whose."""

import msgspec


class Rows(msgspec.Struct, frozen=True):
    """The share of one rank in every batch: consecutive rows, as equal in number as they can be.

    >>> [Rows(rank, 3).of(8) for rank in range(3)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None)]
    """

    rank: int
    num_ranks: int

    def of(self, num_samples: int) -> slice:
        """Which rows of a batch of so many samples."""
        fewest, larger = divmod(num_samples, self.num_ranks)
        start = self.rank * fewest + min(self.rank, larger)
        return slice(start, start + fewest + (self.rank < larger))

    def most(self, num_samples: int) -> int:
        """How many rows the rank with the most of them has."""
        return -(-num_samples // self.num_ranks)

    def count(self, num_samples: int) -> int:
        """How many rows those are."""
        rows = self.of(num_samples)
        return int(rows.stop - rows.start)


ONE_RANK = Rows(0, 1)
"""The only rank of a job of one: every row is its own."""
