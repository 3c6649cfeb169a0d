import math
from typing import Any

from report.sample_run import GPU, cpu_run, empty_run, gpu_run, one_step_run

from rigwise.knowledge.metrics import load_metrics
from rigwise.records.run import RunRecord, Sample, Step
from rigwise.report.charts import accuracy_chart, loss_chart, step_time_chart
from rigwise.report.figures import Chart, trial_accents
from rigwise.report.timeline import timeline_chart


def charts_of(run: RunRecord) -> dict[str, Chart]:
    accents = trial_accents(run)
    charts = (loss_chart(run, accents), accuracy_chart(run, accents), step_time_chart(run, accents),
              timeline_chart(run, accents, load_metrics()))  # fmt: skip
    return {chart.id: chart for chart in charts}


def traces_of(chart: Chart) -> list[dict[str, Any]]:
    assert chart.figure is not None
    return chart.figure["data"]


def axis_titles(chart: Chart) -> list[str]:
    assert chart.figure is not None
    return [value["title"]["text"] for name, value in chart.figure["layout"].items() if "axis" in name]


def step(number: int, **changes: float) -> Step:
    fields = {"trial": "fp32", "step": number, "at": number, "step_seconds": 1.0, "data_seconds": 0.1, "loss": 1.0}
    return Step(**(fields | changes))


def test_every_axis_is_named_and_has_its_unit_where_there_is_one() -> None:
    for run in (gpu_run(), cpu_run(), one_step_run()):
        for chart in charts_of(run).values():
            if chart.figure:
                assert all(axis_titles(chart))
    assert axis_titles(charts_of(gpu_run())["timeline"]) == [
        "time since start (s)", "step", "VRAM<br>(GiB)", "GPU use<br>(%)", "temperature<br>(°C)", "power<br>(W)",
        "clock<br>(MHz)", "CPU<br>(cores)", "RAM<br>(GiB)"]  # fmt: skip


def test_each_trial_keeps_its_colour_through_every_chart() -> None:
    colours: dict[str, set[str]] = {}
    for chart in charts_of(gpu_run()).values():
        for trace in traces_of(chart):
            if "meta" in trace:
                colours.setdefault(trace["meta"]["trial"], set()).add(trace["line"]["color"])
    assert sorted(colours) == ["bf16", "bf16 batch 64", "fp32"]
    assert all(len(own) == 1 for own in colours.values())
    assert len(set.union(*colours.values())) == 3


def test_more_trials_than_colours_differ_by_dash() -> None:
    steps = tuple(step(1, trial=f"trial {number}") for number in range(9))  # type: ignore[arg-type]
    accents = trial_accents(gpu_run(trials=(), steps=steps, validations=()))
    assert len({(accent.token, accent.dash) for accent in accents.values()}) == 9


def test_an_empty_run_says_why_there_is_no_chart() -> None:
    for chart in charts_of(empty_run()).values():
        assert chart.figure is None
        assert chart.why_empty.endswith(".")


def test_a_loss_that_is_not_finite_is_a_gap_and_is_said() -> None:
    steps = (step(1), step(2, loss=math.nan), step(3, loss=math.inf), step(4))
    chart = loss_chart(gpu_run(steps=steps), trial_accents(gpu_run(steps=steps)))
    assert traces_of(chart)[0]["y"] == [1.0, None, None, 1.0]
    assert "fp32: the loss is not finite in 2 of 4 steps, first at step 2." in chart.caption


def test_a_loss_that_never_was_a_number_leaves_no_empty_chart() -> None:
    assert charts_of(one_step_run())["loss"].why_empty == "The loss was not finite in any step."


def test_accuracy_bars_are_the_interval() -> None:
    trace = traces_of(charts_of(gpu_run())["accuracy"])[0]
    assert trace["y"][-1] == 81.5  # 163 of 200
    assert round(trace["y"][-1] - trace["error_y"]["arrayminus"][-1], 1) == 75.5
    assert round(trace["y"][-1] + trace["error_y"]["array"][-1], 1) == 86.3


