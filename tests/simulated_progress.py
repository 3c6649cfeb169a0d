"""A screen of which only the sentences are kept."""

from rigwise.train.progress import Silent


class Told(Silent):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def tell(self, sentence: str) -> None:
        self.sentences.append(sentence)
