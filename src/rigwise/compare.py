"""Two machines, or one on two days: what a machine is, and what changed between two looks. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from rigwise.aspects import GPU_ASPECTS, GPU_STATES, NAME, RIG_ASPECTS, SLOT, UUID, Aspect, Of
from rigwise.records.difference import Change, Difference, Kind
from rigwise.records.finding import RIG, CheckReport, Finding, Severity, Verdict
from rigwise.records.gpu import Gpu
from rigwise.records.identity import MASKED_UUID_END, Fact, RigIdentity
from rigwise.records.rig import Rig
from rigwise.speech import say

KINDS = tuple(Kind)
"""Most relevant first, as Kind lists them."""
FRAMEWORKS = frozenset({"torch", "tensorflow", "jax"})
NOT_THERE = say("none")
Pair = tuple[Gpu | None, Gpu | None]


def identity(rig: Rig) -> RigIdentity:
    """The lockable description of a machine."""
    return RigIdentity(
        facts={aspect.key: aspect.of(rig) for aspect in RIG_ASPECTS},
        gpus=tuple({aspect.key: aspect.of(gpu) for aspect in GPU_ASPECTS} for gpu in rig.gpus),
        packages=packages(rig),
        driver_packages={package.name: package.version for package in rig.stack.driver_packages.value_or(())},
        environment=dict(rig.interpreter.value.environment) if rig.interpreter.value else {},
    )


def packages(rig: Rig) -> dict[str, str]:
    """The version of each framework and package of the user's Python, by name."""
    interpreter = rig.interpreter.value
    if interpreter is None:
        return {}
    found = {package.name: package.version for package in interpreter.packages}
    return found | {framework.name: framework.version for framework in interpreter.frameworks if framework.version}


class Look:
    """One side of a comparison."""

    def __init__(self, name: str, rig: Rig, report: CheckReport) -> None:
        self.name = name
        self.rig = rig
        self.problems = {
            (finding.check, finding.short_target): finding
            for finding in report.findings
            if finding.verdict is Verdict.PROBLEM
        }
        self.answered = {finding.check for finding in report.findings if finding.verdict is not Verdict.UNKNOWN}


def compare(before: Look, after: Look) -> Difference:
    """What changed from one look to the other, most relevant first."""
    pairs = paired(before.rig.gpus, after.rig.gpus)
    ledger = _Ledger()
    ledger.changes += _findings(before, after)
    ledger.changes += [change for pair in pairs for change in _cards(*pair)]
    ledger.compare(RIG, RIG_ASPECTS, before.rig, after.rig)
    for card, same in pairs:
        if card is not None and same is not None:
            ledger.compare(f"GPU {same.index}", (SLOT, *GPU_ASPECTS[3:], *GPU_STATES), card, same)
    old, new = identity(before.rig), identity(after.rig)
    ledger.compare_named(Kind.PACKAGE, old.packages, new.packages)
    ledger.compare_named(Kind.PACKAGE, old.driver_packages, new.driver_packages)
    ledger.compare_named(Kind.SETTING, old.environment, new.environment)
    changes = tuple(sorted(ledger.changes, key=lambda change: KINDS.index(change.kind)))
    return Difference(
        before=before.name,
        after=after.name,
        changed=any(change.kind is not Kind.MOMENT for change in changes),
        changes=changes,
        num_equal=ledger.num_equal,
        only_before=tuple(ledger.only_before),
        only_after=tuple(ledger.only_after),
    )


class _Ledger:
    """Collects what is equal, what changed, and what only one side tells."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.num_equal = 0
        self.only_before: list[str] = []
        self.only_after: list[str] = []

    def compare(self, target: str, aspects: Sequence[Aspect[Of]], before: Of, after: Of) -> None:
        """Every aspect of two things that belong together."""
        for aspect in aspects:
            old, new = aspect.of(before), aspect.of(after)
            if old is None or new is None:
                self._count_missing(aspect.key if target == RIG else f"{target} {aspect.key}", old, new)
            elif aspect.shown(old) == aspect.shown(new):
                self.num_equal += 1
            else:
                self.changes.append(_changed(aspect, target, old, new))

    def compare_named(self, kind: Kind, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Every name, where both sides tell of any; frameworks are part of the stack."""
        for name in sorted({*before, *after}) if before and after else ():
            old, new = before.get(name), after.get(name)
            if old == new:
                self.num_equal += 1
                continue
            words = f"{old or NOT_THERE} -> {new or NOT_THERE}"
            known = Kind.STACK if name in FRAMEWORKS else kind
            self.changes.append(Change(kind=known, key=name, what=name, target=RIG, before=old, after=new, words=words))

    def _count_missing(self, key: str, old: Fact, new: Fact) -> None:
        if old is not None:
            self.only_before.append(key)
        if new is not None:
            self.only_after.append(key)


