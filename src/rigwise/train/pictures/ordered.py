"""Work done ahead in threads, results in order, never more in memory than asked for."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    num_threads: int,
    ahead: int,
    start_thread: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """`work(item)` of every item, in the order of `items`; what `work` raises is raised here.

    The threads end with the iterator: used up, closed, or left by an exception.

    Args:
        work: what is done in the threads.
        items: may be endless; taken one by one.
        num_threads: 0 works in the caller's thread.
        ahead: how many results are begun before the first is taken.
        start_thread: called once in each thread.
    """
    if num_threads == 0:
        yield from map(work, items)
        return
    remaining = iter(items)
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="rigwise-pictures", initializer=start_thread)
    try:
        begun: deque[Future[Result]] = deque(pool.submit(work, item) for item in islice(remaining, ahead))
        while begun:
            yield begun.popleft().result()
            begun.extend(pool.submit(work, item) for item in islice(remaining, 1))
    finally:
        pool.shutdown(cancel_futures=True)
