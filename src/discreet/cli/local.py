"""`discreet local`: a task for clients, trial reports of values, their collection, estimates, and the cost of trust."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import local_estimates as estimates
from discreet.cli import local_files as files
from discreet.cli.apps import command_app
from discreet.cli.examples import examples
from discreet.cli.local_options import (
    RepeatRule,
    TrustModel,
    as_options,
    read_confidence,
    read_epsilon,
    read_number,
)
from discreet.cli.local_outputs import require_place
from discreet.cli.output import AsJson, print_json, print_result
from discreet.errors import ParameterError, SourceError, UnsupportedError
from discreet.plan.wording import counted

if TYPE_CHECKING:
    from discreet.local.task import Task

app = command_app("local")
LARGEST_BATCH = 2**32 - 1
TRIAL = "encoded here, for trials and gateways: on devices, use discreet/local/client.py or client.mjs"

TaskFile = Annotated[Path, typer.Argument(metavar="TASK", help="A file of `discreet local task`.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", "--output", metavar="FILE", help="Where to write.")]


@app.callback(help="Collect reports that devices make private.")
def group() -> None:
    """The group of commands."""


@app.command(
    no_args_is_help=True,
    epilog=examples("discreet local task --values emoji.txt --epsilon 1 --n 1000000 --out task.json"),
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
    repeat: Annotated[
        RepeatRule, typer.Option("--repeat", metavar="RULE", help="fresh, memoised or two_stage.")
    ] = RepeatRule.FRESH,
    epsilon_second: Annotated[
        str | None,
        typer.Option("--epsilon-second", metavar="NUMBER", help="Loss of one fresh stage of two_stage."),
    ] = None,
    max_values: Annotated[
        int | None,
        typer.Option("--max-values", metavar="NUMBER", help="Different values of a client before the default.", min=1),
    ] = None,
    trust: Annotated[
        TrustModel, typer.Option("--trust", metavar="MODEL", help="local, shuffle or dap.")
    ] = TrustModel.LOCAL,
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

    loss, second = read_epsilon(epsilon), epsilon_second and read_epsilon(epsilon_second, "--epsilon-second")
    with as_options():
        chosen = Task.choose(
            domain=_domain(domain, values, low, high, steps),
            epsilon=loss,
            n=n,
            max_bytes=max_bytes,
            question=query,
            name=name,
            repeat=repeat.value,
            epsilon_second=second or None,
            max_values=max_values,
            trust=trust.value,
        )
    if out is not None:
        _save(chosen, out)
    if warning := estimates.warning_of(chosen.domain.size):
        typer.echo(warning, err=True)
    print_result(_task_document(chosen), _task_text(chosen), as_json=as_json)


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
    batch: Annotated[
        int, typer.Option("--batch", metavar="NUMBER", help="Number of the batch.", min=0, max=LARGEST_BATCH)
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a randomised report of each value.

    For trials and gateways: devices use the client itself. Reports are in random order, each behind its length,
    or Parquet where --out ends so. Blank lines have no report, and spaces around a value are left out.
    """
    chosen = files.read_task(task_file)
    if chosen.repeat != "fresh" or chosen.trust == "dap":
        raise UnsupportedError(
            f"reports of a task with repeat={chosen.repeat!r} and trust={chosen.trust!r}",
            because="its clients keep a state, or send shares to aggregators; lines of a file do neither",
            instead=f"{_fresh_task(chosen)}, or discreet.local.client.Client on each device",
        )
    is_table = out.suffix.lower() == ".parquet"
    require_place(out, [task_file, values], "table of reports" if is_table else "reports")
    encoded = files.encode_values(chosen, files.read_values(values, column, chosen), batch)
    number = len(encoded.reports)
    if encoded.outside == number:
        raise ParameterError(
            f"values in {str(values)!r}",
            because=f"none of {counted(number, 'value')} is in the domain" if number else "the file has no value",
            instead="values of the task, one on each line; --column NAME reads a column of CSV",
        )
    files.write_reports(chosen, encoded.reports, out)
    _warn(encoded)
    document = {"task": chosen.hash, "reports": number, "batch": batch, "file": str(out), "note": TRIAL}
    print_result(document, f"{counted(number, 'report')} of batch {batch} in {out}\n{TRIAL}", as_json=as_json)


