"""The line of a person's own code at which an exception began: below it are only libraries."""

import sysconfig
from pathlib import Path
from traceback import walk_tb

import rigwise
from rigwise.speech import say

LIBRARIES = (*{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},)
OURS = str(Path(rigwise.__file__).parent)


def fault_line(error: BaseException) -> str:
    """File, line and function, such as `losses.py, line 12, in Focal.forward`; "" where no line is the person's own."""
    own = [(frame, line) for frame, line in walk_tb(error.__traceback__) if is_own_file(frame.f_code.co_filename)]
    if not own:
        return ""
    frame, line = own[-1]
    code = frame.f_code
    return say("{file}, line {line}, in {name}", file=Path(code.co_filename).name, line=line, name=code.co_qualname)


def is_own_file(path: str) -> bool:
    """Whether a file is a person's own: neither Python's, nor an installed package's, nor ours."""
    return not path.startswith((*LIBRARIES, OURS, "<")) and "site-packages" not in path
