"""How a long job tells that it is alive; the command line shows it as a bar."""

from typing import Protocol


class Progress(Protocol):
    """One thing at a time is under way."""

    def begin(self, label: str, total: int | None) -> None:
        """Something of `total` parts starts (None: unknown); it replaces what was under way."""

    def advance(self) -> None:
        """One more part is done."""

    def update(self, done: int, total: int) -> None:
        """`done` of `total` parts are done."""

    def end(self) -> None:
        """Nothing is under way."""

    def tell(self, sentence: str) -> None:
        """A sentence worth keeping on the screen."""


class Silent:
    """Shows nothing; for library use."""

    def begin(self, label: str, total: int | None) -> None:
        """Ignore."""

    def advance(self) -> None:
        """Ignore."""

    def update(self, done: int, total: int) -> None:
        """Ignore."""

    def end(self) -> None:
        """Ignore."""

    def tell(self, sentence: str) -> None:
        """Ignore."""