@app.command(no_args_is_help=True, epilog="Example: discreet local collect task.json reports.bin --out counts.acc")
def collect(
    task_file: TaskFile,
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Reports, Parquet files or accumulators.", show_default=False),
    ],
    out: Out,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch", metavar="NUMBER", help="Default: that of accumulators, else 0.", min=0, max=LARGEST_BATCH
        ),
    ] = None,
    shard: Annotated[
        int | None, typer.Option("--shard", metavar="NUMBER", help="The shard to count, from 0.", min=0)
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", metavar="NUMBER", help="Number of shards. Default: 1.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count reports, or merge counts.

    Both are written as an accumulator. A report that is in several files counts once. Malformed reports are
    counted by reason, and those of other batches by batch. If no report counts, nothing is written.
    """
    if (shard or 0) >= (shards or 1):
        raise typer.BadParameter(f"--shard is below --shards: from 0 to {(shards or 1) - 1}")
    chosen = files.read_task(task_file)
    require_place(out, [task_file, *inputs], "accumulator")
    found = files.collect_files(chosen, inputs, batch=batch, shard=shard, shards=shards)
    _require_reports(found)
    state = found.state
    files.write_bytes(out, state.to_bytes())
    document = {"task": state.task, "batch": state.batch, "reports": state.reports, "refused": dict(state.refused)}
    document |= {"other_batches": found.other_batches, "partials": len(state.partials), "file": str(out)}
    number, partials = counted(state.reports, "report"), counted(len(state.partials), "partial count")
    lines = [f"{number} of batch {state.batch} in {out}, {partials}", f"refused: {_reasons(found) or 'none'}"]
    print_result(document, "\n".join([*lines, *filter(None, [_left_out(found)])]), as_json=as_json)


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
    level = read_confidence(confidence)
    chosen, state = files.read_task(task_file), files.read_accumulator(counts)
    files.require_task(chosen, state)
    if out is not None:
        estimates.require_table(out, [task_file, counts])
    found = estimates.estimates_of(chosen, state, level, is_consistent=consistent)
    if out is not None:
        estimates.write_table(estimates.table_of(found), out)
    if as_json:
        print_json(estimates.document_of(chosen, state, found))
    else:
        print(estimates.text_of(found, rows))


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

    if out is not None and out.suffix.lower() not in (".svg", ".png"):
        raise UnsupportedError(
            f"a picture in {str(out)!r}",
            because="it is written as SVG or PNG",
            instead=f"--out {out.with_suffix('.svg')}",
        )
    with files.advise("discreet local demo --clients 1000000 --domain 1024 --epsilon 1 --delta 0.000001"):
        numbers = read_number(epsilon, "--epsilon"), read_number(delta, "--delta")
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
        listed, blank = files.read_list(values)
        if blank:
            typer.echo(f"{counted(blank, 'blank line')} of {values} left out", err=True)
        return listed
    if low is None or high is None:
        return size
    ends = read_number(low, "--low", "0"), read_number(high, "--high", "100")
    if ends[0] >= ends[1]:
        raise ParameterError(f"--low {low} --high {high}", because="low is below high", instead="--low 0 --high 100")
    return {"low": ends[0], "high": ends[1], "steps": steps}


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


def _task_text(chosen: "Task") -> str:
    """The explanation of a task; what people typed into it cannot move the cursor of a terminal."""
    from discreet.local.estimates.listing import printable  # noqa: PLC0415 - needs numpy

    text = str(chosen)
    for typed in filter(None, (chosen.name, chosen.question)):
        text = text.replace(typed, printable(typed))
    return f"{text}\n  hash      {chosen.hash}"


def _fresh_task(chosen: "Task") -> str:
    """The command for a task like this one whose reports are encoded here."""
    domain = chosen.domain.to_json()
    options = " ".join(f"--{name} {value}" for name, value in domain.items() if name != "size")
    what = "--values values.txt" if "values" in domain else options or f"--domain {chosen.domain.size}"
    return f"discreet local task {what} --epsilon {chosen.epsilon} --n {chosen.reports} --out fresh.json"


def _warn(encoded: files.EncodedValues) -> None:
    """Exact counts for the one who holds the values."""
    counts = (
        (
            encoded.outside,
            f"of {len(encoded.reports):,} values are outside of the domain and are reported as the default",
        ),
        (encoded.blank, "lines have no value and are not reported"),
    )
    for number, what in counts:
        if number:
            typer.echo(f"{number:,} {what}; this count is exact, so keep it to yourself", err=True)


def _reasons(found: files.CollectedFiles) -> str:
    return ", ".join(f"{number:,} for its {reason}" for reason, number in found.state.refused.items())


def _left_out(found: files.CollectedFiles) -> str:
    """Reports of other batches, by batch."""
    others = found.other_batches
    if not others:
        return ""
    number, few = counted(sum(others.values()), "report"), list(others)[:10]
    listed = ", ".join(map(str, few)) + (f" and {len(others) - len(few):,} more" if len(others) > len(few) else "")
    return f"left out: {number} of other batches: {listed}"


def _require_reports(found: files.CollectedFiles) -> None:
    """Refuse files of which no report counts, though they have some; a shard may be without reports."""
    state, others = found.state, found.other_batches
    if state.reports or found.batches.get(state.batch) or not (others or state.refused):
        return
    faults = [f"refused: {_reasons(found)}"] if state.refused else []
    raise SourceError(
        f"no report of batch {state.batch}",
        because="; ".join([*faults, *filter(None, [_left_out(found)])]),
        instead=f"--batch {min(others)}" if others else "the file of the task that clients were given",
    )


def _task_document(chosen: "Task") -> dict[str, Any]:
    facts = {"hash": chosen.hash, "report_bytes": chosen.report_bytes, "expected_error": chosen.expected_error}
    central = {"central_error": chosen.central_error(), "explanation": chosen.explain().splitlines()}
    return {"task": chosen.to_json()} | facts | central


def _draw(found: Any, path: Path) -> None:
    figure = found.plot()
    metadata = {"Date": None, "Description": figure.get_label()} if path.suffix.lower() == ".svg" else None
    try:
        figure.savefig(path, metadata=metadata)
    except OSError:
        files.refuse_place(path)
