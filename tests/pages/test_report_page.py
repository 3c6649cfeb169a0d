"""The report in a real browser: what it draws, what it keeps, and what it must never do."""

import csv
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report.sample_run import NASTY_CLASSES, cpu_run, empty_run, gpu_run, one_step_run, stopping_check

from rigwise.records.run import RunRecord
from rigwise.report.html import render_report

pytestmark = pytest.mark.page

RUNS: dict[str, Callable[[], RunRecord]] = {
    "gpu": gpu_run,
    "cpu_stopped": lambda: cpu_run(check=stopping_check()),
    "empty": empty_run,
    "one_step": one_step_run,
    "nasty": lambda: gpu_run(NASTY_CLASSES, check=stopping_check()),
    "forty_classes": lambda: gpu_run([f"class number {number}" for number in range(40)]),
}
PATIENCE_SECONDS = 15.0
NUM_CHARTS = {"empty": 0, "one_step": 1}
FOCUSABLE = "a[href], button, input, summary, [tabindex='0']"


class Opened:
    """A page with everything it complained about or asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def count(self) -> str:
        return self.page.locator("#review-count").inner_text()

    def box(self, card: int, answer: str) -> Any:
        return self.page.locator(".card").nth(card).locator(f"[data-answer={answer}]")


@pytest.fixture(scope="module")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("reports")

    def written(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(render_report(RUNS[name]()), encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="module")
def shared(browser: Any, report_of: Callable[[str], Path]) -> Iterator[Opened]:
    page = Opened(browser, report_of("gpu"), viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield page
    page.context.close()


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    """A page as if just opened: loading five megabytes of chart library anew for each test takes seconds."""
    yield shared
    shared.page.emulate_media(media="screen", color_scheme="light")
    shared.page.set_viewport_size({"width": 1280, "height": 900})
    shared.page.evaluate("document.querySelectorAll('.card :checked').forEach((box) => box.click())")
    shared.complaints.clear()


@pytest.mark.parametrize("name", RUNS)
def test_any_run_opens_on_a_phone_without_a_word_of_complaint(
    browser: Any, report_of: Callable[[str], Path], name: str
) -> None:
    path = report_of(name)
    phone = Opened(browser, path, viewport={"width": 360, "height": 740})
    page = phone.page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.title() == "2026-11-30-1 · rigwise"
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('svg .trace').length)"
    )
    assert len(drawn) == NUM_CHARTS.get(name, 4)
    assert all(drawn), drawn
    assert phone.complaints == []
    assert [url for url in phone.requests if not url.startswith("data:")] == [path.as_uri()]
    phone.context.close()


def test_answers_are_counted_and_survive_a_reload(opened: Opened) -> None:
    assert opened.count() == "0 of 40 reviewed, 0 wrong labels"
    opened.box(0, "right").check()
    opened.box(3, "wrong").check()
    opened.box(5, "right").check()
    opened.box(5, "wrong").check()
    assert not opened.box(5, "right").is_checked()
    assert opened.count() == "3 of 40 reviewed, 2 wrong labels"
    opened.page.reload()
    assert opened.count() == "3 of 40 reviewed, 2 wrong labels"
    assert opened.box(3, "wrong").is_checked()
    opened.box(3, "wrong").uncheck()
    assert opened.count() == "2 of 40 reviewed, 1 wrong labels"


def test_pictures_are_reviewed_with_the_keyboard_alone(opened: Opened) -> None:
    keyboard = opened.page.keyboard
    opened.box(0, "right").focus()
    keyboard.press("ArrowLeft")
    keyboard.press("Space")
    assert opened.box(0, "right").is_checked()
    keyboard.press("ArrowRight")
    keyboard.press("Space")
    assert opened.box(1, "right").is_checked()
    columns = opened.page.evaluate(
        "getComputedStyle(document.querySelector('.cards')).gridTemplateColumns.split(' ').length"
    )
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    keyboard.press("Space")
    assert opened.box(1 + columns, "wrong").is_checked()
    keyboard.press("ArrowUp")
    keyboard.press("Space")
    assert opened.box(1, "wrong").is_checked()
    assert opened.count() == "3 of 40 reviewed, 2 wrong labels"


def test_answers_are_exported(opened: Opened) -> None:
    opened.box(2, "wrong").check()
    with opened.page.expect_download() as download:
        opened.page.click("#export-csv")
    assert download.value.suggested_filename == "2026-11-30-1-review.csv"
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 40
    assert [row["answer"] for row in rows[:4]] == ["", "", "wrong", ""]
    assert rows[2]["path"] == "val/jackets/0002.jpg"
    with opened.page.expect_download() as download:
        opened.page.click("#export-json")
    exported = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert exported["schema"] == "rigwise.review/1"
    assert exported["answers"][2]["answer"] == "wrong"
    assert opened.complaints == []


def test_hostile_names_are_exported_as_they_are(browser: Any, report_of: Callable[[str], Path]) -> None:
    hostile = Opened(browser, report_of("nasty"), accept_downloads=True)
    with hostile.page.expect_download() as download:
        hostile.page.click("#export-csv")
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert [row["truth"] for row in rows[:5]] == list(NASTY_CLASSES)
    hostile.context.close()


def test_a_trial_is_switched_off_in_every_chart_at_once(opened: Opened) -> None:
    def curves() -> list[int]:
        return opened.page.evaluate(
            "['loss', 'accuracy', 'timeline', 'step-time'].map((id) =>"
            " document.querySelectorAll(`#${id} .scatterlayer .trace`).length)"
        )

    before = curves()
    opened.page.locator("#loss [data-trial=fp32]").uncheck()
    assert [now - was for now, was in zip(curves(), before, strict=True)] == [-2, -1, -1, -2]
    assert not opened.page.locator("#timeline [data-trial=fp32]").is_checked()
    opened.page.locator("#timeline [data-trial=fp32]").check()
    assert curves() == before


def assert_soon(read: Callable[[], object], expected: object) -> None:
    """What the page draws anew it draws when it can; the page's own rules forbid that Playwright waits inside of it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while read() != expected and time.monotonic() < until:
        time.sleep(0.05)
    assert read() == expected


