"""Lines that a terminal broke inside words, whole again."""

from collections.abc import Iterator, Sequence

NARROWEST, WIDEST = 60, 250
"""Columns of a terminal."""
FEWEST_BREAKS = 3
"""Our choice: so many lines of the very same, greatest length, each ending in the middle of a word, are no chance."""
MOST_OF_THEM = 0.8
"""Our choice: in a table or a log nearly no line of that length goes on in the next."""
SAME_BEGINNING = 2
"""Characters; two lines that begin alike are two lines of a log, not one that was broken."""
MOST_FULL = 0.75
"""Our choice: where nearly every line has that length, the program chose it, not the terminal."""
_MAY_END = frozenset("_.,:;()'\"/[]")


def unbroken(text: str) -> str:
    r"""The text with the lines joined that end where the terminal ended, inside a word; a text without such as it is.

    >>> wide = "(EngineCore pid=316) ValueError: one request with this model's length needs KV cac"
    >>> unbroken(f"{wide}\nhe\n{wide}\nhe\n{wide}\nhe\n").splitlines()[0][-14:]
    'needs KV cache'
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    if not NARROWEST <= width <= WIDEST:
        return text
    full = [place for place, line in enumerate(lines[:-1]) if len(line) == width]
    broken = [place for place in full if _goes_on(lines[place], lines[place + 1])]
    inside_words = [place for place in broken if lines[place][-1].isalpha() and lines[place + 1][0].islower()]
    if len(inside_words) < FEWEST_BREAKS or not MOST_OF_THEM * len(full) <= len(broken) <= MOST_FULL * len(lines):
        return text
    return "".join(_joined(lines, frozenset(broken)))


def _goes_on(line: str, following: str) -> bool:
    """Whether a line of full length ends inside a word that the next one ends."""
    if not following or following[0].isspace() or following[:SAME_BEGINNING] == line[:SAME_BEGINNING]:
        return False
    return (line[-1].isalnum() or line[-1] in _MAY_END) and any(character.isalpha() for character in line)


def _joined(lines: Sequence[str], broken: frozenset[int]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield line
        if place not in broken and place < len(lines) - 1:
            yield "\n"
