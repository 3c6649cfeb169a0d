"""What a profiler measured of a training script: time on the CPU and on the GPU, operation by operation (T15)."""

import msgspec


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, its own time without what it calls."""

    name: str
    self_cpu_seconds: float
    self_gpu_seconds: float
    """0 where the table has no GPU column."""
    num_calls: int


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A table of torch.profiler. Rows may be cut: a table shows the most expensive ones."""

    cpu_seconds: float
    """Self CPU time total."""
    gpu_seconds: float | None
    """Self CUDA time total; None where no GPU was profiled."""
    rows: tuple[ProfileRow, ...] = ()

    def calls(self, *names: str) -> int:
        """How often operations of these names were called."""
        return sum(row.num_calls for row in self.rows if row.name in names)

    def cpu_seconds_of(self, *names: str) -> float:
        """CPU time of operations of these names."""
        return sum(row.self_cpu_seconds for row in self.rows if row.name in names)

    def dearest(self, *, on_gpu: bool, count: int = 3) -> tuple[ProfileRow, ...]:
        """The operations that take most time there, most first; none that takes no time."""

        def cost(row: ProfileRow) -> float:
            return row.self_gpu_seconds if on_gpu else row.self_cpu_seconds

        return tuple(row for row in sorted(self.rows, key=cost, reverse=True)[:count] if cost(row) > 0)
