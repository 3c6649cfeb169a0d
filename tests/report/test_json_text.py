import json
import math

import pytest
from report.sample_run import empty_run, gpu_run, stopping_check, trial

from rigwise.report.json_text import check_json, train_json


def test_check_json_is_the_published_contract() -> None:
    printed = json.loads(check_json(stopping_check()))
    assert printed["schema"] == "rigwise.check/1"
    assert printed["decision"]["action"] == "stop"
    first = printed["findings"][0]
    assert {"check", "target", "title", "verdict", "severity", "because", "evidence", "next_steps"} <= first.keys()
    assert first["evidence"][0].keys() == {"source", "text"}


def test_train_json_holds_the_trials_with_their_intervals() -> None:
    printed = json.loads(train_json(gpu_run()))
    assert printed["schema"] == "rigwise.train/1"
    assert [each["name"] for each in printed["trials"]][2:4] == ["fp32", "bf16"]
    assert printed["recommendation"]["trial"] == "bf16"
    assert [each["trial"] for each in printed["accuracies"]] == ["fp32", "bf16", "bf16 batch 64"]
    assert printed["accuracies"][0]["low_ratio"] == pytest.approx(0.7609, abs=5e-5)


def test_what_is_not_finite_is_null_and_the_rest_stays_json() -> None:
    run = gpu_run(trials=(trial("fp32", step_mean_seconds=math.nan, images_per_second=math.inf),))
    printed = json.loads(train_json(run), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert printed["trials"][0]["step_mean_seconds"] is None


def test_an_interrupted_run_says_so() -> None:
    printed = json.loads(train_json(empty_run()))
    assert printed["finished"] is False
    assert printed["trials"] == printed["accuracies"] == []
