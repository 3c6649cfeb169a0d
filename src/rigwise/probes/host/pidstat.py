"""Output of `pidstat`, in any locale and clock (sysstat)."""

from rigwise.probes.host.columns import is_number, number
from rigwise.records.host import ProcessLoad


def processes(text: str) -> tuple[ProcessLoad, ...]:
    """The processes of the last report, or of the averages, the busiest first.

    Headline and lines begin with the same number of words, be it a clock or "Average:" in any language.

    >>> processes('''14:05:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
    ... 14:05:02     1000      4242   97,00    2,00    0,00    1,00   99,00     3  python''')
    (ProcessLoad(pid=4242, name='python', cpus=0.99),)
    """
    found: dict[int, ProcessLoad] = {}
    columns: list[str] = []
    for line in text.splitlines():
        cells = line.split()
        if {"PID", "%CPU", "Command"} <= set(cells):
            columns, found = cells, {}
        elif columns and len(cells) >= len(columns):
            pid, used = cells[columns.index("PID")], cells[columns.index("%CPU")]
            if pid.isdecimal() and is_number(used):
                name = cells[columns.index("Command")]
                found[int(pid[:10])] = ProcessLoad(pid=int(pid[:10]), name=name, cpus=number(used) / 100)
    if not columns:
        raise LookupError("%CPU")
    return tuple(sorted(found.values(), key=lambda process: process.cpus, reverse=True))