def _changed(aspect: Aspect[Of], target: str, old: Fact, new: Fact) -> Change:
    words = aspect.words(old, new)
    return Change(kind=aspect.kind, key=aspect.key, what=aspect.what, target=target, before=old, after=new, words=words)


def _findings(before: Look, after: Look) -> Iterator[Change]:
    """Problems that one side has and the other, which can tell, has not; the gravest first."""
    severities = tuple(Severity)
    gone = [problem for key, problem in before.problems.items() if key not in after.problems]
    come = [problem for key, problem in after.problems.items() if key not in before.problems]
    changes: list[tuple[Finding, Fact, Fact]] = [
        (problem, None, problem.severity) for problem in come if problem.check in before.answered
    ]
    changes += [(problem, problem.severity, None) for problem in gone if problem.check in after.answered]
    for problem, old, new in sorted(changes, key=lambda change: severities.index(change[0].severity), reverse=True):
        yield Change(
            kind=Kind.FINDING if problem.severity is not Severity.NOTE else Kind.MOMENT,
            key=problem.check,
            what=problem.title,
            target=problem.short_target,
            before=old,
            after=new,
            words=say("went") if new is None else say("appeared"),
        )


def paired(before: Sequence[Gpu], after: Sequence[Gpu]) -> list[Pair]:
    """The same cards by UUID; what is left over, or masked, by its place."""
    left = {gpu.uuid.value or f"{gpu.index}": gpu for gpu in after}
    pairs: list[Pair] = []
    unmatched = []
    for old in before:
        same = left.pop(old.uuid.value, None) if old.uuid.value else None
        if same is None:
            unmatched.append(old)
        else:
            pairs.append((old, same))
    rest = list(left.values())
    for old in unmatched:
        here = next((new for new in rest if _same_place(old, new)), None)
        if here is not None:
            rest.remove(here)
        pairs.append((old, here))
    return pairs + [(None, new) for new in rest]


def _same_place(old: Gpu, new: Gpu) -> bool:
    if old.pci_bus_id.value and new.pci_bus_id.value:
        return old.pci_bus_id.value == new.pci_bus_id.value
    return old.index == new.index


def _cards(old: Gpu | None, new: Gpu | None) -> Iterator[Change]:
    """A card that came, went, or was swapped for another in the same place."""
    if old is None and new is not None:
        yield _card(say("GPU added"), f"GPU {new.index}", None, _label(new))
    elif new is None and old is not None:
        yield _card(say("GPU removed"), f"GPU {old.index}", _label(old), None)
    elif old is not None and new is not None and _swapped(old, new):
        yield _card(say("GPU swapped"), f"GPU {new.index}", _label(old), _label(new))


def _card(what: str, target: str, old: str | None, new: str | None) -> Change:
    words = " -> ".join(label for label in (old, new) if label is not None)
    return Change(kind=Kind.GPU, key="gpu", what=what, target=target, before=old, after=new, words=words)


def _swapped(old: Gpu, new: Gpu) -> bool:
    """Whether another card is in the same place; masked UUIDs of two recordings never agree, so they tell nothing."""
    uuids = UUID.of(old), UUID.of(new)
    if None not in uuids and not any(str(uuid).endswith(MASKED_UUID_END) for uuid in uuids):
        return uuids[0] != uuids[1]
    names = NAME.of(old), NAME.of(new)
    return None not in names and names[0] != names[1]


def _label(gpu: Gpu) -> str:
    known = [reading.value for reading in (gpu.name, gpu.uuid) if reading.value]
    return ", ".join(known) or f"GPU {gpu.index}"
