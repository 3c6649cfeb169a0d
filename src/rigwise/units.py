"""Numbers as people read them: base units in, three significant digits and a unit out.

Memory is always GiB or MiB (2^30, 2^20 bytes), never GB. Must not import anything of ours.
"""

GIB = 2**30
MIB = 2**20
LEAST_SHARE = 0.001
"""Smaller parts of a whole are not worth digits."""


def significant(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and no exponent.

    >>> significant(0.41972), significant(76.13), significant(1234.5)
    ('0.420', '76.1', '1,234')
    """
    if value == 0:
        return "0"
    magnitude = abs(value)
    whole = len(str(int(magnitude))) if magnitude >= 1 else 0
    if whole == 0:
        leading_zeros = len(f"{magnitude:.12f}".split(".")[1]) - len(f"{magnitude:.12f}".split(".")[1].lstrip("0"))
        return f"{value:.{digits + leading_zeros}f}"
    return f"{value:,.{max(0, digits - whole)}f}"


def memory(num_bytes: float) -> str:
    """Bytes as GiB, or MiB below one GiB.

    >>> memory(25757220864), memory(419430400), memory(0)
    ('24.0 GiB', '400 MiB', '0 MiB')
    """
    if abs(num_bytes) >= GIB:
        return f"{significant(num_bytes / GIB)} GiB"
    return f"{significant(num_bytes / MIB)} MiB"


def duration(seconds: float) -> str:
    """Seconds as microseconds, milliseconds, seconds or minutes, whichever reads best.

    >>> duration(0.0000042), duration(0.0423), duration(3.4), duration(125)
    ('4.20 us', '42.3 ms', '3.40 s', '2 min 5 s')
    """
    if seconds == 0:
        return "0 s"
    if abs(seconds) < 1e-3:
        return f"{significant(seconds * 1e6)} us"
    if abs(seconds) < 1:
        return f"{significant(seconds * 1e3)} ms"
    if abs(seconds) < 120:
        return f"{significant(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def percent(ratio: float) -> str:
    """A ratio of 0 to 1 as a percentage.

    >>> percent(0.8242), percent(0.05)
    ('82.4 %', '5.00 %')
    """
    return f"{significant(ratio * 100)} %"


def share(ratio: float) -> str:
    """A part of a whole as a percentage; small parts are only said to be small.

    >>> share(0.9741), share(0.0241), share(0.0000555)
    ('97.4 %', '2.4 %', 'under 0.1 %')
    """
    return f"{ratio * 100:.1f} %" if abs(ratio) >= LEAST_SHARE else f"under {LEAST_SHARE * 100} %"
