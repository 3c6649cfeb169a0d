"""The split rule: stratified, complete, repeatable, and unmoved by what it must not depend on."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rigwise.train.pictures.split import split_groups, split_sizes

RATIOS = st.floats(0, 0.5)
SEEDS = st.integers(0, 2**32)
SIZES = st.dictionaries(st.sampled_from(["bags", "jackets", "shoes", "watches"]), st.integers(2, 60), min_size=2)


def distinct_groups(sizes: dict[str, int]) -> dict[str, list[str]]:
    return {label: [f"{label}{number}" for number in range(size)] for label, size in sizes.items()}


@given(SIZES, SEEDS, RATIOS, RATIOS)
def test_every_group_is_placed_once_and_every_class_trains_and_validates(
    sizes: dict[str, int], seed: int, val_ratio: float, test_ratio: float
) -> None:
    groups = distinct_groups(sizes)
    placed = split_groups(groups, seed=seed, val_ratio=val_ratio, test_ratio=test_ratio)
    assert set(placed) == {group for members in groups.values() for group in members}
    for members in groups.values():
        numbers = Counter(placed[group] for group in members)
        assert numbers["train"] >= 1
        assert numbers["val"] >= 1
        assert dict(numbers) == {
            split: wanted for split, wanted in split_sizes(len(members), val_ratio, test_ratio).items() if wanted
        }


@given(SIZES, SEEDS, st.randoms())
def test_order_of_names_and_files_does_not_matter(sizes: dict[str, int], seed: int, random: object) -> None:
    groups = distinct_groups(sizes)
    shuffled = {label: random.sample(groups[label], len(groups[label])) for label in reversed(groups)}
    expected = split_groups(groups, seed=seed, val_ratio=0.15, test_ratio=0.15)
    assert split_groups(shuffled, seed=seed, val_ratio=0.15, test_ratio=0.15) == expected


@given(SIZES, SEEDS)
def test_a_new_picture_moves_nothing_in_other_classes(sizes: dict[str, int], seed: int) -> None:
    groups = distinct_groups(sizes)
    before = split_groups(groups, seed=seed, val_ratio=0.15, test_ratio=0.15)
    grown, *others = groups
    after = split_groups(groups | {grown: [*groups[grown], "new"]}, seed=seed, val_ratio=0.15, test_ratio=0.15)
    for label in others:
        assert [after[group] for group in groups[label]] == [before[group] for group in groups[label]]
    moved = [group for group in groups[grown] if after[group] != before[group]]
    assert len(moved) <= 2  # one over each border


@given(SIZES, SEEDS, st.integers(1, 5))
def test_groups_in_two_classes_leave_train_and_val_filled(sizes: dict[str, int], seed: int, num_shared: int) -> None:
    groups = distinct_groups(sizes)
    first, second, *_ = groups
    groups[first] = groups[first] + groups[second][:num_shared]
    placed = split_groups(groups, seed=seed, val_ratio=0.15, test_ratio=0.15)
    for members in groups.values():
        assert {"train", "val"} <= {placed[group] for group in members}


def test_another_seed_gives_another_split() -> None:
    groups = distinct_groups({"bags": 50, "shoes": 50})
    splits = [split_groups(groups, seed=seed, val_ratio=0.15, test_ratio=0.15) for seed in (0, 1)]
    assert splits[0] != splits[1]


def test_sizes_follow_the_ratios() -> None:
    assert split_sizes(100, 0.15, 0.15) == {"val": 15, "train": 70, "test": 15}
    assert split_sizes(3, 0.15, 0.15) == {"val": 1, "train": 2, "test": 0}
    assert split_sizes(2, 0.9, 0.9) == {"val": 1, "train": 1, "test": 0}
