from rigwise.records.run import Recommendation, TrialResult
from rigwise.train.choice import recommend

REPEAT = "rigwise train --from runs/1"


def trial(name: str, speed: float | None, correct: int = 0, total: int = 0, not_run: str | None = None) -> TrialResult:
    return TrialResult(
        name=name,
        device="cuda:0",
        precision=name,
        batch_size=32,
        image_size=224,
        steps=200,
        images_per_second=speed,
        val_correct=correct or None,
        val_total=total or None,
        not_run=not_run,
    )


def taken(*trials: TrialResult, no_gpu: str = "") -> Recommendation:
    return recommend(trials, no_gpu, REPEAT)


def test_the_fastest_as_good_trial_is_taken() -> None:
    chosen = taken(trial("fp32", 76, 164, 200), trial("bf16", 114, 165, 200))
    assert chosen.trial == "bf16"
    assert chosen.because.splitlines() == [
        "114 images/s and 82.5 % accuracy on 200 validation pictures.",
        "1.50 x the speed of fp32 (76.0 images/s, 82.0 % accuracy).",
    ]


def test_a_faster_but_clearly_worse_trial_is_not_taken() -> None:
    # 82 % against 60 % of 200: the 95 % interval of the difference is 13 to 30 points.
    chosen = taken(trial("fp32", 76, 164, 200), trial("bf16", 114, 120, 200))
    assert chosen.trial == "fp32"
    assert "0.667 x the speed of bf16 (114 images/s, 60.0 % accuracy, clearly lower)." in chosen.because


def test_a_slightly_lower_accuracy_within_the_interval_is_as_good() -> None:
    assert taken(trial("fp32", 76, 164, 200), trial("bf16", 114, 158, 200)).trial == "bf16"


def test_few_pictures_do_not_make_a_trial_clearly_worse() -> None:
    # 30 against 28 of 31: the 95 % interval of the difference is -8 to 21 points.
    assert taken(trial("fp32", 19, 30, 31), trial("bf16", 47, 28, 31)).trial == "bf16"


def test_within_noise_the_simpler_trial_stays() -> None:
    assert taken(trial("fp32", 100, 164, 200), trial("bf16", 103, 164, 200)).trial == "fp32"


def test_trials_that_did_not_run_are_never_taken() -> None:
    chosen = taken(trial("cuda", None, not_run="no GPU"), trial("cpu", 5, 90, 100), no_gpu="driver not loaded")
    assert chosen.trial == "cpu"


def test_a_run_on_the_cpu_promises_nothing_of_a_gpu_and_leads_back_to_the_check() -> None:
    chosen = taken(trial("cpu", 5, 90, 100), no_gpu="driver not loaded")
    assert chosen.because.splitlines()[1:] == ["Measured on the CPU: this says nothing about a GPU."]
    assert chosen.next_step == "rigwise check"


def test_a_run_on_a_gpu_leads_to_its_repeat() -> None:
    assert taken(trial("bf16", 114, 165, 200)).next_step == REPEAT


def test_no_trial_at_all_is_said() -> None:
    chosen = taken(trial("cuda", None, not_run="no GPU"))
    assert chosen.trial is None
    assert chosen.because == "No trial ran to the end."
