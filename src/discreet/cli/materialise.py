"""`discreet materialise`: the rows of a view as a table of their own, which its owner then answers for.

A view whose rows depend on other people's rows is refused as a source. A table of its rows is not: what the rows were
computed from is the owner's statement from then on, and nothing computes them again.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.address import in_lower_case, is_address, name
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.engines.backends.postgres import server
from discreet.engines.progress import shown_while
from discreet.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import psycopg

app = command_app("materialise")

STATEMENT = """The rows of {table} are now your statement.
discreet protects each row for the privacy unit that it names, and does not see whose rows it was computed from.
If you create the table again from newer data, register a new version of the dataset."""
_VIEW = """
SELECT format('%%I.%%I', n.nspname, c.relname), n.nspname
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = %s
"""
_TABLE = """
SELECT string_agg(quote_ident(part), '.' ORDER BY place)
FROM unnest(CASE cardinality(parse_ident(%(table)s)) WHEN 1 THEN ARRAY[%(schema)s::text] ELSE '{}'::text[] END
            || parse_ident(%(table)s)) WITH ORDINALITY AS named (part, place)
HAVING count(*) = 2
"""
_REASONS = {
    "42P07": ("a relation of that name is there", "another name for the table"),
    "42501": ("the role may not read the view, or not create tables in that schema", "the address of the owner's role"),
    "3F000": ("there is no such schema", "the name of the table alone, which is then created beside the view"),
}
_OTHER = ("PostgreSQL could not compute the view, or could not store its rows", "the same SELECT in psql, as the owner")


@app.command("materialise", no_args_is_help=True, epilog="Example: discreet materialise spark adults adults_rows")
def command(
    where: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="postgresql://owner@host/database, or spark.", show_default=False)
    ],
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view whose rows are read once.", show_default=False)],
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="The new table, in the schema of the view.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Create a table of the rows of a view."""
    if where.casefold() == "spark":
        code = f"spark.table({name(view)!r}).write.saveAsTable({name(table)!r})"
        print_result({"run": code}, f"run this in your Spark session:\n  {code}", as_json=as_json)
        return
    if is_address(where):
        created = _create(in_lower_case(where), name(view), name(table))
    else:
        raise ParameterError(
            "a view that is neither in PostgreSQL nor in Spark",
            because="only these have views that are sources",
            instead="discreet materialise postgresql://owner@host:5432/database adults adults_rows",
        )
    statement = STATEMENT.format(table=created)
    text = f"created {created}; a role that reads it needs: GRANT SELECT ON {created} TO reader;\n{statement}"
    print_result({"table": created, "statement": statement}, text, as_json=as_json)


def _create(address: str, view: str, table: str) -> str:
    """Create the table with the owner's own connection and settings, and return its name."""
    library = server.driver()
    code = ""
    with server.connect(address) as connection:
        source, target = _names(connection, view, table)
        statement = f"CREATE TABLE {target} AS SELECT * FROM {source}".encode()
        try:
            shown_while(
                lambda: connection.execute(statement), stages=None, may_show_stages=False, label="creating the table"
            )
        except library.Error as error:
            code = error.sqlstate or "unknown"
    if code:
        because, instead = _REASONS.get(code, _OTHER)
        raise SourceError(f"the table {target} of the rows of {source}", because=because, instead=instead)
    return target


def _names(connection: "psycopg.Connection[Any]", view: str, table: str) -> tuple[str, str]:
    """The full names of the view, as the role finds it, and of the table, beside the view unless it has a schema."""
    oid = server.oid_of(connection, view)
    found = [] if oid is None else server.fetch_catalog_rows(connection, _VIEW, oid)
    if not found:
        raise SourceError(
            f"no view {view!r} in this database",
            because="the role sees none of that name by its search path",
            instead="the name with its schema: clinic.adults",
        )
    source, schema = found[0]
    named = server.fetch_catalog_rows(connection, _TABLE, {"table": table, "schema": schema})
    if not named:
        raise ParameterError(
            f"the table name {table!r}",
            because="it is not a name, or a schema and a name, as SQL writes them",
            instead="adults_rows, or clinic.adults_rows",
        )
    return source, named[0][0]
