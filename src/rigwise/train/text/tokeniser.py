"""Text to numbers and back: bytes, built in, or the tokeniser of a local Hugging Face folder."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rigwise.errors import BadInput
from rigwise.speech import say

Tokens = npt.NDArray[Any]
"""`(T,)` uint16 or uint32"""

BYTES = "bytes"
END_OF_TEXT = 256
"""The byte tokeniser's one special token: it begins and ends a document."""
MOST_FOR_UINT16 = 2**16


class Tokeniser(Protocol):
    """What a model's vocabulary is."""

    @property
    def name(self) -> str:
        """In words."""

    @property
    def fingerprint(self) -> str:
        """Of everything that decides which tokens a text becomes."""

    @property
    def vocabulary_size(self) -> int:
        """Tokens there are, special ones included."""

    @property
    def start(self) -> int:
        """The token before a document."""

    @property
    def end(self) -> int:
        """The token after one."""

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, without special ones."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of some tokens; what is no whole character becomes a mark."""


def token_type(tokeniser: Tokeniser) -> "npt.DTypeLike":
    """The smallest unsigned type that holds its tokens."""
    return np.uint16 if tokeniser.vocabulary_size <= MOST_FOR_UINT16 else np.uint32


class ByteTokeniser:
    """Each byte of the UTF-8 text is a token; needs nothing and knows every language."""

    name = "bytes of UTF-8"
    fingerprint = "bytes/1"
    vocabulary_size = 257
    start = end = END_OF_TEXT

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The bytes of each text."""
        return [np.frombuffer(text.encode(), np.uint8).astype(np.uint16) for text in texts]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these bytes; special tokens are left out."""
        return bytes(token for token in tokens if token < END_OF_TEXT).decode("utf-8", "replace")


class FolderTokeniser:
    """The tokeniser in a local Hugging Face folder."""

    def __init__(self, folder: Path, tokeniser: Any) -> None:
        self.name = say("tokeniser of {folder}", folder=folder)
        self._inner = tokeniser
        self.vocabulary_size = len(tokeniser)
        self.end = int(tokeniser.eos_token_id)
        self.start = self.end if tokeniser.bos_token_id is None else int(tokeniser.bos_token_id)
        self.fingerprint = sha256(tokeniser.backend_tokenizer.to_str().encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, several texts at a time in its own threads."""
        found = self._inner(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [np.array(tokens, np.uint32) for tokens in found]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens; special ones are left out."""
        return str(self._inner.decode(list(tokens), skip_special_tokens=True))


def find_tokeniser(name: str) -> Tokeniser:
    """The tokeniser a recipe names: `bytes`, or that of a local folder.

    Raises:
        BadInput: there is none in the folder, it has no end-of-text token, or the `text` extra is missing.
    """
    if name == BYTES:
        return ByteTokeniser()
    from rigwise.train.text.foreign import load_tokeniser

    folder = Path(name).expanduser()
    tokeniser = load_tokeniser(folder)
    if tokeniser.eos_token_id is None:
        raise BadInput(
            say("the tokeniser of {folder} has no end-of-text token", folder=folder),
            say("documents could not be told apart"),
            say("set eos_token in its tokenizer_config.json, or take tokeniser = {bytes}", bytes='"bytes"'),
        )
    return FolderTokeniser(folder, tokeniser)
