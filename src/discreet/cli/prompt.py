"""The prompt of `discreet sql` in a terminal: lines of a statement, history and completion.

prompt_toolkit is imported when a prompt is opened: a pipe does not wait for it.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.catalog.catalog import Catalog
from discreet.cli.sitting import COMMANDS
from discreet.cli.statement_text import is_complete
from discreet.home import home

PROMPT = "discreet> "
CONTINUATION = "     ...> "
HISTORY = "sql_history"
WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "WITH", "AS", "JOIN"),
    *("LEFT JOIN", "ON", "USING", "AND", "OR", "NOT", "IN", "BETWEEN", "IS NULL", "LIKE", "FILTER", "DISTINCT"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "DESC", "ASC", "OPTIONS"),
)
FUNCTIONS = (
    *("COUNT", "APPROX_COUNT_DISTINCT", "COUNT_IF", "SUM", "AVG", "VARIANCE", "STDDEV", "MEDIAN", "PERCENTILE_CONT"),
    *("PERCENTILE_DISC", "APPROX_QUANTILES", "MIN", "MAX", "IF", "COALESCE", "CAST", "TRY_CAST", "DATE_TRUNC"),
    *("EXTRACT", "YEAR", "MONTH", "STARTS_WITH", "WIDTH_BUCKET", "RANGE_BUCKET", "LEAST", "GREATEST", "CLAMP", "FLOOR"),
)
_MOST_KEYS = 1_000


class Vocabulary:
    """The words that can be completed: SQL, functions, tables, columns and keys of a catalog, commands."""

    def __init__(self, catalog: Catalog) -> None:
        columns = {name for table in catalog.tables.values() for name in table.columns}
        self._words = [
            *((_written(name), "table") for name in catalog.tables),
            *((_written(name), "column") for name in sorted(columns)),
            *((word, "") for word in WORDS),
            *((f"{word}(", "function") for word in FUNCTIONS),
        ]
        facts = (column for table in catalog.tables.values() for column in table.columns.values())
        found = (key for column in facts for key in (column.keys or ())[:_MOST_KEYS])
        self._keys = sorted({key for key in found if isinstance(key, str)})

    def completions(self, before: str) -> Iterator[tuple[str, str, str]]:
        """Texts that go on from the text before the cursor: the whole word, the part of it that stands, its kind."""
        if before.lstrip().startswith(".") and " " not in before.strip():
            part = before.strip()
            yield from ((name, part, "command") for name in COMMANDS if name.startswith(part))
            return
        if before.count("'") % 2:
            part = before.rsplit("'", 1)[1]
            quoted = (f"{key.replace(chr(39), chr(39) * 2)}'" for key in self._keys)
            yield from ((text, part, "key") for text in quoted if text.casefold().startswith(part.casefold()))
            return
        part = _last_word(before)
        if part:
            typed = part.casefold()
            fitting = ((word, kind) for word, kind in self._words if word.lstrip('"').casefold().startswith(typed))
            yield from ((word, part, kind) for word, kind in fitting)


def _written(name: str) -> str:
    """A name as a statement has it: in quotes where it is not an identifier."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _last_word(before: str) -> str:
    """The part of a name that stands before the cursor."""
    start = len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] == "_"):
        start -= 1
    return before[start:]


def history_file() -> Path:
    """The file of the statements that were typed, for nobody else: constants in them may be about people."""
    path = home() / HISTORY
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    return path


def open_prompt(catalog: Catalog, dialect: str) -> Any:
    """A prompt whose `prompt()` returns what was typed, over as many lines as a statement has."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - slow to import, and a pipe needs none
    from prompt_toolkit.completion import Completer, Completion  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory  # noqa: PLC0415

    vocabulary = Vocabulary(catalog)

    class CatalogCompleter(Completer):
        """Completes the words of a catalog."""

        def get_completions(self, document: Any, complete_event: Any) -> Iterable[Any]:
            """The completions of the word before the cursor."""
            del complete_event
            for word, part, kind in vocabulary.completions(document.text_before_cursor):
                yield Completion(word, start_position=-len(part), display_meta=kind)

    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=lambda width, _line, wraps: " " * width if wraps else CONTINUATION,
        history=FileHistory(str(history_file())),
        completer=CatalogCompleter(),
        complete_while_typing=False,
        key_bindings=_enter_ends_statements(dialect),
    )


def _enter_ends_statements(dialect: str) -> Any:
    """Enter answers where the text is complete, and begins a new line where it is not."""
    from prompt_toolkit.filters import completion_is_selected  # noqa: PLC0415
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415

    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected)
    def enter(event: Any) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text, dialect):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings
