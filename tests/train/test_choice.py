from rigwise.records.run import TrialResult
from rigwise.train.choice import recommend


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


def test_the_fastest_as_good_trial_is_taken() -> None:
    chosen = recommend([trial("fp32", 76, 164, 200), trial("bf16", 114, 165, 200)], no_gpu="")
    assert chosen.trial == "bf16"
    assert "1.50 x the speed of fp32" in chosen.because


def test_a_faster_but_clearly_worse_trial_is_not_taken() -> None:
    # 60 % of 200: the 95 % Wilson interval ends at 66.5 %, below 82 %.
    assert recommend([trial("fp32", 76, 164, 200), trial("bf16", 114, 120, 200)], no_gpu="").trial == "fp32"


def test_a_slightly_lower_accuracy_within_the_interval_is_as_good() -> None:
    assert recommend([trial("fp32", 76, 164, 200), trial("bf16", 114, 158, 200)], no_gpu="").trial == "bf16"


def test_within_noise_the_simpler_trial_stays() -> None:
    assert recommend([trial("fp32", 100, 164, 200), trial("bf16", 103, 164, 200)], no_gpu="").trial == "fp32"


def test_trials_that_did_not_run_are_never_taken() -> None:
    rows = [trial("cuda", None, not_run="no GPU"), trial("cpu", 5, 90, 100)]
    chosen = recommend(rows, no_gpu="driver not loaded")
    assert chosen.trial == "cpu"
    assert "driver not loaded" in chosen.because


def test_no_trial_at_all_is_said() -> None:
    chosen = recommend([trial("cuda", None, not_run="no GPU")], no_gpu="")
    assert chosen.trial is None
    assert chosen.because == "no trial ran to the end"
