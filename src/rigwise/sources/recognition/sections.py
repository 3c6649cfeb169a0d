"""A text as sections: what stands below one prompt, heading, fence or ruler."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from rigwise.sources.recognition.patterns import Told, branches, told

MAX_CANDIDATES = 20_000
"""Whatever comes after so many lines that look like headings is one section."""
_MAY_BE_HEADING = r"""^[ \t]*+(?:
    [`~\#_*$%!(\[]
  | ==
  | --?-?[ ]
  | \+[ ][a-z/]
  | PS[ ][A-Z]:\\
  | [A-Z]:\\
  | \d\d?[.)][ ]
  | [\w.-][\w.-]*@[\w.-]
  | /(?:[\w.-]++/)*+(?:{programs})\b
  | (?:sudo|Output|Result|output|result|{programs})\b
)"""
_PROMPT = r"""
    (?:\([^()\n]{1,40}\)[ ])?                                             # conda or virtual environment
    (?: \[?[\w.-]+@[^\s$\#%>]{1,80}(?:[ ][^\s$\#%>]{1,80})?\]?[ ]?[$\#%>]  # user@host:~$   [user@host dir]$
      | [$%][ ]                                                           # $
      | \#[ ](?:\$[ ])?                                                   # root's prompt, or a heading in Markdown
      | PS[ ][A-Z]:\\[^>\n]{0,200}>                                       # PowerShell
      | [A-Z]:\\[^>\n]{0,200}>                                            # cmd
      | ![ ]?(?=[a-z])                                                    # notebook
      | \+[ ](?=[a-z/])                                                   # set -x
    )[ ]*
"""
_HEADING = r"""
    (?:[\#*=>\-`\[]{{1,6}}[ ]?|\d\d?[.)][ ])*+                             # **nvidia-smi -q:**   ### Output of `lspci`
    (?:(?:[Oo]utput|[Rr]esult)s?[ ](?:of|from)[ :]+)?`?
    (?P<heading>(?:sudo[ ]|/[\w./-]{{0,60}}/)?(?:{programs})(?:[ ][^\n`:]{{1,160}}?)?)
    `?(?:[ ][Oo]utput)?[*=:`\]]{{0,4}}[ ]?[=\-\#]{{0,4}}[ \t]*$
"""
_BOUNDARY = r"""[ \t]*+(?:
    (?P<fence>`{{3,}}[^`\n]{{0,80}}$|~{{3,}}[^~\n]{{0,80}}$|[\#_*]{{8,}}[ \t]*$|\*\*\*[ ]ls:[^\n]*$)
  | (?:==>|\*\*\*|---)[ ](?P<path>/\S{{1,200}})(?:[ ]<==|[ ]---)?[ \t]*$
  | (?P<prompt>{prompt})(?P<typed>[^\n]{{0,2000}})[^\n]*+
  | {heading}
)"""
_AROUND_COMMAND = re.compile(
    r"""^(?:sudo[ ](?:-\w+[ ])*|time[ ]|watch[ ](?:-\S+[ ]|[\d.]+[ ])*
    |(?:LC_ALL|LANG|LANGUAGE|CUDA_VISIBLE_DEVICES)=\S*[ ]|(?=/)[\w./-]*/)+""",
    re.VERBOSE,
)
_AFTER_COMMAND = re.compile(r" *(?:\d?>|\||&&|;| #)[^\"']*$")
_SHOWN_FILE = re.compile(r"(?:cat|head|tail|more|less|type|bat)(?: -\S+| \d+)* (/\S+)")


class Section(NamedTuple):
    """Part of a text, from `start` to `end`."""

    heading: str
    """The line above, if it is a prompt or heading."""
    command: str
    """What that line runs."""
    told: Told | None
    """The kind that is expected."""
    path: str
    """The file that is expected, of a known kind or not."""
    start: int
    end: int


def sections(text: str) -> Iterator[Section]:
    """Every section of the text, in its order; together they hold every line that is no boundary."""
    above = Section("", "", None, "", 0, 0)
    for boundary in _boundaries(text):
        yield above._replace(end=boundary.start())
        below = _below(boundary)
        is_empty = not text[above.start : boundary.start()].strip()
        above = above._replace(start=below.start) if is_empty and boundary["fence"] is not None else below
    yield above._replace(end=len(text))


def _boundaries(text: str) -> Iterator[re.Match[str]]:
    may_be, boundary = _patterns()
    for candidate in islice(may_be.finditer(text), MAX_CANDIDATES):
        found = boundary.match(text, candidate.start())
        if found and not _is_ordinary_line(found):
            yield found


def _is_ordinary_line(boundary: re.Match[str]) -> bool:
    """Whether a line only looks like a heading, or like root's prompt, for it names nothing that is known."""
    command = boundary["heading"]
    if command is None and boundary["prompt"] is not None and boundary["prompt"].startswith("#"):
        command = boundary["typed"]
    return command is not None and _expected(command) == (None, "")


def _below(boundary: re.Match[str]) -> Section:
    """The section that a boundary opens, its end still unknown."""
    start = boundary.end() + 1
    if boundary["fence"] is not None:
        return Section("", "", None, "", start, start)
    if boundary["path"] is not None:
        return Section(boundary[0], "", *_of_file(boundary["path"]), start, start)
    command = boundary["heading"] or boundary["typed"] or ""
    return Section(boundary[0], command.strip(), *_expected(command), start, start)


@lru_cache(maxsize=4096)
def _expected(command: str) -> tuple[Told | None, str]:
    """The kind and the file that a command line shows."""
    bare = _AROUND_COMMAND.sub("", command.strip())
    bare = _AFTER_COMMAND.sub("", bare).strip()
    shown = _SHOWN_FILE.fullmatch(bare)
    if shown:
        return _of_file(shown[1])
    return next((entry for entry in told() if _runs(entry, bare)), None), ""


def _runs(entry: Told, command: str) -> bool:
    return any(pattern.fullmatch(command) for pattern in entry.commands)


def _of_file(path: str) -> tuple[Told | None, str]:
    return next((entry for entry in told() if entry.kind.key == path), None), path


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a heading may look like, and what one is."""
    commands = (branch for entry in told() for command in entry.kind.command for branch in branches(command))
    names = {found[0] for command in commands if (found := re.match(r"[a-z][\w-]+", command))}
    programs = "|".join(map(re.escape, sorted(names | {"cat", "head", "tail"}, key=len, reverse=True)))
    boundary = _BOUNDARY.format(prompt=_PROMPT, heading=_HEADING.format(programs=programs))
    return (
        re.compile(_MAY_BE_HEADING.format(programs=programs), re.VERBOSE | re.MULTILINE),
        re.compile(boundary, re.VERBOSE | re.MULTILINE),
    )
