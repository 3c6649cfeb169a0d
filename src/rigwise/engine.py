"""Runs the checks of the catalogue over a rig. Must not know any check by name."""

import difflib
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from rigwise.compare import identity
from rigwise.decide import SEVERITIES, decide
from rigwise.errors import BadInput
from rigwise.knowledge.advice import mending_command
from rigwise.knowledge.check_catalogue import CheckRow, check_catalogue
from rigwise.probes.rig import read_rig
from rigwise.records.evidence import Quote, Status
from rigwise.records.finding import RIG, Action, CheckReport, Decision, Finding, Problem, Severity, Verdict
from rigwise.records.gpu import Gpu
from rigwise.records.reading import AbsentReading, Reading, watch_readings
from rigwise.records.rig import Rig
from rigwise.records.told import Told
from rigwise.sources.source import Source
from rigwise.speech import say

Examination = Callable[[], Iterable[Problem]]


def diagnose(source: Source, *, python: str | None = None, only: Sequence[str] = ()) -> CheckReport:
    """The decision about the machine behind `source`, with every finding. `only` names the checks to run."""
    selected = chosen_checks(only)
    return judge(read_rig(source, python=python), selected)


def judge(rig: Rig, only: Sequence[str] = ()) -> CheckReport:
    """The decision about a machine already read."""
    report = decide(run_checks(rig, only))
    return msgspec.structs.replace(report, decision=_unless_failed(report, rig), identity=identity(rig))


def _unless_failed(report: CheckReport, rig: Rig) -> Decision:
    """The decision; that it cannot be told where a program failed in unknown words and nothing else was found."""
    found = any(finding.verdict is Verdict.PROBLEM for finding in report.findings)
    if report.decision.action is not Action.GO or found or not rig.broke_off.present:
        return report.decision
    because = say("it tells of a failure that rigwise does not know: {line}", line=rig.broke_off.need())
    return Decision(action=Action.CANNOT_TELL, because=because, next_steps=("rigwise check",))


