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
    program_output_answer,
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
    """What was recognised in a text: answers to questions, each in the words that were pasted."""

    commands: dict[str, str] = {}
    """By key; several outputs of the same command one after the other."""
    files: dict[str, str] = {}
    """By path."""
    kernel_log: str | None = None
    program_output: str | None = None
    """Whatever is nothing else."""

    def __bool__(self) -> bool:
        return bool(self.commands or self.files or self.kernel_log or self.program_output)

    def joined(self, other: "Pieces") -> "Pieces":
        """Both together, what answers the same question one after the other."""
        return Pieces(
            _joined(self.commands, other.commands),
            _joined(self.files, other.files),
            _end_to_end(self.kernel_log, other.kernel_log),
            _end_to_end(self.program_output, other.program_output),
        )


def _joined(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
    shared = {key: f"{first[key]}\n{second[key]}" for key in first.keys() & second.keys()}
    return first | second | shared


def _end_to_end(first: str | None, second: str | None) -> str | None:
    return "\n".join(text for text in (first, second) if text is not None) or None


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
        """The recognised output of the command."""
        name = command_key(argv, key)
        text = self._pieces.commands.get(name)
        return command_answer(name, Status.NOT_RECORDED if text is None else Status.OK, text or "")

    def file(self, path: str) -> Evidence:
        """The recognised text of the file."""
        text = self._pieces.files.get(path)
        return file_answer(path, Status.NOT_RECORDED if text is None else Status.OK, text or "")

    def kernel_log(self) -> Evidence:
        """The recognised kernel log."""
        log = self._pieces.kernel_log
        return kernel_log_answer(command_answer("", Status.NOT_RECORDED if log is None else Status.OK, log or ""))

    def program_output(self) -> Evidence:
        """What is left when everything else was recognised."""
        text = self._pieces.program_output
        return program_output_answer(Status.NOT_RECORDED if text is None else Status.OK, text or "")


def recognise(text: str) -> Pieces:
    r"""The pieces of evidence in `text`, without the prompts, quotation marks and fences around them.

    >>> recognise("$ nvidia-smi -q -x\n<nvidia_smi_log><gpu/></nvidia_smi_log>\n$ ").commands["nvidia-smi -q -x"]
    '<nvidia_smi_log><gpu/></nvidia_smi_log>'
    >>> recognise("see below\n```\n[  12.000001] NVRM: Xid (PCI:0000:41:00): 79\n```\n").kernel_log
    '[  12.000001] NVRM: Xid (PCI:0000:41:00): 79'
    """
    text = _unquoted(text.replace("\r\n", "\n"))
    xml = _SMI_XML.search(text)
    rest = _SMI_XML.sub("", text)
    return Pieces({SMI_XML_KEY: xml[0]} if xml else {}, {}, _kernel_log(rest.split("\n")))


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
