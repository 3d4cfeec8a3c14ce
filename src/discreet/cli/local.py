"""`discreet local`: a task for clients, trial reports of values, their collection, estimates, and the cost of trust."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import local_files as files
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.errors import ParameterError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.task import Task

app = command_app("local")
TRIAL = "encoded here, for trials and gateways: on devices, use discreet/local/client.py or client.mjs"

TaskFile = Annotated[Path, typer.Argument(metavar="TASK", help="A file of `discreet local task`.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", "--output", metavar="FILE", help="Where to write.")]


@app.callback(help="Collect reports that devices make private.")
def group() -> None:
    """The group of commands."""


@app.command(
    no_args_is_help=True,
    epilog="Example: discreet local task --values emoji.txt --epsilon 1 --n 1000000 --out task.json",
)
def task(
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="NUMBER", help="The privacy loss of one value.")],
    n: Annotated[int, typer.Option("--n", metavar="NUMBER", help="Expected number of reports.", min=1)],
    domain: Annotated[
        int | None, typer.Option("--domain", metavar="NUMBER", help="Values 0 to NUMBER - 1.", min=2)
    ] = None,
    values: Annotated[
        Path | None, typer.Option("--values", metavar="FILE", help="Values: a text file, one on each line.")
    ] = None,
    low: Annotated[str | None, typer.Option("--low", metavar="NUMBER", help="Lowest number, for a mean.")] = None,
    high: Annotated[str | None, typer.Option("--high", metavar="NUMBER", help="Highest number, for a mean.")] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="NUMBER", help="Steps from --low to --high.", min=1)] = 256,
    max_bytes: Annotated[int, typer.Option("--max-bytes", metavar="NUMBER", help="Longest report, in bytes.")] = 40,
    repeat: Annotated[str, typer.Option("--repeat", metavar="RULE", help="fresh, memoised or two_stage.")] = "fresh",
    epsilon_second: Annotated[
        str | None,
        typer.Option("--epsilon-second", metavar="NUMBER", help="Loss of one fresh stage of two_stage."),
    ] = None,
    max_values: Annotated[
        int | None,
        typer.Option("--max-values", metavar="NUMBER", help="Different values of a client before the default.", min=1),
    ] = None,
    trust: Annotated[str, typer.Option("--trust", metavar="MODEL", help="local, shuffle or dap.")] = "local",
    query: Annotated[str, typer.Option("--question", metavar="TEXT", help="What clients are asked.")] = "",
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="A short name.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "--output", metavar="FILE", help="Write the task: .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the oracle of least variance that fits.

    It says what error to expect, and when not to use the local model. A task is immutable: --out never
    overwrites another one.
    """
    from discreet.local.task import Task  # noqa: PLC0415 - help does not wait for numpy

    chosen = Task.choose(
        domain=_domain(domain, values, low, high, steps),
        epsilon=epsilon,
        n=n,
        max_bytes=max_bytes,
        question=query,
        name=name,
        repeat=repeat,  # type: ignore[arg-type]
        epsilon_second=epsilon_second,
        max_values=max_values,
        trust=trust,  # type: ignore[arg-type]
    )
    if out is not None:
        _save(chosen, out)
    print_result(_task_document(chosen), f"{chosen}\n  hash      {chosen.hash}", as_json=as_json)


