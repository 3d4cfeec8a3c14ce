"""Entry point of imports: read a file or text of another system and write the draft of a catalog.

Metadata is untrusted input. Its size is bounded before it is parsed, and every form has a strict reader.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from discreet.catalog import strict_yaml
from discreet.catalog.imports import bigquery, smartnoise, snowflake
from discreet.catalog.imports.draft import MetadataOrigin
from discreet.errors import CatalogError, ParameterError, short_traceback, suggestion

LONGEST_METADATA = 1_000_000
_SUFFIXES = (".yaml", ".yml", ".json", ".sql", ".ddl")
_FORMS: dict[str, tuple[str, Callable[[str, MetadataOrigin], str]]] = {
    "smartnoise": ("SmartNoise SQL metadata", smartnoise.draft),
    "bigquery": ("BigQuery privacy policy", bigquery.draft),
    "snowflake": ("Snowflake DDL", snowflake.draft),
}


@short_traceback
def import_catalog(source: str | Path, *, form: Literal["smartnoise", "bigquery", "snowflake"]) -> str:
    """Draft a catalog from the metadata of another system.

    The draft is YAML. Comments state the origin of each fact, facts that are not carried over, and, after `decide:`,
    what the owner has to decide. It loads as a catalog when every value DECIDE is replaced. No data is read.

    Args:
        source: Path of a file, or its text. A one-line `str` that ends with .yaml, .yml, .json, .sql or .ddl is a path.
        form: `"smartnoise"` for SmartNoise SQL metadata in YAML; `"bigquery"` for `CREATE VIEW` and `ALTER VIEW` with a
            `privacy_policy`, or the policy in JSON; `"snowflake"` for privacy policies, domains and tables in SQL.

    Returns:
        The text of the draft.

    Raises:
        CatalogError: If the metadata cannot be read, is too long, or is ambiguous.
        ParameterError: If the form is unknown, or the source is neither a path nor text.

    Example:
        >>> import discreet as dp
        >>> policy = '{"differential_privacy_policy": {"privacy_unit_column": "patient_id", "epsilon_budget": 2}}'
        >>> draft = dp.import_catalog(policy, form="bigquery")
        >>> [line.strip() for line in draft.splitlines() if "DECIDE" in line][1:]
        ['max_rows: DECIDE', 'type: DECIDE']
    """
    if str(form) not in _FORMS:
        nearest = suggestion(str(form), _FORMS)
        raise ParameterError(
            f"form={form!r}"[:80],
            because=f"forms are {', '.join(_FORMS)}",
            instead=f'form="{nearest if nearest in _FORMS else "smartnoise"}"',
        )
    if not isinstance(source, str | Path):
        raise ParameterError(
            f"a source of type {type(source).__name__}",
            because="metadata is a path or text",
            instead='dp.import_catalog("metadata.yaml", form="smartnoise")',
        )
    system, draft = _FORMS[str(form)]
    if _is_path(source):
        return draft(_read(Path(source)), MetadataOrigin(system, Path(source).name))
    return draft(_checked(str(source), "text"), MetadataOrigin(system))


def _is_path(source: str | Path) -> bool:
    if isinstance(source, Path):
        return True
    return source.lower().endswith(_SUFFIXES) and len(source.splitlines()) == 1


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(4 * LONGEST_METADATA + 1)
        text = data.decode("utf-8-sig") if len(data) <= 4 * LONGEST_METADATA else " " * len(data)
        return _checked(text, repr(path.name))
    except (OSError, ValueError) as error:
        instead = 'dp.import_catalog("metadata.yaml", form="smartnoise"), with the path of an existing file in UTF-8'
        raise strict_yaml.unreadable_file(path, error, "metadata", instead) from None


def _checked(text: str, what: str) -> str:
    if len(text) > LONGEST_METADATA:
        raise CatalogError(
            f"metadata {what} that is too long",
            because=f"metadata has at most {LONGEST_METADATA:,} characters",
            instead="the tables in several files",
        )
    if not text.isascii():
        _refuse_half_characters(text, what)
    return text


def _refuse_half_characters(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CatalogError(
            f"metadata {what} with half a character",
            because="it cannot be written as UTF-8",
            instead="text from a file in UTF-8",
        ) from None