def test_charts_follow_the_scheme_of_the_system_and_of_paper(opened: Opened) -> None:
    def colours() -> tuple[str, str]:
        line = "getComputedStyle(document.querySelector('#accuracy .js-line')).stroke"
        return (
            opened.page.evaluate("getComputedStyle(document.body).backgroundColor"),
            opened.page.evaluate(line),
        )

    assert_soon(colours, ("rgb(255, 255, 255)", "rgb(0, 114, 178)"))
    opened.page.emulate_media(color_scheme="dark")
    assert_soon(colours, ("rgb(15, 18, 22)", "rgb(86, 180, 233)"))
    opened.page.emulate_media(color_scheme="dark", media="print")
    assert_soon(colours, ("rgb(255, 255, 255)", "rgb(0, 114, 178)"))


def test_paper_cuts_nothing_off(opened: Opened) -> None:
    paper_width = 718  # A4 at 96 dpi less 10 mm of margin on each side
    opened.page.set_viewport_size({"width": paper_width, "height": 900})
    opened.page.emulate_media(media="print")
    whole = "[document.documentElement, ...document.querySelectorAll('.scroll')]"
    assert_soon(lambda: opened.page.evaluate(f"{whole}.every((each) => each.scrollWidth <= {paper_width})"), True)
    assert opened.page.evaluate(f"{whole}.every((each) => each.scrollWidth <= each.clientWidth)")


def test_everything_that_can_be_used_is_reached_with_tab(browser: Any, report_of: Callable[[str], Path]) -> None:
    opened = Opened(browser, report_of("cpu_stopped"), viewport={"width": 1280, "height": 900})
    usable = opened.page.evaluate(
        f'[...document.querySelectorAll("{FOCUSABLE}")].filter((each) => each.checkVisibility())'
        ".map((each, index) => { each.dataset.order = index; return index; })"
    )
    reached = set()
    for _ in range(len(usable)):
        opened.page.keyboard.press("Tab")
        reached.add(opened.page.evaluate("Number(document.activeElement.dataset.order)"))
    assert len(usable) > 100
    assert reached == set(usable)
    opened.context.close()


def test_answers_that_cannot_be_kept_are_said_not_lost(browser: Any, report_of: Callable[[str], Path]) -> None:
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })")
    page = context.new_page()
    page.goto(report_of("gpu").as_uri())
    page.locator(".card [data-answer=wrong]").first.check()
    assert page.locator("#review-count").inner_text() == "1 of 40 reviewed, 1 wrong labels"
    assert page.locator("#not-kept").inner_text().startswith("This browser does not keep your answers")
    context.close()
