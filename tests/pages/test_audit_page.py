"""The page of an audit in a real browser: what it shows, and that answers given on it reach the next run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit.audited_sets import CLASSES, HUES, audited, draw_set, encoded, recoloured, scene

from rigwise.records.review import Answer
from rigwise.report.audit_page import render_audit
from rigwise.train.audit.review_file import read_review

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with a shortcut, two copies, an unreadable file and a name that means harm."""
    root = tmp_path_factory.mktemp("pages") / "set"
    draw_set(root, dict.fromkeys(CLASSES, 8), lambda image, name, _: recoloured(image, HUES[name]))
    original = recoloured(scene("set/a/0"), HUES["a"])
    (root / "a" / "<b>copy.jpg").write_bytes(encoded(original))
    (root / "b" / "copy.jpg").write_bytes(encoded(original, quality=50))
    (root / "c" / "empty.jpg").touch()
    return root


@pytest.fixture(scope="module")
def written(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    earlier = (Answer(kind="label", path="d/007.png", answer="wrong"),)
    path.write_text(render_audit(audited(pictures), "2026-11-30-1", earlier), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, written: Path) -> Iterator[tuple[Any, list[str]]]:
    """The page on a phone, and what it complained about or asked for."""
    context = browser.new_context(viewport={"width": 360, "height": 740}, accept_downloads=True)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url.startswith("http") else None)
    page.goto(written.as_uri())
    yield page, heard
    context.close()


def test_it_fits_a_phone_shows_the_pictures_and_complains_of_nothing(opened: tuple[Any, list[str]]) -> None:
    page, heard = opened
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator(".card").count() == 2
    assert page.locator(".card img").count() == 4
    assert page.locator(".examples img").count() == 8
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    assert "the colour of the border alone predicts the class" in page.locator("#audit").inner_text()
    assert "c/empty.jpg empty file (0 bytes)" in page.locator("#audit").inner_text()
    assert heard == []


def test_what_a_person_answers_is_exported_with_what_was_answered_before_and_used(
    opened: tuple[Any, list[str]], pictures: Path, tmp_path: Path
) -> None:
    page, heard = opened
    hostile = page.locator(".card", has=page.locator('img[alt="a/<b>copy.jpg"]')).first
    hostile.locator("[data-answer=wrong]").focus()
    page.keyboard.press("Space")
    assert page.locator("#review-count").inner_text() == "1 of 2 reviewed, 1 to leave out"
    page.reload()
    assert page.locator("#review-count").inner_text() == "1 of 2 reviewed, 1 to leave out"
    with page.expect_download() as download:
        page.click("#export-json")
    exported = Path(download.value.path()).rename(tmp_path / "review.json")
    review = read_review(exported)
    report = audited(pictures, review=review)
    assert [each.path for each in report.suspects] == ["b/copy.jpg"]
    assert report.left_out == ("a/<b>copy.jpg", "d/007.png")
    assert heard == []
