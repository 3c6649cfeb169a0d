"""docs/json.md documents every field of every object that `--json` prints, and no other."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from guards.own_files import ROOT

from rigwise.aspects import GPU_ASPECTS, RIG_ASPECTS
from rigwise.records.audit import AUDIT_SCHEMA, AuditReport
from rigwise.records.ceilings import CEILINGS_SCHEMA, CeilingsReport
from rigwise.records.difference import DIFF_SCHEMA, Difference
from rigwise.records.explanation import EXPLAIN_SCHEMA, ExplainReport
from rigwise.records.exported import MODEL_SCHEMA, PREDICT_SCHEMA, ModelCard, PredictReport
from rigwise.records.finding import CHECK_SCHEMA, CheckReport
from rigwise.records.knobs import KNOBS_SCHEMA, KnobsReport
from rigwise.records.learning_rate import LEARNING_RATE_SCHEMA, LearningRateSearch
from rigwise.records.recording import RECORD_SCHEMA, RecordReport
from rigwise.records.text import TextReview, TextSummary
from rigwise.report.check_list import CHECKS_SCHEMA, CheckList

PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
ROOTS = {
    AuditReport: AUDIT_SCHEMA,
    CeilingsReport: CEILINGS_SCHEMA,
    CheckReport: CHECK_SCHEMA,
    CheckList: CHECKS_SCHEMA,
    RecordReport: RECORD_SCHEMA,
    Difference: DIFF_SCHEMA,
    KnobsReport: KNOBS_SCHEMA,
    LearningRateSearch: LEARNING_RATE_SCHEMA,
    ExplainReport: EXPLAIN_SCHEMA,
    ModelCard: MODEL_SCHEMA,
    PredictReport: PREDICT_SCHEMA,
}


def structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structure and every other one inside it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in get_type_hints(kind).values():
            yield from structs(field)
    for inner in get_args(kind):
        yield from structs(inner)


INSIDE_TRAIN = (TextSummary, TextReview)
"""Documented parts of what `rigwise train --json` prints."""
ALL = sorted(
    {struct for root in (*ROOTS, *INSIDE_TRAIN) for struct in structs(root)}, key=lambda struct: struct.__name__
)


def section(name: str) -> str:
    found = re.search(rf"^##+ {name}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/json.md has no section {name}"
    return found[1]


def keys(text: str) -> list[str]:
    """The first cells of the rows of the first table."""
    table = re.search(r"^\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table
    return re.findall(r"^\| `(\w+)` \|", table[1], re.MULTILINE)


@pytest.mark.parametrize("struct", ALL, ids=lambda struct: struct.__name__)
def test_every_field_is_documented(struct: type[msgspec.Struct]) -> None:
    assert keys(section(struct.__name__)) == list(struct.__struct_fields__)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
def test_the_schema_is_named(root: type[msgspec.Struct]) -> None:
    assert f"Schema `{ROOTS[root]}`" in section(root.__name__)


def test_every_fact_of_the_identity_is_documented() -> None:
    text = section("RigIdentity")
    of_rig, of_gpus = text.split("Keys of `facts`:")[1].split("Keys of each of `gpus`:")
    assert keys(of_rig) == [aspect.key for aspect in RIG_ASPECTS]
    assert keys(of_gpus) == [aspect.key for aspect in GPU_ASPECTS]
