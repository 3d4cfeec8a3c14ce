"""Token soups and mutations of golden statements: whatever is written, a statement is a query or is refused."""

import random
from functools import cache

import fuzzing
from query.sql.statements import DIALECTS, fingerprint_of, golden, queries_of

_TEXT = """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS JOIN LEFT RIGHT FULL CROSS ON USING AND OR NOT
IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END DISTINCT ALL UNION EXCEPT FILTER WITHIN OVER PARTITION ROWS QUALIFY
COUNT SUM AVG MIN MAX MEDIAN PERCENTILE_CONT APPROX_QUANTILES LEAST GREATEST CLAMP COALESCE CAST TRY_CAST EXTRACT
DATE_TRUNC WIDTH_BUCKET FLOOR IF INTERVAL DATE TIMESTAMP ARRAY STRUCT UNNEST LATERAL PIVOT TABLESAMPLE EXISTS ANY VALUES
DIFFERENTIAL_PRIVACY OPTIONS epsilon delta contribution_bounds_per_row max_groups_contributed privacy_unit_column
visits prescriptions letters people wards patient_id visit_id ward code age nights cost fee urgent day seen scan region
DESC NULLS FIRST LAST MONTH YEAR WEEK INT DOUBLE VARCHAR BOOLEAN n x v w 0 1 2 10 -1 0.5 1e9 1e999 'A' 'x%' '2026-01-01'
( ) , . * + - / % = <> < <= > >= => :: || [ ] { } ; : ? @ $1 " ' ` -- /* */ \\ \x00 é ~ ! & | ^ # -> ->>"""
_WORDS = _TEXT.split()


def soup(draw: random.Random) -> str:
    """Random words, most of them after SELECT."""
    words = draw.choices(_WORDS, k=draw.randint(1, 40))
    return " ".join(["SELECT", *words] if draw.random() < 0.8 else words)


def mutation(draw: random.Random, statements: list[str]) -> str:
    """A golden statement with words dropped, doubled, exchanged, replaced or taken from another one."""
    words = draw.choice(statements).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(words)) if words else 0
        kind = draw.randrange(6)
        other = draw.choice(statements).replace("(", " ( ").replace(")", " ) ").split()
        start = draw.randrange(len(other))
        changed = {
            0: words[:at] + words[at + 1 :],
            1: words[:at] + words[at : at + 1] * 2 + words[at + 1 :],
            2: [*words[:at], draw.choice(_WORDS), *words[at + 1 :]],
            3: [*words[:at], draw.choice(_WORDS), *words[at:]],
            4: words[:at] + other[start : start + draw.randint(1, 8)] + words[at:],
            5: [*words[:at], "(", *words[at:], ")"],
        }
        words = changed[kind]
    return " ".join(words)


@cache
def _statements() -> list[str]:
    found = [each.sql for each in golden("accepted")]
    queries_of(found[0], DIALECTS[0])  # the parser is loaded with the first statement
    return found


def attempt(draw: random.Random) -> tuple[str, fuzzing.Read]:
    """A statement in some dialect, and how it is read."""
    statements = _statements()
    text = soup(draw) if draw.random() < 0.3 else mutation(draw, statements)
    dialect = draw.choice(DIALECTS)
    return f"{dialect}: {text!r}", lambda: fingerprint_of(queries_of(text, dialect))


if __name__ == "__main__":
    fuzzing.main(attempt)
