"""Records a machine: asks what `check` asks, masks the answers, and says what is in them."""

import shlex
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from rigwise import __version__
from rigwise.engine import judge
from rigwise.errors import CannotWrite
from rigwise.probes.rig import read_rig
from rigwise.records.finding import CheckReport
from rigwise.records.recording import RecordedFile, RecordReport
from rigwise.sources.archiving import archive, write_archive, write_folder
from rigwise.sources.recorded import RecordedSource
from rigwise.sources.recorder import Recorder, Recording
from rigwise.sources.source import Source
from rigwise.speech import say
from rigwise.telemetry.run_folder import Manifest

MAX_ARCHIVE_BYTES = 5_000_000
"""GitHub takes attachments of up to 25 MB, most mail servers and forums 5 to 10 MB."""
TEXT_LIMITS_BYTES = (2**20, 2**18, 2**16, 2**14)
"""What is kept of each text: the first that makes the archive small enough."""
ARCHIVE_END = ".tar.gz"
Preview = Callable[[RecordReport], str]
ReportText = Callable[[CheckReport], str]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to record, and where to."""

    place: Path
    as_folder: bool
    at: datetime
    """Now, UTC."""
    python: str | None = None
    deep: bool = False
    masked: bool = True


def default_place(now: datetime) -> Path:
    """A name of its own for each second.

    >>> str(default_place(datetime(2026, 11, 30, 14, 15)))
    'rigwise-record-20261130-141500.tar.gz'
    """
    return Path(f"rigwise-record-{now:%Y%m%d-%H%M%S}{ARCHIVE_END}")


def record_machine(source: Source, request: Request, preview: Preview, report_text: ReportText) -> RecordReport:
    """Reads the machine and writes the recording.

    Raises:
        CannotWrite: the machine refused, or the recording stays too large.
    """
    recorder = Recorder(source)
    read_rig(recorder, python=request.python, deep=request.deep)
    for limit_bytes in TEXT_LIMITS_BYTES:
        recording = recorder.recording(masked=request.masked, max_text_bytes=limit_bytes)
        check = _check_of(recording)
        report = _report(request, recording, check)
        texts = _contents(request, recording, report_text(check), preview(report))
        packed = archive(texts, _stem(request.place), request.at)
        if len(packed) <= MAX_ARCHIVE_BYTES:
            break
    else:
        raise CannotWrite(
            say("cannot make a recording of less than {limit} MB", limit=MAX_ARCHIVE_BYTES // 10**6),
            say("the answers of this machine are {size} MB, even shortened", size=len(packed) // 10**6),
            say("run it again with RIGWISE_DEBUG=1 and report what it prints"),
        )
    if request.as_folder:
        write_folder(request.place, texts)
        return report
    write_archive(request.place, packed)
    return msgspec.structs.replace(report, size_bytes=len(packed))


def _check_of(recording: Recording) -> CheckReport:
    """What the recording itself gives when it is read back: it holds nothing that the recording does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), recording.texts)
        return judge(read_rig(RecordedSource(Path(folder)), deep=True))


def _report(request: Request, recording: Recording, check: CheckReport) -> RecordReport:
    files = tuple(_file(path, text, recording) for path, text in sorted(recording.texts.items()))
    return RecordReport(
        path=str(request.place),
        size_bytes=sum(file.size_bytes for file in files),
        rigwise_version=__version__,
        recorded_at=request.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        masked=request.masked,
        deep=request.deep,
        decision=check.decision.action,
        because=check.decision.because,
        files=files,
        replaced=recording.masked,
        next_command=f"rigwise check --from {shlex.quote(str(request.place))}",
    )


def _file(path: str, text: str, recording: Recording) -> RecordedFile:
    size_bytes = len(text.encode("utf-8", "replace"))
    return RecordedFile(path=f"evidence/{path}", size_bytes=size_bytes, trimmed=path in recording.trimmed)


def _contents(request: Request, recording: Recording, check: str, preview: str) -> dict[str, str]:
    manifest = Manifest(
        kind="record",
        started_at=request.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        rigwise_version=__version__,
        masked=request.masked,
    )
    return {
        "PREVIEW.txt": preview,
        "manifest.json": msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n",
        "report.json": check + "\n",
        **{f"evidence/{path}": text for path, text in recording.texts.items()},
    }


def _stem(place: Path) -> str:
    return place.name.removesuffix(ARCHIVE_END).removesuffix(".tgz") or "rigwise-record"