def run_checks(rig: Rig, only: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What every check says of every target, most trusted check first."""
    catalogue = check_catalogue()
    return tuple(finding for check in chosen_checks(only) for finding in _of_check(check, catalogue[check], rig))


def _of_check(check: str, row: CheckRow, rig: Rig) -> list[Finding]:
    """The findings of one check; an error text that tells of its fault is a problem, or more evidence for one.

    A line of the kernel log overrules no module: it may have seen that the line belongs to the past. What a program
    failed of is as serious as the fault can be, however mild the module found its sign, unless it noted that very
    text as harmless.
    """
    found = [
        finding for target, examine in _examinations(check, rig) for finding in _findings(check, row, target, examine)
    ]
    judged_the_log = not row.told_only and any(finding.verdict is Verdict.OK for finding in found)
    told = [one for one in rig.told if one.check == check and not (one.where == "kernel" and judged_the_log)]
    if not told:
        return found
    problems = [finding for finding in found if finding.verdict is Verdict.PROBLEM]
    if not problems:
        return [_told_problem(check, row, told, rig)]
    shown = {quote.text for quote in problems[0].evidence}
    quotes = tuple(one.quote for one in told if one.quote.text not in shown)
    evidence = tuple(dict.fromkeys((*problems[0].evidence, *quotes)))
    judged = shown if problems[0].severity is Severity.NOTE else set()
    printed = [one.severity or row.severity for one in told if one.where == "program" and one.quote.text not in judged]
    gravest = max((problems[0].severity, *printed), key=SEVERITIES.index)
    first = msgspec.structs.replace(problems[0], evidence=evidence, severity=gravest)
    return [first, *problems[1:]]


def _told_problem(check: str, row: CheckRow, told: Sequence[Told], rig: Rig) -> Finding:
    """One problem, however many texts tell of it; the first one says what it means."""
    first = told[0]
    return Finding(
        check=check,
        target=first.target or RIG,
        title=row.title,
        verdict=Verdict.PROBLEM,
        severity=max((one.severity or row.severity for one in told), key=SEVERITIES.index),
        because=first.meaning,
        evidence=tuple(dict.fromkeys(one.quote for one in told)),
        next_steps=(first.action, *(_mending(told, rig) or first.next_steps or row.next_steps)),
    )


def _mending(told: Sequence[Told], rig: Rig) -> tuple[str, ...]:
    """The command that installs the right build on this machine, where the texts ask for one and it is known."""
    commands = (mending_command(one.mends, rig) for one in told)
    return tuple(command for command in commands if command)[:1]


def _told_alone(rig: Rig) -> Iterable[Problem]:
    """Nothing, where the output of programs is at hand and says nothing of the fault."""
    rig.program_output.need()
    return ()


def chosen_checks(only: Sequence[str]) -> tuple[str, ...]:
    """The ids to run, in the catalogue's order; all of them when none are named. `T3` names all that serve that row.

    Raises:
        BadInput: a name that is neither a check nor a row.
    """
    wanted = {check for name in only for check in _named(name)}
    return tuple(check for check in check_catalogue() if not only or check in wanted)


def _named(name: str) -> Sequence[str]:
    """The check of that id, or all that serve that row of the mission."""
    catalogue = check_catalogue()
    named = [name] if name in catalogue else [check for check, row in catalogue.items() if name.upper() in row.rows]
    if named:
        return named
    near = difflib.get_close_matches(name, catalogue, n=1)
    raise BadInput(
        say("there is no check named {name}", name=name),
        say("did you mean {near}?", near=near[0]) if near else say("no check has a similar name"),
        say("see all of them: rigwise check --list"),
    )


def _examinations(check: str, rig: Rig) -> Iterator[tuple[str, Examination]]:
    """Every target of a check with the call that examines it."""
    if check_catalogue()[check].told_only:
        yield RIG, partial(_told_alone, rig)
        return
    module = importlib.import_module(f"rigwise.checks.{check}")
    if hasattr(module, "check_rig"):
        yield RIG, partial(module.check_rig, rig)
    elif not rig.gpus:
        yield RIG, partial(_without_gpus, rig)
    for gpu in rig.gpus if hasattr(module, "check_gpu") else ():
        yield gpu.label, partial(_on_gpu, module.check_gpu, gpu, rig)


def _without_gpus(rig: Rig) -> Iterable[Problem]:
    """Nothing can be told about GPUs of which the evidence shows none."""
    rig.need_gpus()
    raise AbsentReading(Reading(say("description of any GPU"), None, Status.NOT_RECORDED, rig.num_gpus.quote))


def _on_gpu(check_gpu: Callable[[Gpu, Rig], Iterable[Problem]], gpu: Gpu, rig: Rig) -> Iterable[Problem]:
    gpu.reachable.need()
    return check_gpu(gpu, rig)


def _findings(check: str, row: CheckRow, target: str, examine: Examination) -> list[Finding]:
    """The problems of one target; where there is none, that it is fine or why that cannot be told."""
    problems: list[Problem] = []
    with watch_readings() as needed:
        try:
            problems.extend(examine())
        except AbsentReading as absence:
            if not problems:
                return [_unknown(check, row, target, absence.reading)]
    return [_problem(check, row, target, problem) for problem in problems] or [_ok(check, row, target, needed)]


def _problem(check: str, row: CheckRow, target: str, problem: Problem) -> Finding:
    return Finding(
        check=check,
        target=problem.target or target,
        title=row.title,
        verdict=Verdict.PROBLEM,
        severity=problem.severity or row.severity,
        because=problem.because,
        evidence=_quotes(problem.readings),
        next_steps=(problem.action or row.action, *(problem.next_steps or row.next_steps)),
    )


def _ok(check: str, row: CheckRow, target: str, needed: Sequence[Reading[Any]]) -> Finding:
    names = ", ".join(dict.fromkeys(reading.name for reading in needed))
    return Finding(
        check=check,
        target=target,
        title=row.title,
        verdict=Verdict.OK,
        severity=row.severity,
        because=say("No sign of it in: {names}.", names=names),
        evidence=_quotes(needed),
        next_steps=(),
    )


def _unknown(check: str, row: CheckRow, target: str, missing: Reading[Any]) -> Finding:
    because, next_steps = _absence(check, missing)
    return Finding(
        check=check,
        target=target,
        title=row.title,
        verdict=Verdict.UNKNOWN,
        severity=row.severity,
        because=because,
        evidence=_quotes((missing,)),
        next_steps=next_steps,
        absence=missing.status,
    )


def _quotes(readings: Iterable[Reading[Any]]) -> tuple[Quote, ...]:
    """Each piece of evidence once, in the order it was needed."""
    return tuple(dict.fromkeys(reading.quote for reading in readings if reading.quote.source))


def _absence(check: str, missing: Reading[Any]) -> tuple[str, tuple[str, ...]]:
    """Why a value is missing, in words, and what would make it known."""
    name = missing.name
    match missing.status:
        case Status.NOT_RECORDED:
            on_machine = say("Ask the machine itself.")
            return say("Not in the evidence: {name}.", name=name), (on_machine, "rigwise check")
        case Status.NOT_PERMITTED:
            as_root = say("Ask as root.")
            return say("Not open to this user: {name}.", name=name), (as_root, f"sudo rigwise check --only {check}")
        case Status.NOT_SUPPORTED:
            return say("Cannot be measured here: {name}.", name=name), ()
        case Status.NOT_FOUND:
            return say("Not found: {name}.", name=name), ()
        case Status.TIMED_OUT:
            return say("No answer in time: {name}.", name=name), ("rigwise check --only probe_hung",)
        case Status.LOST:
            return say("The GPU no longer answers: {name}.", name=name), ("rigwise check --only gpu_lost",)
        case Status.UNREADABLE:
            return say("The answer cannot be understood: {name}.", name=name), ()
        case _:
            return say("The question failed: {name}.", name=name), ()
