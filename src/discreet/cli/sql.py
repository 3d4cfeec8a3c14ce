"""`discreet sql`: statements one after another, each planned, then charged when it is confirmed, up to a limit.

It is interactive querying, so it is governed: the limit of a sitting is required, and nothing is charged without `y` or
--yes. `discreet run` on files that were written in advance stays the usual way to publish.
"""

import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any

import typer

from discreet.cli import exit_codes, statements
from discreet.cli.apps import command_app
from discreet.cli.ledger_options import KeyFile
from discreet.cli.output import AsJson, error_document, print_json_line
from discreet.cli.sitting import Sitting
from discreet.cli.statement_text import split
from discreet.cli.statements import CATALOG, CatalogPath, Delta, Dialect, LedgerPlace
from discreet.cli.terminal import print_fitting
from discreet.errors import DiscreetError, Failure
from discreet.exact.numbers import shown

app = command_app("sql")


@app.command("sql", no_args_is_help=True, epilog="Example: discreet sql --limit 1 --epsilon 0.25")
def command(
    limit: Annotated[
        str, typer.Option("--limit", help="The most epsilon that this sitting may spend.", metavar="EPSILON")
    ],
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="EPSILON", help="The cost of each statement. Default: that of OPTIONS."),
    ] = None,
    delta: Delta = None,
    yes: Annotated[bool, typer.Option("--yes", help="Charge without asking; required in a pipe.")] = False,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    key: KeyFile = None,
    dialect: Dialect = None,
    as_json: AsJson = False,
) -> None:
    """Ask statements at a prompt, up to a limit.

    Each statement is planned first, and charged when you type y. It ends with 1 if a statement of a pipe was refused.
    """
    most = statements.number(limit, "--limit")
    price = statements.number(epsilon, "--epsilon"), statements.number(delta, "--delta")
    if most is None or most <= 0:
        raise typer.BadParameter("--limit is a number above zero, such as 1")
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_terminal and not yes:
        raise typer.BadParameter("statements of a pipe cannot be confirmed one by one; --yes charges for all of them")
    with statements.open_session(catalog, ledger, key) as session:
        sitting = Sitting(session, Fraction(most), *price, dialect=dialect or session.dialect)
        conversation = Conversation(sitting, asks=not yes, is_terminal=is_terminal, as_json=as_json)
        if is_terminal:
            _talk(conversation)
        elif not conversation.read(sys.stdin.read()):
            raise typer.Exit(exit_codes.PROBLEM)


class Conversation:
    """Statements and commands that are answered in order; a refusal is printed, and the next one is read."""

    def __init__(self, sitting: Sitting, *, asks: bool, is_terminal: bool, as_json: bool) -> None:
        self.sitting, self._asks, self._is_terminal, self._as_json = sitting, asks, is_terminal, as_json
        self.is_over = False

    def read(self, text: str) -> bool:
        """Answer the statements of a text; whether all of them were answered."""
        found, rest = split(text, self.sitting.dialect)
        is_answered = [self.take(each) for each in [*found, *([rest] if rest else [])] if not self.is_over]
        return all(is_answered)

    def take(self, text: str) -> bool:
        """Answer a statement or a command; whether it was answered."""
        try:
            self._command(text) if text.startswith(".") else self._statement(text)
        except DiscreetError as error:
            if self._as_json:
                print_json_line(error_document(error))
            else:
                self._print(f"{type(error).__name__}: {error}", file=sys.stderr)
            if isinstance(error, Failure):
                self._print(self.sitting.state(), file=sys.stderr)
            return False
        except KeyboardInterrupt as stop:
            self._print(
                f"\n{stop}" if str(stop) else "\nstopped; .history shows whether it was charged", file=sys.stderr
            )
            return False
        return True

    def say(self, lines: Iterable[str]) -> None:
        """Print lines."""
        for line in lines:
            self._print(line)

    def _command(self, text: str) -> None:
        found = self.sitting.command(text)
        if found is None:
            self.is_over = True
        else:
            self._print(found, file=sys.stderr if self._as_json else sys.stdout)

    def _statement(self, text: str) -> None:
        plans = sys.stdout if self._is_terminal else sys.stderr
        planned = self.sitting.plan(text)
        again = self.sitting.is_answered(planned)
        self._print(str(planned.explanation), file=plans)
        self._print(f"{'answered in this sitting, so free' if again else self.sitting.state()}", file=plans)
        self.sitting.require_room(planned)
        if self._asks and not again and not _confirms(f"charge epsilon {shown(planned.epsilon)}? [y/N] "):
            print("not charged")
            return
        table = self.sitting.answer(planned)
        if self._as_json:
            print_json_line(table.to_json())
        else:
            self._print(str(table))

    def _print(self, text: str, file: Any = None) -> None:
        print_fitting(text, file or sys.stdout, is_terminal=self._is_terminal)


def _confirms(question: str) -> bool:
    try:
        return input(question).strip().casefold() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False


def _talk(conversation: Conversation) -> None:
    """The prompt: Ctrl-C clears the line, Ctrl-D ends."""
    from discreet.cli.prompt import open_prompt  # noqa: PLC0415 - a pipe does not wait for it

    sitting = conversation.sitting
    conversation.say(_welcome(sitting))
    prompt = open_prompt(sitting.session.catalog, sitting.dialect)
    while not conversation.is_over:
        try:
            conversation.read(prompt.prompt())
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
    print(sitting.state())


def _welcome(sitting: Sitting) -> Iterable[str]:
    for name in sitting.session.catalog.protected_tables:
        yield str(sitting.session.remaining(name))
    cost = (
        "what its OPTIONS say" if sitting.epsilon is None else f"epsilon {sitting.epsilon}, unless its OPTIONS differ"
    )
    yield f"each statement costs {cost}"
    yield f"this sitting may spend epsilon {shown(sitting.limit)}; a statement ends with ;  .help lists commands"
