"""Single texts recognised by what they hold: a file someone sent, an issue pasted to standard input."""

import re
from collections.abc import Sequence

import msgspec

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import (
    command_answer,
    command_key,
    file_answer,
    kernel_log_answer,
    nvml_absence,
)
from rigwise.speech import say

SMI_XML_KEY = "nvidia-smi -q -x"
_SMI_XML = re.compile(r"<nvidia_smi_log\b.*?(?:</nvidia_smi_log>|\Z)", re.DOTALL)
_NVIDIA_LINE = re.compile(r"\bNVRM: |\bS?Xid \(")
_KERNEL_LINE = re.compile(
    r"""\s*(?:
    <\d+>                                             # syslog priority
  | \[\s*\d+\.\d{6}\]                                 # dmesg
  | \[\w{3}\s\w{3}\s+\d+\s[\d:]{8}\s\d{4}\]           # dmesg -T
  | \d+,\d+,\d+,[-c+];?                               # /dev/kmsg
  | (?:kern|daemon|user)\s*:\w+\s*:                   # dmesg --decode
  | \S+(?:\s+\d+)?(?:\s[\d:]{8})?\s\S+\skernel:       # syslog, journalctl
  | \d{4}-\d\d-\d\dT[\d:.,+-]+Z?\s                    # dmesg --time-format iso
    )""",
    re.VERBOSE,
)


class Pieces(msgspec.Struct, frozen=True):
    """What was recognised in a text."""

    smi_xml: str | None = None
    kernel_log: str | None = None

    def __bool__(self) -> bool:
        return self.smi_xml is not None or self.kernel_log is not None

    def joined(self, other: "Pieces") -> "Pieces":
        """Both together: the first nvidia-smi output, and the kernel logs one after the other."""
        logs = [log for log in (self.kernel_log, other.kernel_log) if log is not None]
        return Pieces(self.smi_xml or other.smi_xml, "\n".join(logs) if logs else None)


class PastedSource:
    """Answers from recognised texts; everything else was not recorded."""

    def __init__(self, name: str, pieces: Pieces) -> None:
        self._name = name
        self._pieces = pieces

    @property
    def name(self) -> str:
        """The file's name, or `standard input`."""
        return self._name

    def nvml(self, name: str, gpu: int | None = None) -> Evidence:
        """Not recorded: no text holds NVML's own answers."""
        return nvml_absence(name, gpu, Status.NOT_RECORDED)

    def command(self, argv: Sequence[str], *, key: str | None = None, timeout_seconds: float = 10.0) -> Evidence:
        """The recognised output of `nvidia-smi -q -x`."""
        name = command_key(argv, key)
        if name == SMI_XML_KEY and self._pieces.smi_xml is not None:
            return command_answer(name, Status.OK, self._pieces.smi_xml)
        return command_answer(name, Status.NOT_RECORDED)

    def file(self, path: str) -> Evidence:
        """Not recorded."""
        return file_answer(path, Status.NOT_RECORDED)

    def kernel_log(self) -> Evidence:
        """The recognised kernel log."""
        log = self._pieces.kernel_log
        if log is None:
            return kernel_log_answer(command_answer("", Status.NOT_RECORDED))
        return kernel_log_answer(command_answer("", Status.OK, log))


def recognise(text: str) -> Pieces:
    r"""The pieces of evidence in `text`, without the prompts, quotation marks and fences around them.

    >>> recognise("$ nvidia-smi -q -x\n<nvidia_smi_log><gpu/></nvidia_smi_log>\n$ ").smi_xml
    '<nvidia_smi_log><gpu/></nvidia_smi_log>'
    >>> recognise("see below\n```\n[  12.000001] NVRM: Xid (PCI:0000:41:00): 79\n```\n").kernel_log
    '[  12.000001] NVRM: Xid (PCI:0000:41:00): 79'
    """
    text = _unquoted(text.replace("\r\n", "\n"))
    xml = _SMI_XML.search(text)
    rest = _SMI_XML.sub("", text)
    return Pieces(xml[0] if xml else None, _kernel_log(rest.split("\n")))


def recognised_kinds() -> str:
    """What can be recognised, for error messages."""
    return say("a run folder, the output of nvidia-smi -q -x, or a kernel log (dmesg, journalctl -k)")


def _unquoted(text: str) -> str:
    """`text` without the `> ` of a quotation, where most lines have one."""
    lines = text.split("\n")
    if sum(line.startswith(">") for line in lines) * 2 <= len(lines):
        return text
    return "\n".join(re.sub(r"^> ?", "", line) for line in lines)


def _kernel_log(lines: list[str]) -> str | None:
    """The lines from the first to the last one of a kernel log; None where too little looks like one."""
    kernel = [n for n, line in enumerate(lines) if _NVIDIA_LINE.search(line) or _KERNEL_LINE.match(line)]
    spoken = sum(1 for line in lines if line.strip())
    if not kernel or (len(kernel) * 2 < spoken and not any(_NVIDIA_LINE.search(lines[n]) for n in kernel)):
        return None
    return "\n".join(line for line in lines[kernel[0] : kernel[-1] + 1] if not line.startswith("```"))
