"""What a task says about itself: why this oracle, what error to expect, and when not to use the local model."""

from typing import Literal, Protocol

from discreet.exact.numbers import Number
from discreet.local.choice import OracleChoice, Setting, alternatives
from discreet.local.domain import SlotDomain, read_number
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.randomizer import LocalRandomizer

_NORMAL = 1.96
_REPEATS = {
    "fresh": "each report has fresh noise, and the losses of several reports of one client add",
    "memoised": "a value has one report for ever: reports of a client are linked, and show when its value changed",
    "two_stage": "a memoised stage loses {epsilon} for each value, and a fresh stage {second} for each report",
}
_TRUST = {
    "local": "the collector sees single reports",
    "shuffle": "a shuffler removes who sent a report; what that amplifies depends on the honest reports in a batch",
}


class ExplainedTask(Protocol):
    """What an explanation reads of a task."""

    @property
    def domain(self) -> SlotDomain:
        """The domain."""

    @property
    def epsilon(self) -> str:
        """The stated loss."""

    @property
    def epsilon_second(self) -> str | None:
        """The stated loss of a fresh stage."""

    @property
    def oracle(self) -> LocalRandomizer:
        """The oracle of one report, or of the permanent stage."""

    @property
    def decoder(self) -> LocalRandomizer:
        """The oracle of both stages."""

    @property
    def question(self) -> str:
        """What clients are asked."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def repeat(self) -> str:
        """The rule for repeats."""

    @property
    def trust(self) -> str:
        """Who sees single reports."""

    @property
    def max_values(self) -> int | None:
        """How many values a client reports."""

    @property
    def reports(self) -> int:
        """Expected number of reports."""

    @property
    def max_bytes(self) -> int:
        """Largest length of a report."""

    @property
    def report_bytes(self) -> int:
        """Length of a report."""

    @property
    def expected_error(self) -> float:
        """Standard deviation of an estimate."""

    def central_error(self, neighbours: Literal["add_remove", "replace_one"] = "add_remove") -> float:
        """Standard deviation of central noise."""

    def required_n(self, margin: Number, confidence: Number = 0.95) -> int:
        """Reports that an accuracy needs."""


def explanation(task: ExplainedTask) -> str:
    """Text about a task.

    Args:
        task: The task.

    Returns:
        Text of several lines.
    """
    size = f"{task.domain.size:,} slots"
    if task.trust == "dap":
        return _aggregated(task, size)
    return "\n".join(
        (
            f"task {task.name or 'without a name'}: {task.question or 'no text'} ({size}, epsilon {task.epsilon})",
            f"  oracle    {task.oracle.title}, {task.report_bytes} bytes a report",
            f"  why       {_why(task)}",
            f"  error     {_error(task)}",
            f"  repeats   {_repeats(task)}",
            f"  trust     {_TRUST[task.trust]}",
            f"  instead   {_instead(task)}",
        )
    )


def _aggregated(task: ExplainedTask, size: str) -> str:
    """Text about a task whose reports aggregators add up: no client adds noise, and a session adds it once."""
    is_mean = not isinstance(task.oracle, FrequencyOracle)
    what = f"a mean of {task.reports:,} reports" if is_mean else "a count"
    return "\n".join(
        (
            f"task {task.name or 'without a name'}: {task.question or 'no text'} ({size}, epsilon {task.epsilon})",
            "  reports   secret shares that aggregators of DAP add up, without noise of their own",
            f"  error     {what} that a session opens with this epsilon has a standard deviation of {_central(task)}",
            "  trust     one aggregator is honest, and the session adds noise to the sums before it shows them",
            "  guarantee that of the session, for one report; for one client if max_reports is enforced and declared",
            '  opening   dp.local.collection_of(task, "votes.json", interval=(1_790_000_000, 3_600)) in dp.protect',
        )
    )


def _why(task: ExplainedTask) -> str:
    setting = Setting(
        task.domain.size,
        read_number(task.epsilon, "epsilon"),
        task.reports,
        task.max_bytes,
        not isinstance(task.oracle, FrequencyOracle),
        None if task.epsilon_second is None else read_number(task.epsilon_second, "epsilon_second"),
        task.trust == "local",
    )
    others = [choice for choice in alternatives(setting) if choice.oracle.to_json() != task.oracle.to_json()]
    rest = "; ".join(_variance(choice, task.max_bytes) for choice in others)
    what = "a mean, in squared half ranges" if setting.is_numeric else "a count"
    return (
        f"the variance of {what}, for each report, is {task.decoder.report_variance(task.reports):.4g}; others: {rest}"
    )


def _variance(choice: OracleChoice, max_bytes: int) -> str:
    fits = "" if choice.report_bytes <= max_bytes else f" ({choice.report_bytes:,} bytes, which do not fit)"
    return f"{choice.oracle.kind} {choice.variance:.4g}{fits}"


def _error(task: ExplainedTask) -> str:
    deviation, reports = task.expected_error, task.reports
    if not isinstance(task.oracle, FrequencyOracle):
        return f"{reports:,} reports give a mean with a standard deviation of {deviation:.3g} at most"
    least = min(1.0, _NORMAL * deviation / reports)
    return (
        f"{reports:,} reports give counts with a standard deviation of {deviation:,.0f}; "
        f"a value of fewer than {least:.2%} of clients cannot be distinguished from one that nobody has"
    )


def _repeats(task: ExplainedTask) -> str:
    text = _REPEATS[task.repeat].format(epsilon=task.epsilon, second=task.epsilon_second)
    if task.repeat == "fresh" or task.max_values is None:
        return text
    return f"{text}; after {task.max_values} different values a client reports the default, which biases counts"


def _instead(task: ExplainedTask) -> str:
    times = task.expected_error / task.central_error()
    return (
        f"a secure aggregator that adds noise once has a standard deviation of {_central(task)}, "
        f"{times:,.0f} times less: use the local model only where nobody may be trusted with sums"
    )


def _central(task: ExplainedTask) -> str:
    one, two = task.central_error(), task.central_error("replace_one")
    return f"{one:.2g} (add/remove; {two:.2g} replace-one)" if two > one else f"{one:.2g}"
