"""Tasks: what clients are asked, as an immutable JSON document that its hash names.

Definition
    A task has a text for clients, a domain of slots, an epsilon, an oracle and rules for repeats. Its canonical form is
    JSON with sorted keys, without spaces, in ASCII. `hash` is the SHA-256 of that form, and the first 8 bytes are its
    id, which each report carries. An assignment is a task and the cohort that the operator gave to a client.

Guarantee
    One report of one value is epsilon-locally differentially private with the epsilon that the task states: a task
    whose oracle has a larger likelihood ratio than e^epsilon cannot be made or read. Two tasks with one hash are equal,
    unless somebody finds a collision of SHA-256. Proof: docs/proofs/local/task.md.

Exactness
    Epsilons are rationals, written as decimals or fractions. The likelihood ratio is compared with e^epsilon rounded
    down. `expected_error` and `required_n` are floats, for accuracy only.

Not covered
    Several reports of one client: with `repeat="fresh"` their epsilons add. With `repeat="memoised"` a change of value
    is visible. What the operator of a collection can see beside a report, such as its time and its address.

References
    Duchi, Jordan and Wainwright, Local Privacy and Statistical Minimax Rates, FOCS 2013. Erlingsson, Pihur and
    Korolova, RAPPOR, CCS 2014.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Literal, Self

from discreet.errors import ParameterError, public_class
from discreet.events import PureEvent
from discreet.exact.numbers import Number, probability, whole
from discreet.exact.rounding import exp_down
from discreet.local.choice import Setting, choose
from discreet.local.client import Client, ClientError
from discreet.local.domain import SlotDomain, check_text, decimal_or_fraction, read_number
from discreet.local.explanation import explanation
from discreet.local.oracles import FrequencyOracle, LocalRandomizer, MeanOracle, from_json
from discreet.local.report_format import HEADER_BYTES, MOST_COHORTS, TASK_ID_BYTES
from discreet.mechanisms.laplace import Laplace

FORMAT = "discreet.local.task/1"

Repeat = Literal["fresh", "memoised", "two_stage"]
Trust = Literal["local", "shuffle", "dap"]


@public_class
@dataclass(frozen=True)
class Task:
    """What clients are asked, with everything that a report depends on.

    Args:
        domain: Public values, numbered by slots.
        epsilon: The stated loss of one value: of one report, or of the permanent stage of two.
        oracle: How a report is made.
        question: What clients are asked, in words.
        name: A short name.
        repeat: What a client reports when it is asked again: "fresh" noise, a "memoised" report, or "two_stage".
        second: Parameters of the fresh stage of two.
        epsilon_second: The stated loss of one fresh stage alone.
        max_values: How many different values a client reports before it reports the default slot; None for no limit.
        default: Slot that stands for values outside of the domain.
        cohorts: Number of cohorts, which the operator assigns.
        max_bytes: Largest length of a report.
        trust: Who sees single reports: the collector ("local"), a shuffler, or nobody ("dap").
        reports: Expected number of reports.

    Raises:
        ParameterError: If a field is outside its range, or the oracle loses more than epsilon.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.two_coin()
        >>> task = dp.local.Task(dp.local.SlotDomain(size=2), "1.0987", oracle, question="Do you smoke?")
        >>> len(task.id)
        8
    """

    domain: SlotDomain
    epsilon: str
    oracle: LocalRandomizer
    question: str = ""
    name: str = ""
    repeat: Repeat = "fresh"
    second: Mapping[str, Any] | None = None
    epsilon_second: str | None = None
    max_values: int | None = None
    default: int = 0
    cohorts: int = 1
    max_bytes: int = 40
    trust: Trust = "local"
    reports: int = 1_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", decimal_or_fraction(self.epsilon, "epsilon"))
        if self.epsilon_second is not None:
            object.__setattr__(self, "epsilon_second", decimal_or_fraction(self.epsilon_second, "epsilon_second"))
        self._check_numbers()
        self._check_words()
        self._check_oracle()
        self._check_repeat()
        self._check_clients()
        object.__setattr__(self, "oracle", self.oracle.bind(self.id, self.cohorts))

    @classmethod
    def choose(
        cls,
        *,
        domain: SlotDomain | int | Mapping[str, Any] | list[str] | tuple[str, ...],
        epsilon: Number | str,
        n: int,
        max_bytes: int = 40,
        question: str = "",
        name: str = "",
        repeat: Repeat = "fresh",
        epsilon_second: Number | str | None = None,
        max_values: int | None = None,
        default: int = 0,
        trust: Trust = "local",
    ) -> Self:
        """The task whose oracle has the least variance among those whose reports fit. Print it to see why.

        Args:
            domain: A number of slots, a list of texts, or {"low": 0, "high": 100, "steps": 256} for a mean.
            epsilon: The loss of one value.
            n: Expected number of reports.
            max_bytes: Largest length of a report. Default 40: a header of 31 bytes, and a payload.
            question: What clients are asked, in words.
            name: A short name.
            repeat: What a client reports when it is asked again: "fresh", "memoised" or "two_stage".
            epsilon_second: The loss of one fresh stage alone, for "two_stage". Default: epsilon.
            max_values: How many different values a client reports before it reports the default; None for no limit.
            default: Slot that stands for values outside of the domain.
            trust: Who sees single reports: the collector ("local"), a shuffler, or nobody ("dap").

        Returns:
            The task.

        Raises:
            ParameterError: If an argument is outside its range, or no report fits.

        Example:
            >>> import discreet as dp
            >>> task = dp.local.Task.choose(domain=1024, epsilon=1, n=1_000_000)
            >>> task.oracle.kind, task.report_bytes, round(task.expected_error)
            ('pgr', 33, 1939)
        """
        slots, second = SlotDomain.read(domain), epsilon_second
        if repeat == "two_stage" and second is None:
            second = epsilon
        setting = Setting(
            slots.size,
            read_number(epsilon, "epsilon"),
            whole(n, "n"),
            whole(max_bytes, "max_bytes"),
            slots.is_numeric,
            None if second is None else read_number(second, "epsilon_second"),
            trust == "local",
        )
        best = choose(setting)
        return cls(
            domain=slots,
            epsilon=decimal_or_fraction(epsilon, "epsilon"),
            oracle=best.oracle,
            question=question,
            name=name,
            repeat=repeat,
            second=best.second,
            epsilon_second=None if second is None else decimal_or_fraction(second, "epsilon_second"),
            max_values=max_values,
            default=default,
            cohorts=best.cohorts,
            max_bytes=max_bytes,
            trust=trust,
            reports=n,
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal digits."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (canonical(self.to_json()),)

    @property
    def id(self) -> bytes:
        """The first 8 bytes of the hash, which each report carries."""
        return bytes.fromhex(self.hash)[:TASK_ID_BYTES]

    @cached_property
    def decoder(self) -> LocalRandomizer:
        """The oracle that estimates counts: that of both stages together, where there are two."""
        if self.second is None or not isinstance(self.oracle, FrequencyOracle):
            return self.oracle
        return self.oracle.compose(self.second)

    @property
    def report_bytes(self) -> int:
        """Length of a report."""
        return HEADER_BYTES + self.oracle.payload_bytes

    def event(self) -> PureEvent:
        """Event of one report of one value; of all reports of one value, where they are memoised.

        Returns:
            A pure event with the stated epsilon.
        """
        return PureEvent(Fraction(self.epsilon))

    def to_json(self) -> dict[str, Any]:
        """The task as a JSON document.

        Returns:
            Its fields.
        """
        stages: dict[str, Any] = {}
        if self.second is not None:
            second = {name: list(pair) for name, pair in self.second.items()}
            stages = {"second": second, "epsilon_second": self.epsilon_second}
        return {
            "format": FORMAT,
            "question": self.question,
            "name": self.name,
            "domain": self.domain.to_json(),
            "epsilon": self.epsilon,
            "oracle": self.oracle.to_json(),
            "repeat": self.repeat,
            "max_values": self.max_values,
            "default": self.default,
            "cohorts": self.cohorts,
            "max_bytes": self.max_bytes,
            "trust": self.trust,
            "reports": self.reports,
            **stages,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | str | bytes) -> Self:
        """Read a task from a JSON document.

        Args:
            document: The document, or its text.

        Returns:
            The task.

        Raises:
            ParameterError: If it is not a task in canonical form, or a field is outside its range.
        """
        fields = _read(document)
        text = canonical(fields)
        if fields.pop("format", None) != FORMAT:
            raise _no_task(f'its format is not "{FORMAT}"')
        try:
            domain, oracle = SlotDomain.from_json(fields.pop("domain")), from_json(fields.pop("oracle"))
            task = cls(domain=domain, oracle=oracle, **fields)
        except (KeyError, TypeError, AttributeError):
            raise _no_task("a field is missing, unknown or of another type") from None
        if canonical(task.to_json()) != text:
            raise _no_task("its fields are not written as a task writes them, so its hash would change")
        return task

    def save(self, path: str | Path) -> None:
        """Write the task in canonical form.

        Args:
            path: Name of the file.
        """
        Path(path).write_bytes(canonical(self.to_json()))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a task from a file.

        Args:
            path: Name of the file.

        Returns:
            The task.

        Raises:
            ParameterError: If the file is not a task.
        """
        return cls.from_json(Path(path).read_bytes())

    def assignment(self, cohort: int = 0) -> dict[str, Any]:
        """What one client gets: the task and its cohort. The operator assigns cohorts; a client never chooses one.

        Args:
            cohort: Number of the cohort.

        Returns:
            A JSON document.

        Raises:
            ParameterError: If the task has no such cohort.
        """
        if not 0 <= whole(cohort, "cohort", least=0) < self.cohorts:
            raise ParameterError(
                f"cohort={cohort}",
                because=f"the task has {self.cohorts} cohorts, numbered from 0",
                instead=f"cohort={self.cohorts - 1}",
            )
        return {"task": self.to_json(), "cohort": cohort}

    @property
    def expected_error(self) -> float:
        """Standard deviation of the count of a rare value, or of a mean, at its largest; with DAP `central_error()`."""
        if self.trust == "dap":
            return self.central_error()
        variance, reports = self.decoder.report_variance(self.reports), self.reports
        return math.sqrt(variance / reports) * self._half_range if self._is_mean else math.sqrt(variance * reports)

    def required_n(self, margin: Number, confidence: Number = 0.95) -> int:
        """How many reports an accuracy needs.

        Args:
            margin: Margin of error of the share of a rare value, or of a mean in the units of its domain.
            confidence: Probability that one estimate is within the margin. Default 0.95.

        Returns:
            The number of reports.

        Raises:
            ParameterError: If the margin is not above zero, or no number of reports is enough.
        """
        level = float(probability(confidence, "confidence", example="0.95"))
        deviation = float(read_number(margin, "margin")) / NormalDist().inv_cdf((1 + level) / 2)
        unit = self._half_range**2 if self._is_mean else 1.0
        variance, allowed = self.decoder.report_variance(0) * unit, deviation**2
        floor = self.decoder.report_variance(1) * unit - variance  # what hash functions add for each report
        if read_number(margin, "margin") <= 0 or allowed <= floor:
            raise ParameterError(
                f"margin={margin}",
                because="the margin must be above zero, and above what hash functions of cohorts cost",
                instead="a larger margin, or an oracle without hash functions",
            )
        if self.trust == "dap":  # the error of a sum is the same for any number of reports
            return math.ceil(self.central_error() * (self.reports if self._is_mean else 1) / deviation)
        return math.ceil(variance / (allowed - floor))

    def central_error(self, neighbours: Literal["add_remove", "replace_one"] = "add_remove") -> float:
        """Standard deviation of the same count or mean by a secure aggregator, with noise added once to the sum.

        Args:
            neighbours: Whether one client is added or removed, or replaced by another. Default "add_remove".

        Returns:
            A number of clients, or a mean in the units of the domain.

        Raises:
            ParameterError: If `neighbours` is neither of the two.
        """
        moves = {"add_remove": 1, "replace_one": 2}.get(neighbours)
        if moves is None:
            raise ParameterError(
                f"{neighbours!r}", because="neighbours is add_remove or replace_one", instead='"add_remove"'
            )
        epsilon = read_number(self.epsilon, "epsilon")
        if not self._is_mean:
            return Laplace(sensitivity=moves, epsilon=epsilon).standard_deviation
        steps = self.oracle.size - 1
        share = Laplace(sensitivity=steps, epsilon=epsilon).standard_deviation / steps / self.reports
        return share * 2 * self._half_range

    def explain(self) -> str:
        """Why this oracle, what error to expect, and when not to use the local model.

        Returns:
            Text of several lines.
        """
        return explanation(self)

    def __str__(self) -> str:
        return self.explain()

    @property
    def _is_mean(self) -> bool:
        return isinstance(self.oracle, MeanOracle)

    @property
    def _half_range(self) -> float:
        low, high = self.domain.low or Fraction(0), self.domain.high or Fraction(0)
        return float(high - low) / 2

    def _check_numbers(self) -> None:
        for name in ("reports", "max_bytes", "cohorts", *(["max_values"] if self.max_values is not None else [])):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        object.__setattr__(self, "default", whole(self.default, "default", least=0))
        if self.cohorts > MOST_COHORTS or self.default >= self.domain.size:
            raise ParameterError(
                f"cohorts={self.cohorts}, default={self.default}",
                because=f"a task has at most {MOST_COHORTS:,} cohorts, and its default is a slot of its domain",
                instead="cohorts=1, default=0",
            )

    def _check_words(self) -> None:
        words = (self.repeat, ("fresh", "memoised", "two_stage")), (self.trust, ("local", "shuffle", "dap"))
        for word, known in words:
            if word not in known:
                raise ParameterError(f"{word!r}", because=f"it is one of {', '.join(known)}", instead=f'"{known[0]}"')
        if {type(self.question), type(self.name)} != {str}:
            raise ParameterError(
                "a name or a text for clients that is not text", because="people read both", instead='question="..."'
            )
        check_text(self.question, self.name)

    def _check_oracle(self) -> None:
        if self.oracle.size != self.domain.size or (isinstance(self.oracle, MeanOracle) and not self.domain.is_numeric):
            raise ParameterError(
                f"an oracle of {self.oracle.size:,} slots for a domain of {self.domain.size:,}",
                because="the slots of the oracle are those of the domain, and a mean needs a range of numbers",
                instead="Task.choose(domain=..., epsilon=...)",
            )
        if self.report_bytes > self.max_bytes:
            raise ParameterError(
                f"max_bytes={self.max_bytes}",
                because=f"a report of this oracle has {self.report_bytes} bytes",
                instead=f"max_bytes={self.report_bytes}, or Task.choose(max_bytes={self.max_bytes})",
            )
        _check_loss(self.oracle.ratio, self.epsilon, "the oracle")

    def _check_repeat(self) -> None:
        if (self.second is None) != (self.epsilon_second is None) or (self.second is None) != (
            self.repeat != "two_stage"
        ):
            raise ParameterError(
                f"repeat={self.repeat!r} with second={self.second}",
                because="two stages, and no other rule, have parameters and an epsilon of the fresh stage",
                instead='repeat="two_stage", second={"ratio": [3, 1]}, epsilon_second="1.0987"',
            )
        if self.second is not None and self.epsilon_second is not None:
            pairs = {name: tuple(pair) if isinstance(pair, list) else pair for name, pair in self.second.items()}
            object.__setattr__(self, "second", MappingProxyType(pairs))
            if not isinstance(self.oracle, FrequencyOracle):
                raise ParameterError(
                    "two stages of an oracle of a mean",
                    because="its permanent report would link the reports of a client",
                    instead='repeat="memoised"',
                )
            self.oracle.compose(self.second)
            _check_loss(type(self.oracle).second_ratio(self.second), self.epsilon_second, "the fresh stage")

    def _check_clients(self) -> None:
        """Refuse what clients refuse, by a client: its limits of epsilon, ratios and fields are those of tasks."""
        if self.trust == "dap":
            return
        try:
            Client(self.assignment(), bytes(16), {})
        except ClientError as error:
            raise ParameterError(
                "a task that no client reports for",
                because=error.args[1],
                instead="Task.choose(domain=..., epsilon=..., n=...), which clients accept",
            ) from None


def canonical(document: Mapping[str, Any]) -> bytes:
    """The bytes that a hash is computed of: JSON with sorted keys, without spaces, in ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _check_loss(ratio: Fraction, epsilon: str, what: str) -> None:
    stated = read_number(epsilon, "epsilon")
    if stated <= 0 or ratio > exp_down(stated):
        raise ParameterError(
            f"{what} has the likelihood ratio {float(ratio):.6g}",
            because=f"it is above e^epsilon for the stated epsilon {epsilon}",
            instead=f'epsilon="{math.log(ratio) + 1e-6:.6f}", or an oracle calibrated to epsilon',
        )


def _read(document: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    if isinstance(document, Mapping):
        return dict(document)
    try:
        fields = json.loads(document)
    except ValueError:
        raise _no_task("it is not JSON") from None
    if not isinstance(fields, dict):
        raise _no_task("it is not an object")
    return fields


def _no_task(because: str) -> ParameterError:
    return ParameterError("a document that is not a task", because=because, instead="what Task.save wrote")
