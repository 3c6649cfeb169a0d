"""Ceilings and levers on the terminal, on the page, and as JSON."""

import json

import pytest
from report.sample_run import gpu_run
from report.test_terminal_text import shown

from rigwise.records.ceilings import Bound, Ceiling, CeilingsReport, LeverResult, Part, Rate
from rigwise.report.html import render_report
from rigwise.report.json_text import train_json
from rigwise.report.run_text import run_text

NASTY = "<script>bad()</script>"


def rate(median: float) -> Rate:
    return Rate(
        median=median,
        low=median * 0.98,
        high=median * 1.02,
        confidence_ratio=0.9609375,
        num_blocks=9,
        steps_per_block=4,
        samples_per_step=32,
    )


@pytest.fixture
def ceilings() -> CeilingsReport:
    return CeilingsReport(
        conditions=("device cuda:0", "batch 32x3x224x224 uint8"),
        ceilings=(
            Ceiling(name="loader", rate=rate(118)),
            Ceiling(name="transfer", rate=None, why_not="nothing is copied"),
            Ceiling(name="compute", rate=rate(310)),
        ),
        actual=rate(114),
        bound=Bound.LOADER,
        verdict="bound by the loader (114 of at most 118 samples/s)",
        parts=(
            Part(name="data_wait", seconds=0.17, share_ratio=0.61),
            Part(name="unexplained", seconds=0.001, share_ratio=0.004),
        ),
        wall_seconds=0.28,
        levers=(
            LeverResult(name="pinned memory", why_not="the loop does not run on a GPU"),
            LeverResult(
                name="workers: 4 instead of 2",
                before=114,
                after=231,
                gain_ratio=2.03,
                gain_low_ratio=1.9,
                gain_high_ratio=2.1,
                num_pairs=6,
                setup_seconds=2.0,
                break_even_steps=14,
                kept=True,
                because="2.03 times as fast (1.90 to 2.10)",
                recipe="num_workers=4",
            ),
            LeverResult(name=NASTY, before=231, after=230, because="within the noise"),
        ),
        final=rate(231),
        recipe=("num_workers=4",),
    )


def test_the_terminal_says_the_bound_the_worth_and_each_lever(ceilings: CeilingsReport) -> None:
    lines = shown(run_text(gpu_run(ceilings=ceilings), page="report.html"), 120)
    assert "bound by the loader (114 of at most 118 samples/s)" in lines
    assert "231 samples/s with num_workers=4" in lines
    assert "pays after 14 steps" in lines
    assert "pinned memory not tried: the loop does not run on a GPU" in lines
    assert "the copy to the device alone: nothing is copied" in lines
    assert lines.index("bound by") < lines.index("workers: 4 instead of 2")


def test_the_page_has_the_table_and_a_way_to_it(ceilings: CeilingsReport) -> None:
    page = render_report(gpu_run(ceilings=ceilings))
    assert '<a href="#ceilings">' in page
    row = page[page.index('<th scope="row">waiting for data</th>') :]
    assert row.startswith(
        '<th scope="row">waiting for data</th><td class="number">170 ms</td><td class="number">61.0 %'
    )
    assert '<span style="width: 61.0%">' in row
    assert "workers: 4 instead of 2" in page
    assert NASTY not in page.replace("&lt;script&gt;", "")
    assert 'id="ceilings"' not in render_report(gpu_run())


def test_json_holds_what_was_measured(ceilings: CeilingsReport) -> None:
    printed = json.loads(train_json(gpu_run(ceilings=ceilings)))["ceilings"]
    assert printed["schema"] == "rigwise.ceilings/1"
    assert printed["bound"] == "loader"
    assert printed["recipe"] == ["num_workers=4"]
    assert json.loads(train_json(gpu_run()))["ceilings"] is None
