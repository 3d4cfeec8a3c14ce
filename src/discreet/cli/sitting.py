"""One sitting at the prompt: statements that are planned, then charged one by one, up to a limit of its own.

The limit is on the sum of the epsilons that statements of this sitting cost. It stands beside the privacy budget, which
the ledger keeps over all sittings and all people.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.catalog.catalog import Column, Table
from discreet.errors import BudgetError, ParameterError, Refusal, suggestion
from discreet.exact.numbers import shown
from discreet.exact.rounding import digits_down
from discreet.query.sql.statement import Statement, sql
from discreet.release.explanation import BatchExplanation, Explanation
from discreet.release.sql_release import SqlRelease
from discreet.release.values.rendering import cell
from discreet.session.session import Session

COMMANDS = {
    ".help": "these commands",
    ".tables": "tables and columns of the catalog, with keys and bounds",
    ".budget": "what is left of each budget and of this sitting",
    ".plan": "cost and margins of a statement, for free: .plan SELECT COUNT(*) AS n FROM visits;",
    ".epsilon": "the cost of each statement from here on: .epsilon 0.1",
    ".history": "the last charges to each table",
    ".quit": "end; Ctrl-D does the same",
}
_WITH_ARGUMENTS = {".epsilon": ".epsilon 0.1", ".plan": ".plan SELECT COUNT(*) AS n FROM visits;"}
_LAST = 10
_DIGITS = 6
_SHOWN_KEYS = 6


@dataclass(frozen=True)
class PlannedStatement:
    """A statement, its parameters, and its plan."""

    statement: Statement
    epsilon: Fraction
    delta: Decimal | None
    explanation: Explanation | BatchExplanation
    has_own_epsilon: bool = False
    """Whether its OPTIONS give its epsilon."""


@dataclass
class Sitting:
    """The statements of one sitting, and what they spent together."""

    session: Session
    limit: Fraction
    epsilon: Decimal | None = None
    delta: Decimal | None = None
    dialect: str = "duckdb"
    spent: Fraction = Fraction(0)
    _answered: dict[tuple[str, Fraction], SqlRelease] = field(default_factory=dict)
    _last: str = ""

    @property
    def left(self) -> Fraction:
        """What this sitting may still spend."""
        return self.limit - self.spent

    def state(self) -> str:
        """What this sitting spent, in words."""
        return f"this sitting has spent epsilon {shown(self.spent)} of {shown(self.limit)}"

    def plan(self, text: str) -> PlannedStatement:
        """The plan of a statement, for free."""
        self._last = text
        statement = sql(text, dialect=self.dialect)
        written = statement.translate(self.session.catalog, self.delta).options.get("epsilon")
        epsilon = self._epsilon() if written is None else Fraction(written)
        found = self.session.explain(statement, epsilon=epsilon, delta=self.delta)
        return PlannedStatement(statement, epsilon, self.delta, found, has_own_epsilon=written is not None)

    def require_room(self, planned: PlannedStatement) -> None:
        """Refuse a statement whose cost is above what this sitting may still spend, unless it is answered already."""
        if planned.epsilon > self.left and not self.is_answered(planned):
            raise _over_limit(planned, self.left, self.limit)

    def is_answered(self, planned: PlannedStatement) -> bool:
        """Whether this sitting has the answer already; it is stored, and free."""
        return (planned.statement.text, planned.epsilon) in self._answered

    def answer(self, planned: PlannedStatement) -> SqlRelease:
        """Charge and answer. A failure after the charge counts too; a refusal and a stored answer do not.

        An answer of this sitting is shown again without asking for it: a public table that changed since would make it
        another query, which is charged.
        """
        if self.is_answered(planned):
            return self._answered[planned.statement.text, planned.epsilon]
        self.require_room(planned)
        before, self.spent = self.spent, self.spent + planned.epsilon
        try:
            table = self.session.release(planned.statement, epsilon=planned.epsilon, delta=planned.delta)
        except Refusal:
            self.spent = before
            raise
        if table.releases[0].repeated:
            self.spent = before
        self._answered[planned.statement.text, planned.epsilon] = table
        return table

    def command(self, text: str) -> str | None:
        """What a command of the prompt prints; None where it ends the sitting."""
        name, _, rest = text.strip().partition(" ")
        match name:
            case ".quit" | ".exit":
                return None
            case ".help":
                return "\n".join(f"{known.ljust(9)} {words}" for known, words in COMMANDS.items())
            case ".tables":
                return "\n".join(_table_text(known, table) for known, table in self.session.catalog.tables.items())
            case ".budget":
                return "\n".join([*self._for_each_table(self.session.remaining), self.state()])
            case ".history":
                return "\n".join(self._for_each_table(self._history))
            case ".epsilon":
                return self._set_epsilon(rest.strip())
            case ".plan" if rest.strip(" ;") or self._last:
                return str(self.plan(rest.strip().rstrip(";") or self._last).explanation)
        nearest = suggestion(name, COMMANDS)
        raise ParameterError(
            f"the command {name[:40]!r}",
            because="a line that begins with a dot is a command of the prompt",
            instead=_WITH_ARGUMENTS.get(nearest, nearest if nearest in COMMANDS else ".help"),
        )

    def _set_epsilon(self, text: str) -> str:
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal(0)
        if not value.is_finite() or value <= 0:
            raise ParameterError(
                f".epsilon {text[:40]}".rstrip(), because="epsilon is a number above zero", instead=".epsilon 0.1"
            )
        self.epsilon = value
        return f"each statement costs epsilon {value}, unless its OPTIONS give another"

    def _epsilon(self) -> Fraction:
        """The cost of a statement whose OPTIONS give none."""
        if self.epsilon is None:
            raise ParameterError(
                "a statement without an epsilon",
                because="neither --epsilon nor its OPTIONS give its privacy cost",
                instead=".epsilon 0.1",
            )
        return Fraction(self.epsilon)

    def _for_each_table(self, text: Callable[[str], object]) -> list[str]:
        return [str(text(name)) for name in self.session.catalog.protected_tables]

    def _history(self, name: str) -> str:
        entries = self.session.history(name)
        return "\n".join([f"{name}: {len(entries)} entries", *map(str, entries[-_LAST:])])


def _over_limit(planned: PlannedStatement, left: Fraction, limit: Fraction) -> BudgetError:
    """The refusal of a statement; the number that it advises is rounded down, so that it fits."""
    fitting = shown(digits_down(left, _DIGITS), _DIGITS) if left else "0"
    smaller = f"OPTIONS (epsilon = {fitting})" if planned.has_own_epsilon else f".epsilon {fitting}"
    larger = "a sitting with a larger --limit"
    return BudgetError(
        f"a statement of epsilon {shown(planned.epsilon)}",
        because=f"epsilon {fitting} is left of this sitting's limit of {shown(limit)}",
        instead=f"{smaller}, or {larger}" if left else larger,
    )


def _table_text(name: str, table: Table) -> str:
    whose = "public" if table.public else str(table.unit.label)
    width = max((len(column) for column in table.columns), default=0)
    lines = [f"  {cell(column).ljust(width)}  {_column_text(facts)}" for column, facts in table.columns.items()]
    return "\n".join([f"{cell(name)} ({whose})", *lines])


def _column_text(facts: Column) -> str:
    if facts.keys is not None:
        listed = ", ".join(cell(key) for key in facts.keys[:_SHOWN_KEYS])
        more = len(facts.keys) - _SHOWN_KEYS
        return f"{facts.type}  keys {listed}{f' and {more:,} more' if more > 0 else ''}"
    if facts.bounds is not None:
        return f"{facts.type}  from {shown(facts.bounds[0])} to {shown(facts.bounds[1])}"
    return str(facts.type)
