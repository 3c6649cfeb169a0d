"""The page of a check in a real browser: narrow, dark, printed, and with evidence that means harm."""

from pathlib import Path
from typing import Any

import pytest
from report.sample_run import healthy_check, stopping_check

from rigwise.records.finding import CheckReport
from rigwise.report.check_page import render_check

pytestmark = pytest.mark.page
LINES = ("2 x GeForce RTX 4090, 24.0 GiB VRAM", "driver 570.124.06, CUDA up to 12.8", "a-word-without-spaces" * 20)


@pytest.fixture(params=["healthy", "stopped"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    report: CheckReport = healthy_check() if request.param == "healthy" else stopping_check()
    path = tmp_path / "page.html"
    path.write_text(render_check(report, LINES, "this machine"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1280, "light")])
def test_it_fits_and_complains_of_nothing(browser: Any, page: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
    opened = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(page.as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    assert requests == [page.as_uri()]
    background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    context.close()


def test_what_is_folded_opens_by_keyboard(browser: Any, page: Path) -> None:
    opened = browser.new_page()
    opened.goto(page.as_uri())
    folded = opened.locator("details").first
    folded.locator("summary").focus()
    opened.keyboard.press("Enter")
    assert folded.evaluate("element => element.open")
    opened.close()
