"""`rigwise predict RUN PICTURES...`: what the model of a run says of other pictures."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.extras import PREDICTING, need_extra
from rigwise.cli.options import AsJson
from rigwise.errors import ExitCode
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.records.exported import PredictReport


class Where(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help=say("A run folder, or a model folder copied from one."))],
    pictures: Annotated[
        list[Path], typer.Argument(metavar="PICTURES", help=say("Files, folders, or - for a list of paths."))
    ],
    top: Annotated[int, typer.Option("--top", min=1, help=say("Classes to name for each picture."))] = 1,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help=say("Also write a CSV table."))] = None,
    device: Annotated[Where, typer.Option("--device", help=say("Where to compute."))] = Where.AUTO,
    json: AsJson = False,
) -> ExitCode:
    """Ask, print a table; pictures that cannot be read are named and skipped."""
    need_extra("train", PREDICTING)
    from rigwise.train.export.model_folder import open_model
    from rigwise.train.predict.listing import listed

    model = open_model(run)
    wanted = listed(pictures, model.card.labels, sys.stdin.buffer.read)
    with ScreenProgress() as progress:
        progress.begin(say("opening the model"), None)
        # Only now: this imports torch, and bad input must not wait seconds for it.
        from rigwise.train.predict.predictor import predictor_of
        from rigwise.train.predict.report import predict as ask_all

        report = ask_all(predictor_of(model, device=device, top=top), wanted, str(model.folder), progress)
    _show(report, out, json=json)
    return ExitCode.PROBLEM if report.bad else ExitCode.GO


def _show(report: "PredictReport", out: Path | None, *, json: bool) -> None:
    """Print the answers, then write the table where one was asked for."""
    from rigwise.report.json_text import predict_json
    from rigwise.report.predict_text import predict_csv, predict_text
    from rigwise.telemetry.run_folder import write_text

    put_out(predict_json(report) if json else predict_text(report))
    if out is not None:
        write_text(out, predict_csv(report))
