"""One rank of a job, as torchrun's agent starts it: joins the others, works, and tells the leader how that ended.

Torch is imported only after the leader knows of this process, so that an import that fails or hangs has its rank.
"""

import faulthandler
import os
import pickle
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

from rigwise.sources.process_tree import die_with_parent
from rigwise.speech import say
from rigwise.train.ranks.failure import Known, failure_of
from rigwise.train.ranks.mail import WORK_FILE, Joined, Outbox, RankWork, Returned
from rigwise.train.ranks.watch import HUNG_SECONDS

COLLECTIVE_SECONDS = 600.0
"""NCCL's own limit; `Guard` ends a job that hangs long before."""


def main() -> None:
    """In the rank; ends the process, with exit code 1 where something was raised."""
    folder, agent_pid, backend = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    die_with_parent(agent_pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader ends the job
    faulthandler.register(signal.SIGUSR1)
    rank = int(os.environ["RANK"])
    outbox = Outbox(folder, rank)
    outbox.tell(Joined(os.getpid()))
    try:
        value = _work(folder, rank, backend, outbox)
        outbox.tell(Returned(value if rank == 0 else None))
    except BaseException as error:
        failed = error.failed if isinstance(error, Known) else failure_of(error, rank, time.monotonic())
        outbox.tell(failed)
        print(failed.trace, file=sys.stderr, flush=True)
        os._exit(1)  # without waiting for collectives that nobody answers any more
    os._exit(0)  # the same, for what libraries hold


def _work(folder: Path, number: int, backend: str, outbox: Outbox) -> object:
    import torch
    import torch.distributed as dist

    from rigwise.train.ranks.guard import watched
    from rigwise.train.ranks.rank import Rank
    from rigwise.train.ranks.rows import Rows

    with watched(HUNG_SECONDS, outbox.tell) as guard:
        sys.path[:], content = pickle.loads((folder / WORK_FILE).read_bytes())
        work: RankWork = pickle.loads(content)
        if backend == "nccl":
            torch.cuda.set_device(number)
        guard.mark(say("joining the other ranks"))
        dist.init_process_group(backend, timeout=timedelta(seconds=COLLECTIVE_SECONDS))
        guard.mark(say("at work"))
        rows = Rows(number, dist.get_world_size())
        value = work(Rank(rows=rows, backend=backend, guard=guard, tell=outbox.tell))  # type: ignore[arg-type]
        guard.mark(say("waiting for the other ranks to end"))
        dist.barrier()
        dist.destroy_process_group()
    return value


if __name__ == "__main__":
    main()