@app.command(no_args_is_help=True, epilog="Example: discreet local encode task.json answers.txt --out reports.bin")
def encode(
    task_file: TaskFile,
    values: Annotated[
        Path, typer.Argument(metavar="VALUES", help="One value on each line; - is standard input.", show_default=False)
    ],
    out: Out,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="VALUES is CSV, and this is the column.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="NUMBER", help="Number of the batch.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a randomised report of each value.

    For trials and gateways: devices use the client itself. Reports are in random order, each behind its length,
    or Parquet where --out ends so.
    """
    chosen = files.read_task(task_file)
    if chosen.repeat != "fresh" or chosen.trust == "dap":
        raise UnsupportedError(
            f"reports of a task with repeat={chosen.repeat!r} and trust={chosen.trust!r}",
            because="its clients keep a state, or send shares to aggregators; lines of a file do neither",
            instead="discreet local task --repeat fresh --trust local, or discreet.local.client.Client on each device",
        )
    reports, outside = files.encode_values(chosen, files.read_values(values, column, chosen), batch)
    files.write_reports(chosen, reports, out)
    if outside:
        counted = f"{outside:,} of {len(reports):,} values are outside of the domain"
        typer.echo(f"{counted} and are reported as the default; this count is exact, so keep it to yourself", err=True)
    document = {"task": chosen.hash, "reports": len(reports), "batch": batch, "file": str(out), "note": TRIAL}
    print_result(document, f"{len(reports):,} reports of batch {batch} in {out}\n{TRIAL}", as_json=as_json)


@app.command(no_args_is_help=True, epilog="Example: discreet local collect task.json reports.bin --out counts.acc")
def collect(
    task_file: TaskFile,
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Reports, Parquet files or accumulators.", show_default=False),
    ],
    out: Out,
    batch: Annotated[int, typer.Option("--batch", metavar="NUMBER", help="The batch to count.", min=0)] = 0,
    shard: Annotated[int, typer.Option("--shard", metavar="NUMBER", help="The shard to count, from 0.", min=0)] = 0,
    shards: Annotated[int, typer.Option("--shards", metavar="NUMBER", help="Number of shards.", min=1)] = 1,
    as_json: AsJson = False,
) -> None:
    """Count reports, or merge counts.

    Both are written as an accumulator. A report that is in several files counts once. Malformed reports are
    counted by reason.
    """
    if shard >= shards:
        raise typer.BadParameter(f"--shard is below --shards: from 0 to {shards - 1}")
    chosen = files.read_task(task_file)
    state = files.collect_files(chosen, inputs, batch=batch, shard=shard, shards=shards)
    _require_task(chosen, state)
    files.write_bytes(out, state.to_bytes())
    refused = ", ".join(f"{number:,} for its {reason}" for reason, number in state.refused.items())
    text = f"{state.reports:,} reports of batch {state.batch} in {out}, {len(state.partials):,} partial counts"
    text += f"\nrefused: {refused or 'none'}"
    document = {"task": state.task, "batch": state.batch, "reports": state.reports, "refused": dict(state.refused)}
    print_result(document | {"partials": len(state.partials), "file": str(out)}, text, as_json=as_json)


@app.command(no_args_is_help=True, epilog="Example: discreet local estimate task.json counts.acc")
def estimate(
    task_file: TaskFile,
    counts: Annotated[
        Path, typer.Argument(metavar="COUNTS", help="A file of `discreet local collect`.", show_default=False)
    ],
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="NUMBER", help="Probability that all intervals hold at once.")
    ] = 0.95,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Counts that add up and are not negative; biased, no intervals.")
    ] = False,
    rows: Annotated[int, typer.Option("--rows", metavar="NUMBER", help="Rows to print, largest first.", min=1)] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", "--output", metavar="FILE", help="Write all rows: .csv or .parquet.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a count of each value, or a mean.

    Estimates have confidence intervals. They are unbiased and may be negative. They cost nothing: reports are
    private already.
    """
    chosen, state = files.read_task(task_file), files.read_accumulator(counts)
    _require_task(chosen, state)
    place = None if out is None else _require_table(out)
    document, text, table = _estimates(chosen, state, confidence, rows, is_consistent=consistent)
    if place is not None:
        _write_table(table, place)
    print_result(document, text, as_json=as_json)


@app.command(epilog="Example: discreet local demo --clients 100000 --out trust.svg")
def demo(
    clients: Annotated[int, typer.Option("--clients", metavar="NUMBER", help="Simulated clients.", min=1)] = 1_000_000,
    domain: Annotated[int, typer.Option("--domain", metavar="NUMBER", help="Values in the domain.", min=2)] = 1_024,
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="NUMBER", help="Central epsilon of all three.")] = "1",
    delta: Annotated[str, typer.Option("--delta", metavar="NUMBER", help="Delta of shuffled reports.")] = "0.000001",
    out: Annotated[
        Path | None, typer.Option("--out", "--output", metavar="FILE", help="Write a picture: .svg or .png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare three models of trust.

    Simulated clients send local, shuffled and aggregated reports. All three have the same central guarantee:
    the difference is the cost of trusting nobody.
    """
    from discreet.local.demo import compare_trust  # noqa: PLC0415 - help does not wait for numpy
    from discreet.local.domain import read_number  # noqa: PLC0415

    if out is not None and out.suffix.lower() not in (".svg", ".png"):
        raise UnsupportedError(
            f"a picture in {str(out)!r}",
            because="it is written as SVG or PNG",
            instead=f"--out {out.with_suffix('.svg')}",
        )
    with files.advise("discreet local demo --clients 1000000 --domain 1024 --epsilon 1 --delta 0.000001"):
        numbers = read_number(epsilon, "epsilon"), read_number(delta, "delta")
        found = compare_trust(clients=clients, size=domain, epsilon=numbers[0], delta=numbers[1])
    if out is not None:
        _draw(found, out)
    print_result(found.to_json(), found, as_json=as_json)


def _domain(size: int | None, values: Path | None, low: str | None, high: str | None, steps: int) -> Any:
    """The one domain that the options state."""
    is_range = low is not None or high is not None
    if (size is not None) + (values is not None) + is_range != 1 or (low is None) != (high is None):
        raise typer.BadParameter("one of --domain NUMBER, --values FILE, or --low and --high states the domain")
    if values is not None:
        return _listed(values)
    return size if size is not None else {"low": low, "high": high, "steps": steps}


def _listed(path: Path) -> list[str]:
    try:
        listed = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        listed = []
    if len(set(listed)) < 2 or len(set(listed)) < len(listed):
        raise ParameterError(
            f"values in {str(path)!r}",
            because="the file is not there, or does not have two or more different lines",
            instead="a text file in UTF-8, one value on each line; or --domain 1024",
        )
    return listed


def _save(chosen: "Task", path: Path) -> None:
    """Write a task; another one that is there stays, since clients may have it."""
    from discreet.local.task import canonical  # noqa: PLC0415 - help does not wait for numpy

    text = canonical(chosen.to_json())
    if path.exists() and path.read_bytes() != text:
        raise ParameterError(
            f"--out {str(path)!r}",
            because="another task is there, and clients and counts that have it need it",
            instead=f"--out {path.with_stem(path.stem + '-2').name!r}",
        )
    files.write_bytes(path, text)


def _task_document(chosen: "Task") -> dict[str, Any]:
    facts = {"hash": chosen.hash, "report_bytes": chosen.report_bytes, "expected_error": chosen.expected_error}
    central = {"central_error": chosen.central_error(), "explanation": chosen.explain().splitlines()}
    return {"task": chosen.to_json()} | facts | central


def _require_task(chosen: "Task", state: "Accumulator") -> None:
    if state.task != chosen.hash:
        raise ParameterError(
            f"counts of the task {state.task[:16]}",
            because=f"the task in the file is {chosen.hash[:16]}",
            instead="the file of the task that clients were given",
        )


def _estimates(
    chosen: "Task", state: "Accumulator", confidence: float, rows: int, *, is_consistent: bool
) -> tuple[dict[str, Any], str, "pa.Table"]:
    """The document, the text and the table of estimates."""
    from discreet.local.estimates.frequencies import estimate as estimate_counts  # noqa: PLC0415 - needs numpy
    from discreet.local.estimates.means import estimate_mean  # noqa: PLC0415 - needs numpy

    facts = {"task": chosen.hash, "batch": state.batch, "reports": state.reports}
    with files.advise("discreet local collect task.json reports.bin --out counts.acc, and --confidence below 1"):
        if chosen.domain.is_numeric:
            if is_consistent:
                raise typer.BadParameter("--consistent is for counts; this task has a mean")
            return _mean(facts, estimate_mean(chosen, state, confidence))
        found = estimate_counts(chosen, state, confidence)
    if is_consistent:
        table = found.consistent().to_arrow()
        note = "counts are not negative and add up; they are biased, and have no intervals"
    else:
        facts |= {"confidence": confidence, "method": found.method}
        table, note = found.to_arrow(), f"with probability {confidence:g} all {len(found):,} intervals hold"
    return facts | {"rows": table.to_pylist()}, _text(table, state.reports, note, rows), table


def _mean(facts: dict[str, Any], found: Any) -> tuple[dict[str, Any], str, "pa.Table"]:
    import pyarrow as pa  # noqa: PLC0415 - help does not wait for it

    row = {name: getattr(found, name) for name in ("mean", "standard_error", "low", "high", "rounding")}
    text = (
        f"mean {found.mean:,.6g}, from {found.low:,.6g} to {found.high:,.6g} with probability {found.confidence:g}\n"
        f"{found.reports:,} reports; both ends contain {found.rounding:.3g}, the most that rounding to the grid moves it"
    )
    document = facts | {"confidence": found.confidence, "method": found.method} | row
    return document, text, pa.table({name: [value] for name, value in row.items()})


def _text(table: "pa.Table", reports: int, note: str, rows: int) -> str:
    """The largest rows as text."""
    number = "count" if "count" in table.column_names else "estimate"
    largest = sorted(table.to_pylist(), key=lambda row: -row[number])[:rows]
    width = max(len("value"), *(len(str(row["value"])) for row in largest))
    lines = [f"{'value':<{width}}  {'count':>12}" + (f"  {'low':>12}  {'high':>12}" if "low" in largest[0] else "")]
    for row in largest:
        cells = [row[number], *(row[end] for end in ("low", "high") if end in row)]
        lines.append(f"{row['value']!s:<{width}}" + "".join(f"  {cell:>12,.0f}" for cell in cells))
    if table.num_rows > rows:
        lines.append(f"... {table.num_rows - rows:,} more; --rows, --json or --out has them")
    return "\n".join([*lines, f"{reports:,} reports; {note}"])


def _require_table(path: Path) -> Path:
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UnsupportedError(
            f"estimates in {str(path)!r}",
            because="they are written as CSV or as Parquet",
            instead=f"--out {path.with_suffix('.csv')}",
        )
    return path


def _write_table(table: "pa.Table", path: Path) -> None:
    import pyarrow.csv  # noqa: PLC0415 - help does not wait for it
    import pyarrow.parquet  # noqa: PLC0415

    write: Any = pyarrow.parquet.write_table if path.suffix.lower() == ".parquet" else pyarrow.csv.write_csv
    try:
        write(table, path)
    except OSError:
        files.refuse_place(path)


def _draw(found: Any, path: Path) -> None:
    figure = found.plot()
    metadata = {"Date": None, "Description": figure.get_label()} if path.suffix.lower() == ".svg" else None
    try:
        figure.savefig(path, metadata=metadata)
    except OSError:
        files.refuse_place(path)
