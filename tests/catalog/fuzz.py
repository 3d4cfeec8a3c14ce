"""Mutations of catalogs and of metadata of other systems: each is a catalog, a draft, or refused."""

import random
import re
from functools import cache
from pathlib import Path

import discreet as dp
import fuzzing
from discreet.catalog import strict_yaml

DOCS = Path(__file__).parents[2] / "docs"
SMARTNOISE = """
"":
  clinic:
    visits:
      max_ids: 10
      row_privacy: false
      sample_max_ids: True
      censor_dims: True
      rows: 1000
      patient_id: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 120, nullable: false}
      cost:
        type: float
        lower: -1.5
        upper: 5e3
        missing_value: 0
      ward: {type: string, cardinality: 4}
      day: {type: datetime}
"""
POLICY = (
    '{"differential_privacy_policy": {"privacy_unit_column": "patient_id", "max_epsilon_per_query": 1.5, '
    '"epsilon_budget": 3, "delta_per_query": 1e-10, "delta_budget": 1e-8, "max_groups_contributed": 2}}'
)
BIGQUERY = (
    f"CREATE OR REPLACE VIEW `p.clinic.visits` OPTIONS(privacy_policy='{POLICY}') AS SELECT * FROM t;",
    f"ALTER VIEW clinic.v SET OPTIONS (privacy_policy = '''{POLICY}''')",
    POLICY,
)
SNOWFLAKE = """
CREATE PRIVACY POLICY p AS () RETURNS PRIVACY_BUDGET -> CASE WHEN CURRENT_ROLE() = 'A' THEN NO_PRIVACY_POLICY()
  ELSE PRIVACY_BUDGET(BUDGET_NAME => 'b', BUDGET_LIMIT => 5, MAX_BUDGET_PER_AGGREGATE => 0.5) END;
CREATE TABLE s."visits" (patient_id NUMBER(9, 0) NOT NULL, age INT PRIVACY DOMAIN BETWEEN (0, 120), w VARCHAR(9));
ALTER TABLE s."visits" ADD PRIVACY POLICY p ENTITY KEY (patient_id);
ALTER TABLE s."visits" MODIFY COLUMN w SET PRIVACY DOMAIN IN ('A', 'it''s', 'é'), COLUMN age UNSET PRIVACY DOMAIN;
"""


@cache
def texts() -> dict[str, list[str]]:
    """Whole texts of each form; catalogs are those of the documentation and the drafts of the imports."""
    page = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("catalog.md", "joins.md", "postgresql.md"))
    found = {"smartnoise": [SMARTNOISE], "bigquery": list(BIGQUERY), "snowflake": [SNOWFLAKE]}
    drafts = [dp.import_catalog(text, form=form) for form, each in found.items() for text in each]  # type: ignore[arg-type]
    found["catalog"] = [*re.findall(r"```yaml\n(.*?)```", page, re.DOTALL), *drafts]
    return found


def attempt(draw: random.Random) -> tuple[str, fuzzing.Read]:
    """A text of some form, and how it is read."""
    form = draw.choice(list(texts()))
    others = [text for each in texts().values() for text in each]
    text = fuzzing.mutate(draw, draw.choice(texts()[form]), others)
    return f"{form}: {text!r}", lambda: _read(form, text)


def _read(form: str, text: str) -> None:
    if form == "catalog":
        catalog = dp.Catalog.parse(text)
        str(catalog), repr(catalog)
        return
    draft = dp.import_catalog(text, form=form)  # type: ignore[arg-type]
    strict_yaml.read(draft)


if __name__ == "__main__":
    fuzzing.main(attempt)
