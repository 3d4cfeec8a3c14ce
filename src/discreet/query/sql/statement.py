"""A statement in SQL as a query: `dp.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")`.

The parser is loaded with the first statement: sessions that are asked in Python do not wait for it.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, SqlError, public_class, short_traceback
from discreet.exact.numbers import Number, probability, rational
from discreet.query.sql.dialects import DEFAULT, checked_dialect
from discreet.query.sql.logs import no_parser_logs

if TYPE_CHECKING:
    from discreet.query.sql.parsing import SelectTree
    from discreet.query.sql.translation import Translation


@public_class
@dataclass(frozen=True)
class Statement:
    """A SELECT statement, for `session.explain`, `session.release` and `session.epsilon_for`. It holds no data.

    Attributes:
        text: The statement.
        dialect: The dialect it is written in.

    Example:
        >>> import discreet as dp
        >>> dp.sql("SELECT COUNT(*) AS n FROM visits")
        SQL (duckdb): SELECT COUNT(*) AS n FROM visits
    """

    text: str
    dialect: str
    parsed: "SelectTree" = field(compare=False)

    def __repr__(self) -> str:
        return f"SQL ({self.dialect}): {' '.join(self.text.split())}"

    def translate(self, catalog: Catalog, delta: Number | None = None) -> "Translation":
        """The queries of the statement, and how its table is made of their answers.

        Args:
            catalog: Tables that the statement may name.
            delta: Probability for partition selection. Default: the one in the statement.

        Returns:
            The translation.

        Raises:
            Refusal: If something in the statement is unknown or not accepted.
        """
        from discreet.query.sql.translation import translate  # noqa: PLC0415 - loads the parser

        given = None if delta is None else probability(delta, "delta", example="1e-10")
        with no_parser_logs():
            return translate(self.parsed, self.dialect, catalog, given)


@short_traceback
def sql(text: str, *, dialect: str = DEFAULT) -> Statement:
    """A statement in SQL as a query.

    Args:
        text: One SELECT statement.
        dialect: "duckdb", "postgres", "spark", "bigquery" or "snowflake". Default "duckdb".

    Returns:
        A query for `session.explain`, `session.release` and `session.epsilon_for`.

    Raises:
        SqlError: If the text is not one SELECT, or something in it cannot be read.

    Example:
        >>> import discreet as dp
        >>> query = dp.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    """
    if not isinstance(text, str):
        raise ParameterError(
            f"SQL of type {type(text).__name__}",
            because="a statement is text",
            instead='dp.sql("SELECT COUNT(*) AS n FROM visits")',
        )
    from discreet.query.sql.parsing import parse_statement  # noqa: PLC0415 - loads the parser

    known = checked_dialect(dialect)
    with no_parser_logs():
        return Statement(text, known, parse_statement(text, known))


def option(translation: "Translation", name: str, given: Number | None) -> Number | None:
    """A parameter of the call or of the statement; refused where both give one and they differ."""
    written = translation.options.get(name)
    if given is None or written is None:
        return given if written is None else Fraction(written)
    if rational(given, name) != written:
        raise SqlError(
            f"{name}={given} beside OPTIONS ({name} = {float(Fraction(written)):g})",
            because="the call and the statement give different ones",
            instead=f"one of them: session.sql(text) or session.sql(text, {name}=...) without the option",
        )
    return given
