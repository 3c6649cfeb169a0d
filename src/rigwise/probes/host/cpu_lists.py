"""Lists of CPUs as the kernel writes them."""

import re

SPAN = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def cpu_numbers(text: str) -> frozenset[int]:
    r"""The CPUs in a list of ranges.

    >>> sorted(cpu_numbers("0-2,8\n"))
    [0, 1, 2, 8]
    """
    found: set[int] = set()
    for span in text.strip().split(","):
        match = SPAN.fullmatch(span.strip())
        if match is None:
            raise ValueError(text)
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)
