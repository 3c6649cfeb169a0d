"""One probe in a child process, and the record of how it ended, whatever way that was."""

import msgspec

from rigwise.records.batch import BatchProbe
from rigwise.sources.children import Ending, run_in_child
from rigwise.train.batch.causes import Evidence, explain
from rigwise.train.batch.child import PRELOADED, Build, MakeDevice, ProbeWork
from rigwise.train.batch.course import Course, why_it_ended
from rigwise.train.batch.others import Holders


class Prober(msgspec.Struct, frozen=True, kw_only=True):
    """Runs probes of one training."""

    build: Build
    make_device: MakeDevice
    silence_seconds: float
    holders: Holders
    compiled: bool = False
    """Whether `build` compiles its model."""

    def compiling(self, build: Build) -> "Prober":
        """The same for a training that compiles its model."""
        return msgspec.structs.replace(self, build=build, compiled=True)

    def run(self, batch_size: int, num_steps: int) -> BatchProbe:
        """What became of this batch size.

        Raises:
            BadInput: `build` cannot be sent to a child process.
        """
        work = ProbeWork(build=self.build, batch_size=batch_size, num_steps=num_steps, make_device=self.make_device)
        course = Course()
        ending = run_in_child(work, silence_seconds=self.silence_seconds, told=course.note, preload=PRELOADED)
        return self._record(batch_size, course, ending)

    def _record(self, batch_size: int, course: Course, ending: Ending) -> BatchProbe:
        ended = course.ended(ending)
        start = course.started.memory if course.started else None
        probe = BatchProbe(
            batch_size=batch_size,
            ended=ended,
            phase=course.phase,
            steps=course.steps,
            seconds=ending.seconds,
            free_at_start_bytes=start.free if start else None,
            total_bytes=start.total if start else None,
            peaks=course.peaks(),
            need_bytes=course.need_bytes(),
            step_seconds=course.step_seconds(),
            growth=course.growth(),
            kept_by_validation_bytes=course.kept_by_validation_bytes(),
            text=why_it_ended(course, ending, self.silence_seconds),
            compiled=self.compiled,
        )
        is_on_gpu = course.started is not None and course.started.is_gpu
        if ended == "ran" and not (is_on_gpu and probe.growth and probe.growth.outside_pytorch):
            return probe
        if course.started is None or not is_on_gpu:
            return explain(probe, Evidence())  # RAM comes and goes with whatever else the machine does
        return explain(probe, course.evidence(tuple(self.holders(course.started.uuid))))
