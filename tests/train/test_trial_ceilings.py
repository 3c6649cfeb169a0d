"""The ceilings of a trial of the guided experiment, and how they reach its reports."""

from collections.abc import Callable

import torch

from rigwise.records.ceilings import Bound
from rigwise.telemetry.reading import load_run
from rigwise.train.experiment import run_experiment
from rigwise.train.picture_lab import PictureLab
from rigwise.train.trial_ceilings import TrialFeed, trial_ceilings

MakeLab = Callable[..., PictureLab]


def test_a_trial_is_measured_stage_by_stage_and_leaves_no_trace(make_lab: MakeLab) -> None:
    lab = make_lab()
    trial = run_experiment(lab).rows[-1]
    chance = torch.get_rng_state()
    report = trial_ceilings(lab, trial)
    assert torch.equal(torch.get_rng_state(), chance)
    assert report.bound in Bound
    assert report.ceiling("loader") is not None
    assert report.ceiling("compute") is not None
    assert report.actual.samples_per_step == trial.batch_size
    assert {"data_wait", "device_compute", "optimiser"} <= {part.name for part in report.parts}
    assert len({result.name for result in report.levers}) == 10
    lab.writer.flush()
    steps = {step.trial for step in load_run(lab.folder.path).steps}
    assert len([step for step in load_run(lab.folder.path).steps if step.trial == trial.name]) == trial.steps
    assert trial.name in steps


def test_a_trial_that_runs_in_bf16_is_not_told_to(make_lab: MakeLab) -> None:
    lab = make_lab()
    (trial,) = (row for row in run_experiment(lab).rows if row.name == "cpu bf16")
    (told,) = (result for result in trial_ceilings(lab, trial).levers if "bf16" in result.name)
    assert told.why_not == "it is on already"


def test_batches_are_the_trials_own_whatever_the_threads(make_lab: MakeLab) -> None:
    lab = make_lab()
    ours, theirs = (next(iter(TrialFeed(lab, 8, threads))) for threads in (0, 2))
    trial = next(iter(lab.material.stream(lab.pictures.train, 8).train_batches(1)))
    for pictures, labels in (ours, theirs):
        assert torch.equal(pictures, trial[0])
        assert torch.equal(labels, trial[1])
