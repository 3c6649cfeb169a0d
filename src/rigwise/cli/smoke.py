"""`rigwise smoke`: the same single batch on the CPU, then on the GPU; the first broken link, in words."""

from typing import TYPE_CHECKING, Annotated

import typer

from rigwise.cli.console import ScreenProgress, put_out
from rigwise.cli.extras import TRAINING, need_extra
from rigwise.cli.options import AsJson, refuse_together
from rigwise.errors import ExitCode
from rigwise.speech import say

if TYPE_CHECKING:
    from rigwise.records.smoke import SmokeReport

BATCH_SIZE = 8
IMAGE_SIZE = 224
SEED = 0


def smoke(
    model: Annotated[str, typer.Option("--model", metavar="NAME", help=say("Any timm model name."))] = "",
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", min=0, help=say("Instead: whether N processes can talk."))
    ] = None,
    json: AsJson = False,
) -> ExitCode:
    """Prove one batch, link by link; or that several ranks reach each other."""
    need_extra("train", TRAINING)
    from rigwise.report.json_text import smoke_json
    from rigwise.report.smoke_text import smoke_text

    with ScreenProgress() as progress:
        if ranks is None:
            progress.begin(say("one batch on each device"), None)
            report = _prove(model)
        else:
            refuse_together("--ranks", say("it proves that processes reach each other, without a model"), model=model)
            progress.begin(say("a sum over all ranks"), None)
            report = _prove_ranks(ranks)
    put_out(smoke_json(report) if json else smoke_text(report))
    return ExitCode.GO if report.first_broken is None else ExitCode.PROBLEM


def _prove_ranks(asked: int) -> "SmokeReport":
    from rigwise.train.ranks.ready import smoke_ranks
    from rigwise.train.ranks.setup import ranks_setup

    return smoke_ranks(ranks_setup(asked))


def _prove(model: str) -> "SmokeReport":
    import torch

    from rigwise.engine import judge
    from rigwise.probes.rig import read_rig
    from rigwise.sources.live import LiveSource
    from rigwise.train.conditions import why_no_gpu
    from rigwise.train.network.model import build_model
    from rigwise.train.recipe_sections import ModelSection
    from rigwise.train.smoke import smoke as prove
    from rigwise.train.step.device import first_gpu
    from rigwise.train.step.normalise import Normalise

    built = build_model(model or ModelSection().name, num_classes=5, seed=SEED)
    chance = torch.Generator().manual_seed(SEED)
    images = torch.randint(0, 256, (BATCH_SIZE, 3, IMAGE_SIZE, IMAGE_SIZE), generator=chance, dtype=torch.uint8)
    labels = torch.randint(0, 5, (BATCH_SIZE,), generator=chance)
    gpu = first_gpu()
    why = "" if gpu else why_no_gpu(judge(read_rig(LiveSource())))
    return prove(built.model, Normalise(built.mean, built.std), images, labels, gpu, why).report
