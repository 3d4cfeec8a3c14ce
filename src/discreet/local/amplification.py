"""Amplification by shuffling for a task: what one report reveals among the others of its batch.

Definition
    A task with `trust="shuffle"` sends its reports through a shuffler, which collects a batch, removes identifying
    metadata and forwards the reports in uniformly random order. A report carries its task, cohort and batch in
    clear, and an id that is random.
Guarantee
    Let every client send one report to a batch, with fresh randomness, and let at least n reports of honest clients be
    in each part that what is in clear distinguishes (each batch and cohort). Then one report is (epsilon, delta)-
    differentially private for the reader of the batch, where the value of one client is replaced by another, with
    epsilon = accounting.shuffling.epsilon of the oracle's own loss. Proof: docs/proofs/local/amplification.md.
Exactness
    As `accounting.shuffling`: rounded up. The loss of the oracle is the logarithm of its exact ratio, rounded up.
Not covered
    A shuffler that works with the reader: then each report has its local guarantee, which always holds. Memoised and
    two-stage tasks keep their local guarantee alone: reports of one client are linked by what is memoised. Several
    batches of one client: compose the events. A batch whose size depends on one client's value. Whether the declared
    number of honest reports is there: it is compared with the expected number of reports of the task, and not counted.
References
    Feldman, McMillan and Talwar, Hiding Among the Clones, FOCS 2021. Bittau et al., Prochlo, SOSP 2017.
"""

from discreet.accounting import shuffling
from discreet.errors import AccountingError, short_traceback
from discreet.events import ApproximateEvent
from discreet.exact.numbers import Number, positive, whole
from discreet.local.task import Task


@short_traceback
def shuffled_event(task: Task, *, honest_reports: int, reports_per_client: int, delta: Number) -> ApproximateEvent:
    """Event of one report of a task among the honest reports of its batch, in random order.

    Args:
        task: A task with `trust="shuffle"` and `repeat="fresh"`.
        honest_reports: The least number of reports of honest clients in each batch, and in each cohort of it.
        reports_per_client: Number of reports that a client sends to one batch, as it is enforced: 1.
        delta: Delta of the guarantee, above 0.

    Returns:
        An event of (epsilon, delta); its epsilon is at most that of the oracle.

    Raises:
        AccountingError: If the task expects fewer reports than are declared for all of its cohorts together, or the
            task or the collection does not meet what the theorem needs.
        ParameterError: If a number is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(16, epsilon=1)
        >>> task = dp.local.Task(dp.local.SlotDomain(size=16), "1", oracle, trust="shuffle")
        >>> event = dp.local.shuffled_event(task, honest_reports=10_000, reports_per_client=1, delta=1e-6)
        >>> round(float(event.epsilon), 3)
        0.053
    """
    number = whole(honest_reports, "honest_reports")
    _require_expected(task, number)
    _require_shuffle(task, whole(reports_per_client, "reports_per_client"))
    small = positive(delta, "delta")
    loss = task.oracle.epsilon
    epsilon = shuffling.epsilon(local_epsilon=loss, reports=number, delta=small)
    return ApproximateEvent(min(loss, epsilon), small)


def _require_expected(task: Task, honest_reports: int) -> None:
    if honest_reports * task.cohorts <= task.reports:
        return
    each = task.reports // task.cohorts
    raise AccountingError(
        f"amplification with {honest_reports:,} honest reports in each of {task.cohorts:,} cohorts",
        because=f"the task expects {task.reports:,} reports in all",
        instead=f"honest_reports={each}" if each else "task.event() for its local guarantee, or a task with cohorts=1",
    )


def _require_shuffle(task: Task, reports_per_client: int) -> None:
    if task.trust != "shuffle":
        raise AccountingError(
            f"amplification of a task with trust={task.trust!r}",
            because="its reports are not declared to pass a shuffler, so the collector sees who sent each",
            instead='a task with trust="shuffle", or task.event() for its local guarantee',
        )
    if task.repeat != "fresh":
        raise AccountingError(
            f"amplification of a task with repeat={task.repeat!r}",
            because="what is memoised links the reports of a client, so random order does not hide them",
            instead='task.event() for its local guarantee, or a task with repeat="fresh"',
        )
    if reports_per_client != 1:
        raise AccountingError(
            f"amplification with {reports_per_client} reports of a client in one batch",
            because="the bound is for the replacement of one report",
            instead="reports_per_client=1, enforced by one token for each client and batch",
        )
