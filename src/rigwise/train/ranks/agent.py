"""torchrun's agent for one job on one machine: starts the ranks, ends all when one ends badly, tells how each ended.

What `torchrun --standalone --nproc-per-node N -m rigwise.train.ranks.member` does, with the exit codes as records
rather than as text.
"""

import os
import sys
from pathlib import Path

import msgspec
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from rigwise.sources.process_tree import die_with_parent
from rigwise.train.ranks.mail import LOGS, VERDICT_FILE, Verdict

POLL_SECONDS = 0.1
SHUTDOWN_SECONDS = "3"
"""Our choice: what ranks may take to end on SIGTERM, before SIGKILL; they have nothing to put in order."""


def main() -> None:
    """In the agent."""
    folder, num_ranks, leader_pid, backend = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    die_with_parent(leader_pid)
    os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = SHUTDOWN_SECONDS
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num_ranks,
        run_id=folder.name,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",  # any free port
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=POLL_SECONDS,
        logs_specs=DefaultLogsSpecs(log_dir=str(folder / LOGS), redirects=Std.ALL),
    )
    exit_codes = {}
    try:
        elastic_launch(config, sys.executable)(
            "-m", "rigwise.train.ranks.member", str(folder), str(os.getpid()), backend
        )
    except ChildFailedError as error:
        exit_codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
    (folder / VERDICT_FILE).write_bytes(msgspec.json.encode(Verdict(exit_codes)))
    os._exit(1 if exit_codes else 0)


if __name__ == "__main__":
    main()
