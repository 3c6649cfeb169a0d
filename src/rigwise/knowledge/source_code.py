"""Whether an error text stands in source code, as tests and tracebacks show it, and was not printed."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MOST_CHARACTERS = 20_000
"""Of one string of several lines."""
_LINE = re.compile(
    r"""[ \t]*[+-]?[ \t]*[{\[(]{0,3}(?:
        [rfb]?(?:"[^"\\\n]*"|'[^'\\\n]*'),?[ ]*(?:\#[^\n]*)?$                          # a lone string
      | (?:raise|assert|if|elif|return|except|print|logg(?:er|ing)\.\w+|warnings\.warn)\b[^\n]*["'(]
      | (?<=\{)[ ]?\w{1,40}:[ ]?["'`]
      | (?:case[ ]|default[ ]?:|\}?[ ]?else[ ])[^\n"']{0,80}["']
      | (?:description|summary|example|sample|input|expected|pattern|regexp?|fixture|help)[ \t]*[:=][ \t]*["'`]
      | //[^\n]*                                                                       # a comment
      | (?:[\w.\[\]]{1,60}[ \t]*(?::[ \t]|=)[ \t]*|["'][^"'\n]{1,60}["'][ ]=>[ ]|case[ ])
        [&rfbuL]{0,2}["'`][^\n]*["'`][)\]}]{0,4}[,;][ \t]*(?:(?://|\#)[^\n]*)?$        # a field and its string
      | (?:(?:const|let|var|val|auto|static|final|char|String|string|local|export)[ ][^=\n"]{1,60}|[\w.]{1,60})
        [ ]:?=[ ][rfbuL]{0,2}["'`]
      | (?:\$[ ])?(?:[^\n"']{0,60}\|[ ])?(?:sudo[ ])?(?:e?grep|rg|sed|awk|echo|printf|logger)[ ][^\n"']{0,60}["']
    )""",
    re.VERBOSE | re.MULTILINE,
)
_CALL = re.compile(
    r"""(?P<name>\.\w{1,60}|\b[a-z]\w{0,60})\((?:[^()"'`\n]{0,80},[ ]?)?"""
    r"""[rfbu]{0,2}(?P<quote>["'`])(?:(?!(?P=quote))[^\n])*$"""
)
"""A call whose string goes on; that of an error, or of a name in capitals, is how Python and Rust print a value."""
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
    """Every string of several lines in a text, and every document that a shell script holds.

    >>> text = "log = " + 3 * "'" + chr(10) + "NVRM: Xid" + chr(10) + 3 * "'" + chr(10)
    >>> [(block.start, len(text) - block.end) for block in source_blocks(text)]
    [(4, 1)]
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


def is_source(text: str, start: int) -> bool:
    """Whether a place in a text lies in a string of a program, or in a line that holds nothing else.

    >>> lines = ('  input: "NVRM: Xid (PCI:0000:3b:00): 79",', 'expect(parse("NVRM: Xid"))', '"NVRM: Xid",')
    >>> [is_source(line, line.index("NVRM")) for line in lines]
    [True, True, True]
    >>> lines = ('error = "NVRM: Xid"', "RuntimeError('NVRM: Xid')", '{"message": "NVRM: Xid"},', 'It says "NVRM: Xid"')
    >>> [is_source(line, line.index("NVRM")) for line in lines]
    [False, False, False, False]
    """
    first, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    line = text[first : len(text) if end < 0 else end]
    if _LINE.match(line):
        return _OF_A_LOG.match(line) is None
    call = _CALL.search(line[: start - first])
    return call is not None and _PRINTED.search(call["name"]) is None
