"""Which part of a long text is shown as the words something was recognised by."""

MAX_QUOTED = 700
"""Characters; PyTorch's out-of-memory text has about 600."""
BEFORE = 120
"""Characters shown of a long line before what was recognised."""


def quoted(text: str, start: int, end: int) -> str:
    r"""The lines that hold `text[start:end]`, and no more than a screen can show of them.

    >>> quoted("step 1\nError: no kernel image\nstep 2", 14, 23)
    'Error: no kernel image'
    """
    first = max(text.rfind("\n", 0, start) + 1, start - BEFORE)
    line_end = text.find("\n", end)
    return text[first : min(len(text) if line_end < 0 else line_end, first + MAX_QUOTED)].strip()
