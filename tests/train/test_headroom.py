from rigwise.records.run import TrialResult
from rigwise.train.headroom import why_larger_does_not_fit
from rigwise.units import GIB


def measured(peak_reserved_bytes: int | None, not_run: str | None = None) -> TrialResult:
    return TrialResult(
        name="bf16",
        device="cuda:0",
        precision="bf16",
        batch_size=32,
        image_size=224,
        steps=200,
        peak_reserved_bytes=peak_reserved_bytes,
        not_run=not_run,
    )


def test_room_for_twice_the_peak_fits() -> None:
    assert why_larger_does_not_fit(measured(4 * GIB), 64, free_bytes=10 * GIB) is None


def test_exactly_nine_tenths_fits_and_a_byte_less_does_not() -> None:
    assert why_larger_does_not_fit(measured(9 * GIB), 64, free_bytes=20 * GIB) is None
    why = why_larger_does_not_fit(measured(9 * GIB), 64, free_bytes=20 * GIB - 2)
    assert why is not None
    assert "9.00 GiB at batch 32 becomes up to 18.0 GiB at batch 64, over 90.0 % of the 20.0 GiB free" in why


def test_what_was_not_measured_gives_no_headroom() -> None:
    assert why_larger_does_not_fit(measured(None), 64, free_bytes=80 * GIB) is not None
    assert why_larger_does_not_fit(measured(GIB, not_run="out of memory"), 64, free_bytes=80 * GIB) is not None
