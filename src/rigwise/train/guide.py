"""What a guided experiment does on one kind of data, beside the trials that all kinds share."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from rigwise.telemetry.run_folder import RunFolder
from rigwise.train.full_trial import Trained
from rigwise.train.lab import Conditions, Lab

L = TypeVar("L", bound=Lab)


class Guide(ABC, Generic[L]):
    """Pictures have one, and so does each further kind of data."""

    @abstractmethod
    def facts(self) -> dict[str, object]:
        """What the run folder says of DATA and model, by field of `RunRecord`, before anything ran."""

    @abstractmethod
    def leave_ledger(self, folder: RunFolder) -> None:
        """Write which samples the run is made of, with their hashes, so that a repeat notices a change."""

    @abstractmethod
    def more_changed(self, count: int) -> str:
        """That so many more samples of a repeat are not what they were."""

    @abstractmethod
    def lab(self, shared: Conditions) -> L:
        """The experiment: what all kinds of data share, and this one's samples."""

    def look_first(self, lab: L) -> None:
        """What is asked about the data before anything is measured on it; nothing unless a kind has questions."""

    @abstractmethod
    def find_batch(self, lab: L) -> L:
        """The lab with the largest batch size that holds."""

    @abstractmethod
    def conclude(self, lab: L, chosen: Trained) -> None:
        """What the recommended model says of the samples held back, and the model itself, into the run folder."""
