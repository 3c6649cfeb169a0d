"""What every trial of one experiment shares: recipe, data, devices, and where results go."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from torch import nn

from rigwise.records.run import RunRecord, TrialResult
from rigwise.speech import say
from rigwise.telemetry.reading import read_samples
from rigwise.telemetry.run_folder import RunFolder
from rigwise.telemetry.summary import Summary, summarise
from rigwise.telemetry.writer import RunWriter
from rigwise.train.checkpoint.run_checkpoints import RunCheckpoints, recipe_fingerprint
from rigwise.train.progress import Progress
from rigwise.train.ranks.setup import RanksSetup
from rigwise.train.ranks.trial import Material
from rigwise.train.recipe_sections import Recipe
from rigwise.train.smoke import Smoke
from rigwise.train.step.device import Device
from rigwise.train.step.plan import TrialPlan
from rigwise.train.step.scoring import Scored
from rigwise.train.step.state import Batch, FreshInputs, TrialInputs


class Built(Protocol):
    """A model ready to train."""

    @property
    def model(self) -> nn.Module:
        """On the CPU, its weights decided by the recipe."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment has before its data are known."""

    recipe: Recipe
    """With every `0 means` value resolved."""
    device: Device
    """Where the trials run: the GPU, or the CPU when no GPU is usable."""
    no_gpu: str
    """Why no GPU is used, in words; "" when one is."""
    writer: RunWriter
    progress: Progress
    folder: RunFolder
    ranks: RanksSetup | None = None
    """The processes that take each step together; None where this one trains."""
    checkpoints: RunCheckpoints | None = None
    """Where trials are saved, and what an interrupted run left; None saves nothing."""


class Lab(Conditions, frozen=True, kw_only=True):
    """One experiment; each kind of data has its own (`PictureLab`), which says what is abstract here.

    Type checkers hold them to it: msgspec's structs have a metaclass other than that of `abc`.
    """

    @property
    @abstractmethod
    def rank_material(self) -> Material:
        """What its trials are made of, to be sent to ranks."""

    @property
    def image_size(self) -> int:
        """Picture size of this experiment in pixels; 0 where the samples are no pictures."""
        return 0

    @property
    def gpu_image_size(self) -> int:
        """That of the rows a GPU would have filled."""
        return 0

    @property
    def steps(self) -> int:
        """Steps of each full trial."""
        return self.recipe.training.steps if self.device.is_gpu else self.recipe.cpu.steps

    @property
    def loader_threads(self) -> int:
        """Threads that make batches; 0 where the trial's own thread does."""
        return 0

    @property
    def recorded(self) -> RunRecord | None:
        """What an earlier process of this run recorded; None where this is the first."""
        return self.checkpoints.recorded if self.checkpoints else None

    @property
    def fingerprint(self) -> dict[str, str]:
        """What must be equal when a trial goes on from a checkpoint, by name; each kind of data adds its hash."""
        return recipe_fingerprint(self.recipe) | {"device": self.device.torch_device.type}

    @abstractmethod
    def build(self) -> Built:
        """A fresh model, the same each time."""

    @abstractmethod
    def inputs(self, batch_size: int) -> TrialInputs:
        """What a trial at this batch size works with: a fresh model and the batches of this experiment."""

    @abstractmethod
    def feed(self, batch_size: int, num_threads: int, num_steps: int) -> Iterable[Batch]:
        """The first `num_steps` batches of a trial, made by so many threads."""

    def measured(self, batch_size: int, steps: int, step_seconds: float, scores: Scored | None) -> dict[str, Any]:
        """Fields of a row that say, in the units of these samples, how fast its steps were and how well it learned."""
        return {"images_per_second": batch_size / step_seconds}

    @property
    @abstractmethod
    def inputs_elsewhere(self) -> FreshInputs:
        """The same inputs made in a process that has no GPU; can be sent there."""

    @abstractmethod
    def prove(self, batch_size: int, gpu: Device | None) -> Smoke:
        """The same one batch on the CPU and on the GPU, if there is one."""

    def plan(self, name: str, precision: str, batch_size: int) -> TrialPlan:
        """A full trial of this experiment."""
        training = self.recipe.training
        return TrialPlan(
            name=name,
            precision=precision,
            batch_size=batch_size,
            image_size=self.image_size,
            steps=self.steps,
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            warmup_steps=training.warmup_steps,
            seed=training.seed,
            knobs=self.recipe.knobs,
        )

    def trial_fingerprint(self, plan: TrialPlan) -> dict[str, str]:
        """The same with the plan of the trial itself."""
        return self.fingerprint | {f"trial.{key}": repr(value) for key, value in msgspec.structs.asdict(plan).items()}

    @property
    def precisions(self) -> tuple[str, ...]:
        """Of the full trials, in their order: fp32, then what the recipe or the device takes beside it."""
        asked = self.recipe.knobs.precision
        other = self.device.mixed_precision if asked == "auto" else asked
        if other == "fp16" and self.recipe.knobs.optimizer_in_backward:
            self.progress.tell(say("no trial in fp16: it needs a loss scale, which optimizer_in_backward leaves out"))
            other = "fp32"
        return tuple(dict.fromkeys(("fp32", other)))

    def gpu_during(self, start_seconds: float, end_seconds: float) -> dict[str, Summary]:
        """Metric name -> what the trial's GPU showed between two moments of the run; empty on the CPU."""
        if not self.device.is_gpu:
            return {}
        self.writer.flush()
        samples = read_samples(self.folder.database, start_seconds, end_seconds)
        return summarise(samples, start_seconds, end_seconds, target=self.device.uuid)

    def row(self, trial: str) -> TrialResult | None:
        """The row an earlier process of this run recorded."""
        return self.checkpoints.row(trial) if self.checkpoints else None

    def keep(self, result: TrialResult) -> TrialResult:
        """Record a finished row of the comparison; where an earlier process recorded it, that row stays."""
        recorded = self.row(result.name)
        if recorded is None:
            self.writer.record(result)
        return recorded or result
