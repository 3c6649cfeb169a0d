"""A module as a `torch.export` program in bytes, and back. The file runs with torch alone.

A program is read as data: pickles inside it are refused unless they hold tensors, and so are archives with objects of
other kinds, which torch would unpickle. A stranger's program can still take all memory and time there is.
"""

import logging
import os
import pickle
import threading
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import BytesIO, StringIO
from pathlib import PurePosixPath

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from rigwise.speech import say

WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""Environment variable by which torch.load, whoever calls it, unpickles tensors only (torch/serialization.py)."""
OBJECTS = ("custom_obj", "opaque_obj")
"""How the files of an archive begin that torch unpickles without asking (torch/export/pt2_archive/constants.py)."""

_environment = threading.Lock()


class CannotExport(Exception):
    """torch.export cannot take a module; the message is the reason, in words."""


def exported(module: nn.Module, example: Tensor) -> bytes:
    """The module in evaluation mode as a program for any batch size, without example, gradients or our file names.

    Args:
        module: takes one tensor and gives one, batch first; on the CPU.
        example: a batch of two or more: sizes 0 and 1 would become part of the program.

    Raises:
        CannotExport: torch cannot trace it, or not for every batch size.
    """
    module.eval().requires_grad_(False)
    try:
        with _quiet():
            program = torch.export.export(module, (example,), dynamic_shapes=({0: Dim("batch")},))
            program.example_inputs = None
            _forget_origins(program)
            buffer = BytesIO()
            torch.export.save(program, buffer)
    except Exception as error:  # dozens of types of torch's tracer, and whatever the network's own code raises
        raise CannotExport(first_line(error)) from error
    return buffer.getvalue()


def loaded(content: bytes) -> ExportedProgram:
    """The program in a file's content, on the CPU.

    Raises:
        ValueError: it is none, was made by a torch too different from this one, or holds more than tensors and graph.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = [PurePosixPath(name).name for name in archive.namelist()]
        if any(name.startswith(OBJECTS) for name in names):
            raise ValueError(say("it holds objects that would have to be unpickled"))
        with _tensors_only(), _quiet():
            return torch.export.load(BytesIO(content))
    except ValueError:
        raise
    except pickle.UnpicklingError as error:
        raise ValueError(say("it holds a pickle of more than tensors, which could run code")) from error
    except Exception as error:  # torch's reader raises its own types, KeyError, AssertionError, RuntimeError
        raise ValueError(first_line(error)) from error


def first_line(error: Exception) -> str:
    """What a foreign error says, without the pages that follow."""
    return next((line for line in str(error).splitlines() if line.strip()), "") or type(error).__name__


def _forget_origins(program: ExportedProgram) -> None:
    """Take the source lines of every operator out: they name folders of this machine."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("stack_trace", None)


@contextmanager
def _quiet() -> Iterator[None]:
    """While inside, torch says nothing: its warnings are about its own code, its pages about what is caught here."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _tensors_only() -> Iterator[None]:
    """While inside, torch unpickles tensors only: torch.export.load has no argument for it (torch 2.14)."""
    with _environment:
        before = os.environ.get(WEIGHTS_ONLY)
        os.environ[WEIGHTS_ONLY] = "1"
        try:
            yield
        finally:
            os.environ.pop(WEIGHTS_ONLY)
            if before is not None:
                os.environ[WEIGHTS_ONLY] = before