def test_accuracy_is_set_beside_always_answering_the_commonest_class() -> None:
    # 40 + 35 + 30 + 25 + 40 validation pictures, 40 in the commonest class: 23.5 %
    chart = charts_of(gpu_run())["accuracy"]
    assert chart.legend[-1].label == "always the commonest class: 23.5 %"
    assert chart.figure is not None
    assert chart.figure["layout"]["shapes"][0]["y0"] == 23.53


def test_a_slow_first_step_does_not_flatten_the_rest_and_is_said() -> None:
    steps = (step(1, step_seconds=60.0), *(step(number) for number in range(2, 101)))
    chart = step_time_chart(gpu_run(steps=steps), trial_accents(gpu_run(steps=steps)))
    assert chart.figure is not None
    assert chart.figure["layout"]["yaxis"]["range"][1] < 2
    assert "Steps above the chart: 1, the longest 60.0 s." in chart.caption


def test_waiting_for_pictures_is_drawn_dotted_beside_the_step() -> None:
    whole, wait = traces_of(charts_of(cpu_run())["step-time"])[:2]
    assert wait["line"] == {**whole["line"], "dash": "dot"}
    assert all(part < all_of_it for part, all_of_it in zip(wait["y"], whole["y"], strict=True))


def test_the_timeline_shades_the_time_each_trial_trained() -> None:
    run = gpu_run()
    chart = charts_of(run)["timeline"]
    assert chart.figure is not None
    band = chart.figure["layout"]["shapes"][1]
    own = [each for each in run.steps if each.trial == "bf16"]
    assert band["name"] == "bf16"
    assert math.isclose(band["x0"], own[0].at - own[0].step_seconds, rel_tol=1e-4)
    assert math.isclose(band["x1"], own[-1].at, rel_tol=1e-4)


def test_without_a_gpu_the_timeline_shows_the_process_the_cores_and_the_unknown() -> None:
    chart = charts_of(cpu_run())["timeline"]
    names = [trace["name"] for trace in traces_of(chart)]
    assert "CPU core utilisation, mean of 16" in names
    assert "CPU core utilisation, highest of 16" in names
    assert "RAM of this run" in names
    assert "fan_turns" in names  # no row in metrics.csv: drawn under its own name
    highest = traces_of(chart)[names.index("CPU core utilisation, highest of 16")]
    assert set(highest["y"]) == {90.0}


def test_two_gpus_have_two_colours_and_each_keeps_its_own() -> None:
    other = GPU.replace("5a1cafe0", "beefbeef")
    samples = tuple(
        Sample(at=at, metric=metric, target=target, value=value)
        for at in (1.0, 2.0)
        for metric, value in (("memory_used_bytes", 2.0**30), ("temperature_celsius", 60.0))
        for target in (GPU, other)
        if (metric, target) != ("memory_used_bytes", GPU)
    )
    lines = [trace for trace in traces_of(charts_of(gpu_run(samples=samples))["timeline"]) if "yaxis" in trace]
    colours = {
        target: {trace["line"]["color"] for trace in lines if target[:12] in trace["name"]} for target in (GPU, other)
    }
    assert all(len(own) == 1 for own in colours.values())
    assert colours[GPU] != colours[other]


def test_a_long_run_has_its_time_axis_in_minutes() -> None:
    samples = tuple(Sample(at=at, metric="power_draw_watts", target=GPU, value=300.0) for at in (0.0, 1200.0))
    chart = charts_of(gpu_run(samples=samples))["timeline"]
    assert "time since start (min)" in axis_titles(chart)
    assert next(trace for trace in traces_of(chart) if trace["name"] == "Power draw")["x"] == [0.0, 20.0]


def test_bit_masks_and_the_cost_of_sampling_are_no_curves() -> None:
    masks = (Sample(at=1.0, metric="clocks_event_reasons", target=GPU, value=4.0),)
    assert charts_of(gpu_run(samples=masks))["timeline"].figure is None


def test_names_from_outside_do_not_become_tags() -> None:
    steps = (step(1, trial="<b>bold</b>"), step(2, trial="<b>bold</b>"))  # type: ignore[arg-type]
    run = gpu_run(trials=(), steps=steps, validations=())
    names = [trace["name"] for chart in charts_of(run).values() if chart.figure for trace in traces_of(chart)]
    assert names
    assert not any("<b>" in name for name in names)
