"""The `rigwise` command: names the commands, and is the one place that turns errors into words and exit codes."""

import functools
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from rigwise import __version__
from rigwise.cli import audit, check, demo, diff, explain, overview, predict, record, report, smoke, train
from rigwise.cli.console import on_screen, show_error
from rigwise.cli.interruption import ignore_interruptions, raise_interruptions
from rigwise.errors import BadInput, ExitCode, OwnFault, RigwiseError
from rigwise.speech import say

DEBUG_VARIABLE = "RIGWISE_DEBUG"
"""Environment variable: any value shows tracebacks; `--debug` sets it."""

app = typer.Typer(
    name="rigwise",
    help=say("Makes an NVIDIA machine for AI one you can trust."),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def answering(command: Callable[..., ExitCode]) -> Callable[..., None]:
    """The command with its result as exit code, and its errors as words on standard error."""

    @functools.wraps(command)
    def answered(*args: Any, **options: Any) -> None:
        try:
            code = command(*args, **options)
        except KeyboardInterrupt:
            on_screen().print(say("interrupted"))
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:  # nobody listens to standard error any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            code = ExitCode.INTERRUPTED
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            known = in_words(error)
            show_error(known)
            code = known.exit_code
        raise typer.Exit(int(code))

    return answered


def in_words(error: Exception) -> RigwiseError:
    """Any exception as one clear error; only one that nobody foresaw is a fault of ours."""
    if isinstance(error, RigwiseError):
        return error
    if isinstance(error, ImportError) and not (error.name or "").startswith("rigwise"):
        return BadInput(
            say("a package that rigwise needs cannot be imported"),
            str(error),
            say("see whether torch works here: rigwise check; or install again: pip install --force-reinstall rigwise"),
        )
    return OwnFault(
        say("rigwise itself failed: {kind}: {words}", kind=type(error).__name__, words=error),
        say("this is a fault of rigwise, not of your machine or your pictures"),
        say("run the same command as `rigwise --debug ...` and report what it prints"),
    )


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help=say("Print the version and exit."))] = False,
    debug: Annotated[bool, typer.Option("--debug", help=say("Show tracebacks."))] = False,
) -> None:
    """Without a command: the rig in four lines, the decision, the next command."""
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"
    if version:
        typer.echo(f"rigwise {__version__}")
    elif context.invoked_subcommand is None:
        answering(overview.overview)()


app.command("check", help=say("What is wrong with this machine, and what to do."))(answering(check.check))
app.command("explain", help=say("What an error text or a code means, and what to do."))(answering(explain.explain))
app.command("record", help=say("This machine in one masked file, to attach to an issue."))(answering(record.record))
app.command("diff", help=say("What changed between two recordings, or since one."))(answering(diff.diff))
app.command("smoke", help=say("One batch on the CPU, then on the GPU: the first broken link."))(answering(smoke.smoke))
app.command("audit", help=say("What to know of your pictures before you train on them."))(answering(audit.audit))
app.command("train", help=say("The guided experiment on your pictures."))(answering(train.train))
app.command("predict", help=say("What the model of a run says of other pictures."))(answering(predict.predict))
app.command("report", help=say("Make the page of a run again, also of an interrupted one."))(answering(report.report))
app.command("demo", help=say("The guided experiment on embedded pictures."))(answering(demo.demo))


def main() -> None:
    """Entry point of the `rigwise` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know ASCII only
    raise_interruptions()
    try:
        app()
    finally:
        ignore_interruptions()
