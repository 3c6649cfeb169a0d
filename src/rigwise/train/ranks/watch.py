"""Which rank hangs: the one that has not reached what the others have, for longer than it may take. Pure.

Ranks wait for each other in every step, so that a hung one stops them all. What tells it apart is that the others are
further: they have passed more places, or wait at the same place where it does not. It may take as much longer as they
took for the last part, and 15 s.
"""

from collections.abc import Mapping, Sequence

import msgspec

HUNG_SECONDS = 15.0
"""Our choice: a job must end within 30 s of a hang, and ending it takes up to 5. A loader that waits for a cold network
disk recovers within that; NCCL's own limit is 10 minutes."""
STALL_SECONDS = 300.0
"""Our choice, for a place where all ranks stand alike: a first step may compile for minutes."""
STALL_RATIO = 20.0
"""Our choice: and twenty times the longest part so far."""


class Beat(msgspec.Struct, frozen=True):
    """What a rank says of itself, again and again."""

    passed: int
    """Places passed; each rank passes the same ones."""
    signs: int
    """Signs of life; rises between places too."""
    place: str
    """What it does now, in words."""
    last_seconds: float
    """What the part before took."""
    pid: int
    host: str
    waits: bool = False
    """Whether it is in a collective or a backward pass now: there it may wait for the others."""
    alone: bool = False
    """Whether it does what the others do not, such as saving, and may take long."""
    ended: bool = False
    """Whether it has left on its own account; nobody waits for it, and it waits for nobody."""

    @property
    def progress(self) -> int:
        """How far it is: two for each place passed, one for waiting there."""
        return 2 * self.passed + self.waits


class Hang(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that does not go on."""

    rank: int
    place: str
    """Where it stands; "" where it never arrived."""
    seconds: float
    """For how long others have waited for it."""
    all_stand: bool = False
    """Whether every rank stands there: then any of them may be the cause."""


class Watch:
    """Looks at the beats of all ranks, and finds the one that hangs."""

    def __init__(self, num_ranks: int, limit_seconds: float = HUNG_SECONDS) -> None:
        self._num_ranks = num_ranks
        self._limit_seconds = limit_seconds
        self._seen: dict[int, tuple[int, int]] = {}
        self._moved: dict[int, float] = {}
        """Rank -> when it was last seen to move."""
        self._behind: dict[int, float] = {}
        """Rank -> since when others are further and it has not moved."""
        self._longest_seconds = 0.0

    def see(self, beats: Mapping[int, Beat], now: float) -> Hang | None:
        """The rank that hangs, if one does.

        Args:
            beats: rank -> its last beat; a rank that has not begun has none.
            now: seconds, of any clock that only rises.
        """
        at_work = [rank for rank in range(self._num_ranks) if rank not in beats or not beats[rank].ended]
        progress = {rank: beats[rank].progress if rank in beats else -1 for rank in at_work}
        if not progress:
            return None
        furthest = max(progress.values())
        self._longest_seconds = max([self._longest_seconds, *(beat.last_seconds for beat in beats.values())])
        for rank in at_work:
            self._note(rank, beats.get(rank), now, is_behind=progress[rank] < furthest)
        ahead = [beats[rank] for rank in at_work if rank in beats and progress[rank] == furthest]
        limit_seconds = self._limit_seconds + max((beat.last_seconds for beat in ahead), default=0.0)
        return self._behind_too_long(beats, now, limit_seconds) or self._all_stand(beats, at_work, now)

    def _note(self, rank: int, beat: Beat | None, now: float, *, is_behind: bool) -> None:
        seen = (beat.passed, beat.signs) if beat else (-1, 0)
        has_moved = self._seen.get(rank) != seen
        self._seen[rank] = seen
        if has_moved:
            self._moved[rank] = now
        if not is_behind:
            self._behind.pop(rank, None)
        elif has_moved or rank not in self._behind:
            self._behind[rank] = now

    def _behind_too_long(self, beats: Mapping[int, Beat], now: float, limit_seconds: float) -> Hang | None:
        limits = {
            rank: STALL_SECONDS if rank in beats and beats[rank].alone else limit_seconds for rank in self._behind
        }
        late = [rank for rank, since in self._behind.items() if now - since > limits[rank]]
        if not late:
            return None
        rank = min(late, key=lambda each: beats[each].progress if each in beats else -1)
        place = beats[rank].place if rank in beats else ""
        return Hang(rank=rank, place=place, seconds=now - self._behind[rank])

    def _all_stand(self, beats: Mapping[int, Beat], at_work: Sequence[int], now: float) -> Hang | None:
        still_seconds = now - max(self._moved[rank] for rank in at_work)
        if self._behind or still_seconds <= max(STALL_SECONDS, STALL_RATIO * self._longest_seconds):
            return None
        first = at_work[0]
        return Hang(
            rank=first, place=beats[first].place if first in beats else "", seconds=still_seconds, all_stand=True
        )
