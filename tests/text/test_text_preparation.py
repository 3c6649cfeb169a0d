"""From what the user asked for to data that can be used, where that data is texts."""

import os
from pathlib import Path

import pytest
from text_laboratory import documents, text_recipe, write_texts
from training_lab import draw_easy_pictures

from rigwise.errors import BadInput
from rigwise.train.knobs.for_trials import at_rate
from rigwise.train.preparation import PreparedPictures, PreparedTexts, Request, prepare
from rigwise.train.progress import Silent
from rigwise.train.recipe_sections import Recipe
from rigwise.train.repeat import Earlier
from rigwise.train.text.choices import with_choices
from rigwise.train.text.ledger import FILE_NAME, read_text_lines, text_lines


def asked(root: Path, tmp_path: Path, **options: object) -> Request:
    return Request(root=root, recipe=text_recipe(), out=tmp_path / "run", **options)


def earlier_run(root: Path, tmp_path: Path) -> Earlier:
    """What a run on these texts left."""
    prepared = prepare(asked(root, tmp_path), Silent())
    assert isinstance(prepared, PreparedTexts)
    ledger = tmp_path / FILE_NAME
    ledger.write_text(text_lines(root, prepared.texts))
    return Earlier(folder=tmp_path, recipe=text_recipe(), ledger=read_text_lines(ledger), steps=())


def test_data_is_recognised_by_itself(tmp_path: Path) -> None:
    texts = prepare(asked(write_texts(tmp_path / "texts", documents(9)), tmp_path, model="/a/folder"), Silent())
    assert isinstance(texts, PreparedTexts)
    assert texts.recipe.text.model == "/a/folder"
    pictures = prepare(asked(draw_easy_pictures(tmp_path / "pictures"), tmp_path, model="resnet18"), Silent())
    assert isinstance(pictures, PreparedPictures)
    assert (pictures.recipe.model.name, pictures.recipe.text.model) == ("resnet18", "tiny")


def test_the_learning_rate_follows_the_model_unless_it_is_given() -> None:
    def rate(model: str | None, **text: object) -> tuple[float, float]:
        recipe = with_choices(text_recipe(**text), model)
        return recipe.training.learning_rate, recipe.text.learning_rate

    assert rate(None) == (1e-3, 1e-3)
    assert rate("/a/folder") == (5e-5, 5e-5)
    assert rate("/a/folder", lora_rank=4) == (2e-4, 2e-4)
    assert rate("/a/folder", learning_rate=1e-4) == (1e-4, 1e-4)
    assert with_choices(with_choices(text_recipe(), None), None) == with_choices(text_recipe(), None)


def test_a_folder_that_is_there_is_named_in_full(tmp_path: Path) -> None:
    assert with_choices(text_recipe(), os.path.relpath(tmp_path)).text.model == str(tmp_path)
    assert with_choices(text_recipe(), "gpt2").text.model == "gpt2"


def test_a_learning_rate_that_was_found_is_that_of_a_repeat() -> None:
    found = at_rate(with_choices(text_recipe(), None), 0.02)
    assert with_choices(found, None).training.learning_rate == 0.02
    assert at_rate(Recipe(), 0.02).text == Recipe().text


def test_a_repeat_keeps_the_split_and_names_what_changed(tmp_path: Path) -> None:
    root = write_texts(tmp_path / "texts", documents(30))
    earlier = earlier_run(root, tmp_path)
    before = prepare(asked(root, tmp_path), Silent())
    validating = before.texts.val[0].path
    (root / validating).write_text("other words")
    (root / "000.txt").unlink()
    (root / "a new\none.txt").write_text("new")
    again = prepare(asked(root, tmp_path, earlier=earlier), Silent())
    assert set(again.changed) == {
        f"{validating}: its words changed",
        "000.txt: missing or unreadable now",
        "a new\\none.txt: new",
    }
    assert validating in {document.path for document in again.texts.val}


def test_a_single_text_is_repeated_at_the_same_cut(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("one line\n" * 50 + "another\n")
    earlier = earlier_run(book, tmp_path)
    assert earlier.ledger.root == book
    again = prepare(asked(book, tmp_path, earlier=earlier), Silent())
    assert again.changed == ()
    assert [document.name for document in again.texts.val] == [
        name for name, recorded in earlier.ledger.documents.items() if recorded.split == "val"
    ]


def test_a_repeat_on_another_kind_of_data_is_refused(tmp_path: Path) -> None:
    earlier = earlier_run(write_texts(tmp_path / "texts", documents(9)), tmp_path)
    pictures = draw_easy_pictures(tmp_path / "pictures")
    with pytest.raises(BadInput, match="cannot repeat") as caught:
        prepare(asked(pictures, tmp_path, earlier=earlier), Silent())
    assert caught.value.why == "one of the two is pictures, the other texts"


def test_a_repeat_whose_texts_are_gone_is_refused(tmp_path: Path) -> None:
    root = write_texts(tmp_path / "texts", documents(9))
    earlier = earlier_run(root, tmp_path)
    elsewhere = write_texts(tmp_path / "others", [f"other {number}" for number in range(9)])
    for number in range(9):
        (elsewhere / f"{number:03}.txt").rename(elsewhere / f"other{number}.txt")
    renamed = prepare(asked(elsewhere, tmp_path, earlier=earlier), Silent())
    assert len(renamed.changed) == 18
    with pytest.raises(BadInput, match="are no longer in"):
        prepare(asked(tmp_path / "gone", tmp_path, earlier=earlier), Silent())


@pytest.mark.parametrize("rows", ["", "# root\tx\n# head\ntrain\ttwo\n", "# root\tx\n# head\nno\tsplit\there\n"])
def test_a_damaged_ledger_is_one_clear_error(tmp_path: Path, rows: str) -> None:
    (tmp_path / FILE_NAME).write_text(rows)
    with pytest.raises(BadInput, match="cannot repeat"):
        read_text_lines(tmp_path / FILE_NAME)
