"""Precision and recall of every check, and of the decision, over everything whose right diagnosis is known.

make accuracy                            writes docs/accuracy.md
python scripts/accuracy.py --check       1 when the page no longer says what is measured now, be it better or worse
python scripts/accuracy.py FOLDER        the scores of other reports, such as a held-out set; the page stays

Three sets, told apart on the page: the cases of tests/cases, which are built to be answered right; the captures of
other people's machines (the folder `shared` beside the checkout, or RIGWISE_SHARED), labelled by
tests/accuracy/labels.toml; and public bug reports as people wrote them, tests/accuracy/reports/*.toml.
"""

import difflib
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from accuracy_samples import captures, cases, reports  # noqa: E402
from accuracy_scores import Scores, Tally, score  # noqa: E402

from rigwise.knowledge.check_catalogue import check_catalogue  # noqa: E402

PAGE = ROOT / "docs" / "accuracy.md"
HELD_OUT = ROOT / "tests" / "accuracy" / "held_out.tsv"
DATED = "Measured on "
HEAD = """# How often rigwise is right

{dated}{date} by `make accuracy`, over everything whose right diagnosis is known. **All of it was seen while rigwise was
written (dev).** So these numbers say what was checked, not what to expect of a machine that nobody has seen; for that,
see [held out](#held-out).

- *built cases*: tests/cases, one overlay on a recording each. They are tests, so they are answered right or the build
  fails; each speaks only of its own check.
- *captures*: evidence of other people's machines, labelled in tests/accuracy/labels.toml.
- *bug reports*: texts in the form people paste them, tests/accuracy/reports: machine output from public issues and test
  data, shortened and masked, often with prose of ours around it. Each names the address it was taken from or modelled
  on; some combine several.

*First cause right*: the check that leads is the one that the answer to the report names. *False alarm*: a healthy
machine that is told anything more than a note, or not told to go. *Precision*: share of the problems a check told of
that were problems. *Recall*: share of the faults that it found.
"""


HELD_OUT_HEAD = """## Held out

Sets written and labelled by people who had seen neither rigwise's code nor its tests, and measured once, at the commit
named, before anything was repaired. Afterwards their texts joined the bug reports (heldout_*) and are dev too. They
differ in kind: the fourth was mostly complaints of slowness and rare installations; then signatures were mined in those
areas, and of the fifth the four texts whose threads had been mined are left out of its row.
"""


def page(sets: Mapping[str, Scores], date: str) -> str:
    """The whole page."""
    parts = (by_set(sets), held_out(), wrong(sets), by_check(sets))
    return "\n".join([HEAD.format(dated=DATED, date=date), *(line for part in parts for line in (*part, ""))])


def held_out() -> Iterator[str]:
    """What was measured once, as it was kept."""
    yield HELD_OUT_HEAD
    head, *rows = HELD_OUT.read_text(encoding="utf-8").splitlines()
    for cells in (head.split("\t"), ["---"] * len(head.split("\t")), *(row.split("\t") for row in rows)):
        yield f"| {' | '.join(cells)} |"


def by_set(sets: Mapping[str, Scores]) -> Iterator[str]:
    """One row a set."""
    yield "| set | samples | decision right | first cause right | precision | recall | healthy | false alarms |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, scores in sets.items():
        if scores.num_samples == 0:
            yield f"| {name} | none at hand | | | | | | |"
            continue
        overall = scores.overall()
        cells = (
            name,
            scores.num_samples,
            f"{scores.num_decided} of {scores.num_samples}",
            f"{scores.num_led} of {scores.num_faulty}",
            ratio(overall.precision),
            ratio(overall.recall),
            scores.num_healthy,
            f"{scores.num_alarmed} of {scores.num_healthy}",
        )
        yield f"| {' | '.join(map(str, cells))} |"


def by_check(sets: Mapping[str, Scores]) -> Iterator[str]:
    """One row a check that had anything to find or told of anything; built cases beside everything else."""
    yield "## By check"
    yield ""
    built, real = sets["built cases"], [scores for name, scores in sets.items() if name != "built cases"]
    head = "faults found | false alarms | precision | recall"
    yield f"| check | built: {head} | real: {head} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for check in check_catalogue():
        seen = Tally()
        for scores in real:
            seen.add(scores.checks.get(check, Tally()))
        yield f"| {check} | {cells(built.checks.get(check, Tally()))} | {cells(seen)} |"


def cells(tally: Tally) -> str:
    """Faults found, false alarms, precision and recall."""
    faults = tally.found + tally.missed
    return f"{tally.found} of {faults} | {tally.false} | {ratio(tally.precision)} | {ratio(tally.recall)}"


def ratio(value: float | None) -> str:
    """A ratio with two decimals; a dash where there was nothing to count."""
    return "-" if value is None else f"{value:.2f}"


def wrong(sets: Mapping[str, Scores]) -> Iterator[str]:
    """Everything that is not answered right."""
    yield "## Not answered right"
    yield ""
    faults = [f"- {name}: {fault}" for name, scores in sets.items() for fault in scores.faults]
    yield from faults or ["Nothing."]


def undated(text: str) -> list[str]:
    """The lines of a page, the date left out."""
    return [DATED if line.startswith(DATED) else line for line in text.splitlines()]


def main() -> int:
    """Write the page, with --check compare it, with a folder score that alone."""
    for folder in (word for word in sys.argv[1:] if not word.startswith("-")):
        alone = {Path(folder).name: score(reports(Path(folder)))}
        print("\n".join([*by_set(alone), "", *wrong(alone)]))
        return 0
    sets = {"built cases": score(cases()), "captures": score(captures()), "bug reports": score(reports())}
    text = page(sets, f"{datetime.now(UTC):%Y-%m-%d}")
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        print("\n".join([*by_set(sets), "", *wrong(sets)]))
        return 0
    if sets["captures"].num_samples == 0:
        print("the captures (RIGWISE_SHARED, or the folder shared beside the checkout) are not here: nothing compared")
        return 0
    changes = list(difflib.unified_diff(undated(PAGE.read_text(encoding="utf-8")), undated(text), "stored", "now", n=0))
    print(
        "\n".join([*changes, f"{PAGE.name} no longer says what is measured: make accuracy"] if changes else []), end=""
    )
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
