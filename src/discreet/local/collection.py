"""Collections of DAP as tables of a session: exact sums of reports that nobody saw singly.

With `trust="dap"` clients send secret shares of their values, without noise of their own. What a collector gets is
exact, so it is opened by a session alone, after a charge (`discreet.engines.backends.dap`).
"""

from pathlib import Path

from discreet.engines.backends.dap import Collection
from discreet.errors import ParameterError, short_traceback
from discreet.local.task import Task

__all__ = ["Collection", "collection_of"]


@short_traceback
def collection_of(
    task: Task, path: str | Path, *, interval: tuple[int, int], max_reports: int | None = None
) -> Collection:
    """The collection of a task: a histogram over its slots, or a sum of its steps where they are numbers.

    Args:
        task: A task with `trust="dap"`.
        path: The file of the collection.
        interval: Start and duration of the batch in seconds, the start since 1970. Each batch is a source of its own.
        max_reports: Number of reports of one client, if that is enforced before reports are aggregated. Default: none.

    Returns:
        The collection, which `dp.protect` takes as a source.

    Raises:
        ParameterError: If the task is not collected by DAP.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.two_coin()
        >>> task = dp.local.Task(dp.local.SlotDomain(size=2), "1.0987", oracle, trust="dap")
        >>> dp.local.collection_of(task, "smokers.json", interval=(1_790_000_000, 3_600)).kind
        'histogram'
    """
    if task.trust != "dap":
        raise ParameterError(
            f"a collection of a task with trust={task.trust!r}",
            because="its reports have noise of their own, and are counted by a collector",
            instead='a task with trust="dap"',
        )
    if task.domain.is_numeric:
        largest = task.domain.size - 1
        return Collection(path, task.hash, "sum", interval, largest=largest, max_reports=max_reports)
    return Collection(path, task.hash, "histogram", interval, length=task.domain.size, max_reports=max_reports)
