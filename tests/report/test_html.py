import json
import re
from functools import cache

import msgspec
import pytest
from report.sample_run import NASTY_CLASSES, cpu_run, empty_run, gpu_run, one_step_run, stopping_check

from rigwise.records.audit import AuditReport, LabelCheck
from rigwise.records.run import Recommendation, RunRecord
from rigwise.report.html import render_report


@cache
def page(name: str) -> str:
    runs = {
        "gpu": gpu_run,
        "cpu": cpu_run,
        "empty": empty_run,
        "one_step": one_step_run,
        "nasty": lambda: gpu_run(NASTY_CLASSES),
        "audited": audited_run,
        "stopped": lambda: gpu_run(check=stopping_check()),
    }
    return without_plotly(render_report(runs[name]()))


def without_plotly(html: str) -> str:
    """The page without the five megabytes of chart library, which hold strings of their own."""
    assert html.count("plotly.js v") == 1
    return re.sub(r"<script>/\*\*\n\* plotly\.js v.*?</script>", "", html, flags=re.DOTALL)


def embedded(html: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="embedded">(.*?)</script>', html, re.DOTALL)
    assert found
    assert "<" not in found[1]  # neither `</script` nor `<!--` may end or nest the element
    return json.loads(found[1], parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.split("<main")[1].split("</main>")[0]).split())


def audited_run() -> RunRecord:
    audit = AuditReport(
        root="pictures",
        needs_a_human=False,
        classes=("a", "b"),
        counts={"train": {"a": 5, "b": 5}},
        num_files=10,
        num_looked_at=10,
        images_per_second=100.0,
        bad=(),
        notes=(),
        suspects=(),
        shortcuts=(),
        labels=LabelCheck(why_not="not asked for"),
    )
    return msgspec.structs.replace(gpu_run(), audit=audit)


@pytest.mark.parametrize("name", ["gpu", "empty", "audited"])
def test_every_section_stands_in_the_contents(name: str) -> None:
    sections = re.findall(r'<section[^>]* id="([\w-]+)"', page(name))
    listed = re.findall(r'<li><a href="#([\w-]+)">', page(name))
    assert ("audit" in sections) is (name == "audited")
    assert [one for one in listed if one in sections] == sections
    assert all(f'id="{one}"' in page(name) for one in listed)


@pytest.mark.parametrize("name", ["gpu", "cpu", "empty", "one_step", "nasty", "stopped"])
def test_nothing_is_fetched_from_anywhere(name: str) -> None:
    links = re.findall(r"""(?:src|href|action)\s*=\s*["']([^"']*)""", page(name)) + re.findall(
        r"url\(([^)]*)", page(name)
    )
    assert all(link.startswith(("#", "data:image/")) for link in links)
    assert "default-src 'none'" in page(name)


def test_the_answer_comes_before_everything_else() -> None:
    text = words(page("gpu"))
    order = ["GO", "Take bf16", "1.5 times the speed", "82.5", "Next", "Rig", "Checks", "Trials side by side",
             "Learning", "Memory and load over time", "Step time", "Confusion", "What the pictures are",
             "The first predictions", "Repeat it tomorrow", "How each number was measured"]  # fmt: skip
    positions = [text.index(each) for each in order]
    assert positions == sorted(positions)


def test_an_interrupted_run_says_so_first() -> None:
    assert words(page("empty")).split(">", 1)[-1].strip().startswith("Interrupted.")
    assert "Interrupted." not in words(page("gpu"))


def test_a_run_without_checks_is_not_called_healthy() -> None:
    assert "CANNOT TELL no check was recorded" in words(page("empty"))


def test_every_empty_section_says_why() -> None:
    text = words(page("empty"))
    for why in ("No check was recorded", "No trial was run", "No trial completed a training step", "No trial reached a",
                "No telemetry was recorded", "No trial was scored class by class", "The pictures were not recorded",
                "No predictions were recorded", "No command repeats this run", "No recipe was recorded"):  # fmt: skip
        assert why in text
    assert "data-figure=" not in page("empty")


def test_the_check_decides_the_next_command_when_it_says_stop() -> None:
    commands = re.findall(r'data-copy="([^"]*)"', page("stopped"))
    assert commands[0] == "rigwise check --only gpu_lost"
    assert re.findall(r'data-copy="([^"]*)"', page("gpu"))[0].startswith("rigwise train --from")


def test_symptoms_are_folded_under_the_first_cause() -> None:
    details = re.findall(r"<details><summary>(.*?)</details>", page("stopped"), re.DOTALL)
    assert any("vram_unreadable" in each and each.startswith("What follows from it: 2") for each in details)


def test_a_trial_that_did_not_run_spans_its_row() -> None:
    cell = re.search(r'<td class="not-run" colspan="(\d+)">([^<]*)', page("cpu"))
    assert cell
    assert cell[2] == "not run: no NVIDIA GPU: Driver Not Loaded"
    row_of_numbers = re.search(r'<tr class="recommended">.*?</tr>', page("cpu"), re.DOTALL)
    assert row_of_numbers
    assert row_of_numbers[0].count("<td") == int(cell[1])


def test_hostile_names_are_text() -> None:
    assert "<script>document.title" not in page("nasty")
    assert "</script><b>" not in page("nasty")
    assert "{{ 7*7 }}" in page("nasty")
    assert "49" not in re.findall(r"shoes 👟 ([^<]*)", page("nasty"))
    truths = [each["truth"] for each in embedded(page("nasty"))["cards"]]  # type: ignore[attr-defined]
    assert truths[:5] == list(NASTY_CLASSES)


@pytest.mark.parametrize("name", ["gpu", "one_step", "empty"])
def test_what_the_script_reads_is_json(name: str) -> None:
    assert set(embedded(page(name))) == {"run", "name", "figures", "cards", "earlier", "sentences"}


def test_two_runs_keep_their_answers_apart() -> None:
    def key(run: RunRecord) -> object:
        return embedded(render_report(run))["run"]

    assert key(empty_run()) == key(empty_run())
    assert key(empty_run()) != key(empty_run(started_at="2026-12-01T00:00:00Z"))


def test_a_picture_that_is_no_picture_is_not_asked_for() -> None:
    elsewhere = tuple(
        type(each)(
            **{name: getattr(each, name) for name in each.__struct_fields__} | {"thumbnail": "http://x.example/a.png"}
        )
        for each in gpu_run().predictions
    )
    html = without_plotly(render_report(gpu_run(predictions=elsewhere)))
    assert "x.example" not in html
    assert html.count("no thumbnail") == 40


def test_a_recommendation_of_nothing_is_said() -> None:
    nothing = Recommendation(trial=None, because="Every trial ran out of memory.", next_step="rigwise check")
    text = words(without_plotly(render_report(gpu_run(recommendation=nothing))))
    assert "No trial to recommend" in text
    assert "Every trial ran out of memory." in text


def test_footnotes_cover_the_telemetry_that_was_sampled() -> None:
    assert "Power of the whole board" in words(page("gpu"))
    assert "Power of the whole board" not in words(page("cpu"))
