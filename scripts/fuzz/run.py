"""Coverage-guided fuzzing of everything that reads evidence: `check --from -` and `explain`.

python scripts/fuzz/run.py --minutes 10      (make fuzz)

Starts from the captures (RIGWISE_SHARED, or the folder shared beside the checkout), the recordings, the cases and the
bug reports of the tests. Each new way to crash, and each input that takes longer than its size allows, is kept in
tests/fuzzing/corpus, which a test replays. Exit status 1 when anything was kept.
"""

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent)]

READERS = ["rigwise.sources", "rigwise.probes", "rigwise.explain"]
"""What is watched for new paths. With the checks too, and seeds of 24 kB, it ran 4 inputs a second instead of 80."""

with atheris.instrument_imports(include=READERS):
    from target import check_bytes, explain_bytes, limit_seconds, seconds, warm_up

KEPT = ROOT / "tests" / "fuzzing" / "corpus"
MAX_SEED_BYTES = 6_000
"""A slice of a capture; a whole one would spend the time on few inputs."""
REPLAY = Path(__file__).with_name("replay.py")
ODD_WORDS = (
    *(
        "é",
        "测",
        "\u202e",
        "\x1b[31m",
        "\x9b",
        "\ufeff",
        "1.234,5",
        "N/A",
        "[N/A]",
        "ERR!",
        "Unknown Error",
        "-1",
        "0",
        "inf",
    ),
    "9" * 30,
)
"""What stands in a cell where a number is expected."""


class Harness:
    """Runs inputs, and keeps one of each kind that fails."""

    def __init__(self, suspects: Path) -> None:
        self._suspects = suspects
        self._failures: dict[str, Path] = {}

    def run(self, content: bytes) -> None:
        """`check` on every input, `explain` on some: it diagnoses the same text once more."""
        warm_up()
        self._run(check_bytes, content)
        if len(content) % 8 == 0:
            self._run(explain_bytes, content)

    def _run(self, examine: Callable[[bytes], None], content: bytes) -> None:
        try:
            taken = seconds(examine, content)
        except Exception as failure:
            self._keep(failure, content)
        else:
            if taken > limit_seconds(content):
                (self._suspects / name_of(content)).write_bytes(content)

    def _keep(self, failure: Exception, content: bytes) -> None:
        """The smallest input of each place in our code that fails."""
        frames = traceback.extract_tb(failure.__traceback__)
        place = [frame for frame in frames if "rigwise" in frame.filename][-1:] or frames[-1:]
        kind = f"{type(failure).__name__} {Path(place[0].filename).name}:{place[0].lineno}"
        known = self._failures.get(kind)
        if known is None or known.stat().st_size > len(content):
            if known is None:
                print(f"crash: {kind}: {failure}", flush=True)
            else:
                known.unlink()
            self._failures[kind] = KEPT / name_of(content)
            self._failures[kind].write_bytes(content)


def name_of(content: bytes) -> str:
    """A file name that depends on nothing but the input."""
    return hashlib.sha256(content).hexdigest()[:16] + ".bin"


def seeds() -> Iterator[bytes]:
    """Pieces of everything at hand that looks like evidence."""
    shared = Path(os.environ.get("RIGWISE_SHARED") or ROOT.parent / "shared") / "evidence"
    tests = ROOT / "tests"
    files = [*shared.glob("*"), *tests.glob("recordings/*/**/*"), *KEPT.glob("*"), *tests.glob("samples/**/*")]
    for path in files:
        if path.is_file():
            yield from slices(path.read_bytes())
    for path in (*tests.glob("cases/**/*.toml"), *tests.glob("accuracy/reports/*.toml")):
        yield from (text.encode() for text in strings(tomllib.loads(path.read_text(encoding="utf-8"))) if "\n" in text)


def slices(content: bytes) -> Iterator[bytes]:
    """The content in pieces, whole lines each."""
    while len(content) > MAX_SEED_BYTES:
        end = content.rfind(b"\n", 0, MAX_SEED_BYTES) + 1 or MAX_SEED_BYTES
        yield content[:end]
        content = content[end:]
    yield content


def strings(value: object) -> Iterator[str]:
    """Every text in a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)


def mutated(content: bytes, max_size: int, seed: int) -> bytes:
    """The input changed as people and terminals change texts: lines lost, doubled, moved, cut, cells replaced."""
    chance = random.Random(seed)
    lines = content.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(7):
            case 0:
                del lines[at : at + chance.randint(1, 5)]
            case 1:
                lines[at:at] = lines[at : at + chance.randint(1, 5)]
            case 2:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 3:
                lines[at] = lines[at][: chance.randint(0, len(lines[at]))]
            case 4:
                words = lines[at].split(b" ")
                words[chance.randrange(len(words))] = chance.choice(ODD_WORDS).encode()
                lines[at] = b" ".join(words)
            case 5:
                lines = lines[: at + 1]
            case _:
                return atheris.Mutate(content, max_size)
        lines = lines or [b""]
    return b"\n".join(lines)[:max_size]


def fuzz(corpus: Path, suspects: Path, minutes: float) -> None:
    """Fuzzes until the time is over; libFuzzer then ends the process."""
    harness = Harness(suspects)
    options = [
        f"-max_total_time={round(minutes * 60)}",
        "-max_len=16384",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-verbosity=1",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], harness.run, custom_mutator=mutated)
    atheris.Fuzz()


def still_slow(suspects: Path) -> int:
    """Keeps the suspects that are too slow without instrumentation too, and says how many."""
    found = 0
    for path in sorted(suspects.iterdir()):
        if subprocess.run([sys.executable, str(REPLAY), str(path)], check=False).returncode != 0:
            path.rename(KEPT / f"slow-{path.name}")
            found += 1
    return found


def main() -> int:
    """1 when an input crashed or was too slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--child", nargs=2, type=Path, metavar=("CORPUS", "SUSPECTS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        fuzz(*asked.child, asked.minutes)
    KEPT.mkdir(parents=True, exist_ok=True)
    before = set(KEPT.iterdir())
    with tempfile.TemporaryDirectory() as place:
        corpus, suspects = Path(place) / "corpus", Path(place) / "suspects"
        corpus.mkdir()
        suspects.mkdir()
        contents = list(seeds())
        for number, content in enumerate(contents):
            (corpus / f"{number:05}").write_bytes(content)
        print(f"{len(contents)} seeds", flush=True)
        child = [sys.executable, __file__, "--minutes", str(asked.minutes), "--child", str(corpus), str(suspects)]
        code = subprocess.run(child, check=False).returncode
        num_suspects = len(list(suspects.iterdir()))
        num_slow = still_slow(suspects)
        print(f"{len(list(corpus.iterdir()))} inputs in the corpus, {num_suspects} suspected slow, {num_slow} slow")
    kept = set(KEPT.iterdir()) - before
    print(f"{len(kept)} kept in {KEPT.relative_to(ROOT)}")
    return 1 if kept or code else 0


if __name__ == "__main__":
    sys.exit(main())
