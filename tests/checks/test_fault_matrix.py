"""Each fault, injected, is led by its own check."""

from fault_matrix import NONE, Injection, injections, matrix

from rigwise.knowledge.check_catalogue import check_catalogue


def test_no_fault_is_led_by_another_check() -> None:
    found = list(injections())
    assert {one.fault for one in found} >= {check for check, row in check_catalogue().items() if not row.told_only}
    astray = [f"{one.case}: {one.leader} leads instead of {one.fault}" for one in found if one.fault != one.leader]
    assert not astray, "\n".join(astray)


def test_the_matrix_shows_what_is_off_its_diagonal() -> None:
    found = [
        Injection("gpu_lost/problem_a", "gpu_lost", "gpu_lost"),
        Injection("gpu_lost/problem_b", "gpu_lost", "hot_gpu"),
        Injection("hot_gpu/problem_c", "hot_gpu", NONE),
    ]
    assert list(matrix(found)) == ["gpu_lost 11.", " hot_gpu .:1", "  (none) ..:"]
