"""Whether an error text stands in the source code of a program, as tests and tracebacks show it, and was not printed."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MOST_CHARACTERS = 20_000
"""Of one string of several lines."""
_LINE = re.compile(
    r"""[ \t]*[+-]?[ \t]*(?:
        [rfb]?(?:"[^"\\\n]*"|'[^'\\\n]*'),?[ ]*(?:\#[^\n]*)?$                          # a lone string
      | (?:raise|assert|if|elif|return|except|print|logg(?:er|ing)\.\w+|warnings\.warn)\b[^\n]*["'(]
      | //[^\n]*                                                                       # a comment
      | (?:[\w.\[\]]{1,60}[ \t]*(?::[ \t]|=)[ \t]*|["'][^"'\n]{1,60}["'][ ]=>[ ]|case[ ])
        [&rfbuL]{0,2}["'`][^\n]*["'`][)\]}]{0,4}[,;][ \t]*(?:(?://|\#)[^\n]*)?$        # a field and its string
      | (?:(?:const|let|var|val|auto|static|final|char|String|string|local|export)[ ][^=\n"]{1,60}|[\w.]{1,60})
        [ ]:?=[ ][rfbuL]{0,2}["'`]
      | (?:\$[ ])?(?:[^\n"']{0,60}\|[ ])?(?:sudo[ ])?(?:e?grep|rg|sed|awk|echo|printf|logger)[ ][^\n"']{0,60}["']
    )""",
    re.VERBOSE | re.MULTILINE,
)
_CALL = re.compile(r"""(?P<name>\w+)\((?:[^()"'`\n]{0,80},[ ]?)?[rfbu]{0,2}["'`]""")
"""A call with a string; that of an error is how Python and Rust print one."""
_PRINTED = re.compile(r"(?:Error|Exception|Err|Status|Some|Io|panic|Signal)$")
_OF_A_LOG = re.compile(
    r"[ \t]*(?:desc|err|error|msg|message|reason|detail|cause|stderr|output|exception)\b[^,;\n]*$", re.IGNORECASE
)
"""`error = "..."` is a line of a log, unless it ends as a line of a program does."""
_BLOCK = re.compile(
    rf"""(?:[=(:,\[]|\breturn)[ \t]*[rfbuRFBU]{{0,2}}(?P<quotes>\"\"\"|''')[\s\S]{{0,{MOST_CHARACTERS}}}?(?P=quotes)
    |(?::=|=|\(|^\t+\w+:)[ \t]*`(?!`)[^`]{{0,{MOST_CHARACTERS}}}\n[^`]{{0,{MOST_CHARACTERS}}}`(?!`)
    |<<-?[ ]?(?P<mark>["']?[A-Z]{{2,12}}["']?)[^\n]*\n""",
    re.VERBOSE | re.MULTILINE,
)


class Block(NamedTuple):
    """A string of several lines, from `start` to `end`."""

    start: int
    end: int


@lru_cache(maxsize=4)
def source_blocks(text: str) -> tuple[Block, ...]:
    r"""Every string of several lines in a text, and every document that a shell script holds.

    >>> [text[one.start : one.end] for text in ['x = \"\"\"\nNVRM: Xid\n\"\"\"\n'] for one in source_blocks(text)]
    ['= \"\"\"\nNVRM: Xid\n\"\"\"']
    """
    if '"""' not in text and "'''" not in text and "`" not in text and "<<" not in text:
        return ()
    return tuple(Block(found.start(), _end(text, found)) for found in _BLOCK.finditer(text))


def _end(text: str, found: re.Match[str]) -> int:
    """Where a block ends; that of a shell's document at the line that holds nothing but its mark."""
    if found["mark"] is None:
        return found.end()
    mark = "\n" + found["mark"].strip("\"'") + "\n"
    end = text.find(mark, found.end() - 1, found.end() + MOST_CHARACTERS)
    return found.end() if end < 0 else end


def in_a_block(blocks: Sequence[Block], place: int) -> bool:
    """Whether a place lies in one of them."""
    return any(block.start <= place < block.end for block in blocks)


def is_source_line(line: str) -> bool:
    """Whether a line is one of a program.

    >>> [is_source_line(line) for line in ('  input: "NVRM: Xid (PCI:0000:3b:00): 79",', 'expect(parse("NVRM: Xid"))')]
    [True, True]
    >>> [is_source_line(line) for line in ('error = "no CUDA"', "RuntimeError('no CUDA')", '{"message": "NVRM: Xid"},')]
    [False, False, False]
    """
    if _LINE.match(line):
        return _OF_A_LOG.match(line) is None
    call = _CALL.search(line)
    return call is not None and _PRINTED.search(call["name"]) is None


def is_source(text: str, start: int) -> bool:
    """Whether a place in a text lies in a line of a program."""
    end = text.find("\n", start)
    return is_source_line(text[text.rfind("\n", 0, start) + 1 : len(text) if end < 0 else end])
