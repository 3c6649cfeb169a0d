"""`rigwise train --find-batch`: searched on the experiment's own pictures, kept in its run folder and report."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import batch_trainings as trainings
import msgspec
import pytest
from rich.console import Console

from rigwise.report.html import render_report
from rigwise.report.run_text import run_text
from rigwise.sources.live import LiveSource
from rigwise.telemetry.reading import load_run
from rigwise.train.batch.for_pictures import with_found_batch
from rigwise.train.batch.search import Effort
from rigwise.train.batch.verdict import NoBatchHolds
from rigwise.train.experiment import run_experiment
from rigwise.train.picture_lab import PictureLab
from rigwise.train.pictures.cache.choice import CacheRequest, open_cache
from rigwise.train.progress import Silent
from rigwise.train.step.plan import SMALLEST_BATCH
from rigwise.units import MIB

MakeLab = Callable[..., PictureLab]
SHORT = Effort(soak_steps=8)


def test_the_size_found_is_trained_and_reported(make_lab: MakeLab) -> None:
    make_device = partial(trainings.simulated, 20 * MIB)
    before = make_lab(device=make_device())
    lab = with_found_batch(before, make_device, SHORT)
    rows = {row.name: row for row in run_experiment(lab).rows}
    lab.writer.flush()
    run = load_run(lab.folder.path)
    assert run.batch_search is not None
    found = run.batch_search.batch_size
    assert rows["cuda fp32"].batch_size == found
    assert rows["cuda fp32"].not_run is None
    assert rows["cuda fp32"].note == ""
    assert run.batch_search.proof.steps == 8
    assert len([event for event in run.events if event.kind == "batch search"]) == len(run.batch_search.probes)
    assert "the learning rate 0.001 was chosen for batch 8" in run.batch_search.notes[-1]
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(run_text(run, page="report.html"))
    assert f"{found} ran 8 steps, validation and checkpoint" in console.export_text()
    assert f"The batch size that holds: {found}" in render_report(run)


def test_kept_pictures_stay_here_and_the_search_goes_on_without(make_lab: MakeLab, tmp_path: Path) -> None:
    make_device = partial(trainings.simulated, 200 * MIB)
    plain = make_lab(device=make_device())
    request = CacheRequest(
        wish="on",
        pictures=plain.pictures,
        image_size=plain.image_size,
        num_threads=1,
        reads=9,
        base=tmp_path / "caches",
    )
    lab = msgspec.structs.replace(plain, cache=open_cache(request, LiveSource(), Silent()))
    assert lab.material.cache is not None
    found = with_found_batch(lab, make_device, SHORT)
    assert found.material.cache is lab.cache
    assert found.recipe.training.batch_size >= SMALLEST_BATCH


def test_without_a_gpu_the_batch_stays_and_the_run_says_why(make_lab: MakeLab) -> None:
    lab = make_lab()
    same = with_found_batch(lab, trainings.cpu, SHORT)
    lab.writer.flush()
    run = load_run(lab.folder.path)
    assert same.recipe == lab.recipe
    assert run.batch_search is None
    assert [event.text for event in run.events] == ["the batch size was not searched: no GPU in this test"]


def test_nothing_fits_ends_with_the_bytes_and_stays_in_the_run_folder(make_lab: MakeLab) -> None:
    make_device = partial(trainings.simulated, 2 * MIB)
    lab = make_lab(device=make_device())
    with pytest.raises(NoBatchHolds, match="batch 2 does not fit"):
        with_found_batch(lab, make_device, SHORT)
    lab.writer.flush()
    assert "batch 2 does not fit" in load_run(lab.folder.path).events[-1].text
