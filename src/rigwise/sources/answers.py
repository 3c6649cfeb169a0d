"""How an answer is written as Evidence, the same for every source, so that live and recorded ones are equal."""

import shlex
from collections.abc import Sequence

from rigwise.records.evidence import Evidence, Status
from rigwise.sources.nvml_codes import return_code
from rigwise.speech import say


def nvml_key(name: str, gpu: int | None) -> str:
    """What was asked of NVML, for people and recordings.

    >>> nvml_key("DeviceGetTemperature", 0), nvml_key("SystemGetDriverVersion", None)
    ('DeviceGetTemperature gpu 0', 'SystemGetDriverVersion')
    """
    return name if gpu is None else f"{name} gpu {gpu}"


def command_key(argv: Sequence[str], key: str | None) -> str:
    """The name of a command in recordings: `key`, or the command line as a shell would take it."""
    return key or shlex.join(argv)


def nvml_answer(name: str, gpu: int | None, code: int, text: str) -> Evidence:
    """An NVML answer; for a failure, NVML's words for its return code instead of `text`."""
    meaning = return_code(code)
    words = text if meaning.status is Status.OK else f"{meaning.words} ({meaning.constant})"
    return Evidence(source="nvml", key=nvml_key(name, gpu), status=meaning.status, text=words, return_code=code)


def nvml_absence(name: str, gpu: int | None, status: Status) -> Evidence:
    """An NVML answer that never came, so that there is no return code."""
    return Evidence(source="nvml", key=nvml_key(name, gpu), status=status, text=_absence_words(status))


def command_answer(key: str, status: Status, text: str = "", exit_status: int | None = None) -> Evidence:
    """A command's answer; where there is no text, why there is none."""
    return Evidence(source="command", key=key, status=status, text=_words(status, text), return_code=exit_status)


def file_answer(path: str, status: Status, text: str = "") -> Evidence:
    """A file's text, or why there is none."""
    return Evidence(source="file", key=path, status=status, text=_words(status, text))


def kernel_log_answer(command: Evidence) -> Evidence:
    """The kernel log, whichever command or file it was read from."""
    return Evidence(
        source="kernel log",
        key="kernel log",
        status=command.status,
        text=command.text,
        return_code=command.return_code,
    )


def program_output_answer(status: Status, text: str = "") -> Evidence:
    """What programs printed, or why none of it is there."""
    key = "program output"
    return Evidence(source=key, key=key, status=status, text=_words(status, text))


def _words(status: Status, text: str) -> str:
    return text if text or status in (Status.OK, Status.FAILED) else _absence_words(status)


def _absence_words(status: Status) -> str:
    """Why there is no answer, in words."""
    match status:
        case Status.NOT_FOUND:
            return say("not found on this machine")
        case Status.NOT_PERMITTED:
            return say("this user may not read it")
        case Status.TIMED_OUT:
            return say("no answer within its time limit")
        case Status.NOT_RECORDED:
            return say("not part of this recording")
        case _:
            return say("no answer")
