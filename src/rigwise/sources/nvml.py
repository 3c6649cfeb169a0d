"""The one place that calls NVML: every failure becomes an answer, and no call outlives its time limit."""

import ctypes
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pynvml

from rigwise.knowledge.nvml_calls import HANDLE, INIT, NvmlCall, nvml_calls
from rigwise.records.evidence import Evidence, Status
from rigwise.sources.answers import nvml_absence, nvml_answer
from rigwise.sources.time_limit import within

LIBRARY_VARIABLE = "RIGWISE_NVML_LIBRARY"
"""Environment variable: absolute path of the NVML library to use instead of the system's."""
NVML_LIMIT_SECONDS = 5.0
"""Above the 1 to 3 s it takes to start a GPU that nothing holds open (NVIDIA, Driver Persistence)."""


class Nvml:
    """NVML as this process sees it: opened when first asked, each GPU opened once.

    After one call hung, everything later answers `timed_out` at once: the driver's lock is held, and every
    further call would wait for it too.
    """

    def __init__(self, limit_seconds: float = NVML_LIMIT_SECONDS) -> None:
        self._limit_seconds = limit_seconds
        self._hung = False
        self._opened: dict[tuple[str, int | None], Any] = {}

    def ask(self, name: str, gpu: int | None) -> Evidence:
        """The answer of one row of nvml_calls.csv."""
        call = nvml_calls()[name]
        if self._hung:
            return nvml_absence(name, gpu, Status.TIMED_OUT)
        try:
            return nvml_answer(name, gpu, 0, within(self._limit_seconds, partial(self._answer, call, gpu)))
        except pynvml.NVMLError as failure:
            return nvml_answer(name, gpu, failure.value, "")
        except UnicodeDecodeError:  # a GPU that is going away returns garbage
            return nvml_absence(name, gpu, Status.UNREADABLE)
        except TimeoutError:
            self._hung = True
            return nvml_absence(name, gpu, Status.TIMED_OUT)

    def _answer(self, call: NvmlCall, gpu: int | None) -> str:
        self._open(INIT, None, _initialise)
        if call.key == INIT:
            return ""
        arguments = [_constant(name) for name in call.arguments]
        if call.scope == "gpu":
            handle = self._open(HANDLE, gpu, partial(pynvml.nvmlDeviceGetHandleByIndex, gpu))
            if call.key == HANDLE:
                return ""
            arguments.insert(0, handle)
        if call.encoding in _ASKERS:
            return _ASKERS[call.encoding](getattr(pynvml, call.functions[0]), arguments, call.names)
        return _ENCODERS[call.encoding](_first_known(call.functions, arguments), call.names)

    def _open(self, key: str, gpu: int | None, opening: Callable[[], Any]) -> Any:
        """What `opening` returned, or raised, the first time."""
        if (key, gpu) not in self._opened:
            try:
                self._opened[key, gpu] = opening()
            except pynvml.NVMLError as failure:
                self._opened[key, gpu] = failure
        opened = self._opened[key, gpu]
        if isinstance(opened, pynvml.NVMLError):
            raise opened.with_traceback(None)
        return opened


def _initialise() -> None:
    """NVML, loaded and initialised. nvidia-ml-py loads by name; a library loaded by path before it wins."""
    path = os.environ.get(LIBRARY_VARIABLE)
    if path:
        try:
            ctypes.CDLL(path)
        except OSError:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND) from None
    pynvml.nvmlInit()


def _first_known(functions: tuple[str, ...], arguments: list[Any]) -> Any:
    """What the newest function this driver has returns; the older ones take the handle alone."""
    newest, *older = functions
    *first, last = [(newest, arguments), *((function, arguments[:1]) for function in older)]
    for function, own in first:
        try:
            return getattr(pynvml, function)(*own)
        except pynvml.NVMLError_FunctionNotFound:
            continue
    function, own = last
    return getattr(pynvml, function)(*own)


def _constant(name: str) -> Any:
    """A constant of nvidia-ml-py; what an older one lacks cannot be asked."""
    try:
        return getattr(pynvml, name)
    except AttributeError:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND) from None


def _fields(answer: Any, names: tuple[str, ...]) -> str:
    """The fields that the structure has; those of an older driver have fewer."""
    return " ".join(f"{name}={getattr(answer, name)}" for name in names if hasattr(answer, name))


def _items(answer: Any, names: tuple[str, ...]) -> str:
    return " ".join(f"{name}={item}" for name, item in zip(names, answer, strict=True))


def _processes(answer: Any, _names: tuple[str, ...]) -> str:
    return ";".join(
        f"pid={process.pid} used_bytes={'N/A' if process.usedGpuMemory is None else process.usedGpuMemory}"
        for process in answer
    )


def _plain(answer: Any, _names: tuple[str, ...]) -> str:
    return str(answer)


_ENCODERS: dict[str, Callable[[Any, tuple[str, ...]], str]] = {
    "text": _plain,
    "int": _plain,
    "fields": _fields,
    "items": _items,
    "processes": _processes,
}


def _field_value(ask: Callable[..., Any], arguments: list[Any], _names: tuple[str, ...]) -> str:
    """One of NVML's field values, whose failure stands in the value itself."""
    handle, field = arguments
    (value,) = ask(handle, [field])
    if value.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(value.nvmlReturn)
    return str(value.value.uiVal)


def _nvlinks(ask: Callable[..., Any], arguments: list[Any], _names: tuple[str, ...]) -> str:
    """The state of each NVLink that the GPU has; that it has none is NVML's answer about the first."""
    states = []
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            states.append(f"link={link} active={ask(*arguments, link)}")
        except (pynvml.NVMLError_InvalidArgument, pynvml.NVMLError_NotSupported):
            if not states:
                raise
            break
    return ";".join(states)


def _filled(ask: Callable[..., Any], arguments: list[Any], names: tuple[str, ...]) -> str:
    """The fields of a structure that NVML fills."""
    handle, structure = arguments
    answer = structure()
    ask(handle, ctypes.byref(answer))
    return _fields(answer, names)


_ASKERS: dict[str, Callable[[Callable[..., Any], list[Any], tuple[str, ...]], str]] = {
    "field": _field_value,
    "nvlinks": _nvlinks,
    "struct": _filled,
}
"""The encodings for which the function is asked in a way of its own."""
