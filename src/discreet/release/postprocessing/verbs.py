"""What can be computed from a release alone, at no cost: derived values, readable forms, simulated intervals.

Derived values and simulations start from the raw noisy integers, not from rounded or clamped values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, rational, shown, whole
from discreet.release.postprocessing import adjust, simulation
from discreet.release.postprocessing import rows as release_rows
from discreet.release.postprocessing.clipping_bias import Bins, Clipping, clipping, ranges_of, require_ordered_bounds
from discreet.release.postprocessing.derived import DerivedValues
from discreet.release.postprocessing.pivot import Pivot, make_pivot
from discreet.release.postprocessing.quantities import Quantity
from discreet.release.postprocessing.rows import NoiseSource, Where
from discreet.release.postprocessing.simulation import Simulation
from discreet.release.result import Result
from discreet.release.values import rendering
from discreet.release.values.columns import Key, MeasuredColumn, OutputColumn, RawAnswers


@public_class
class PostProcessing(Result):
    """The verbs of a release that look at nothing but the release."""

    keys: tuple[Key, ...]
    outputs: tuple[OutputColumn, ...]
    measured: tuple[MeasuredColumn, ...]
    post_processing: tuple[str, ...]
    untouched: RawAnswers | None
    place: int

    @short_traceback
    def total(self, name: str, *, by: str | Sequence[str] | None = None, where: Where | None = None) -> DerivedValues:
        """Total of an output over groups, with a confidence interval.

        Totals add, subtract and divide: `release.total("n", where={"ward": "A"}) / release.total("n")`.

        Args:
            name: Name of the output.
            by: Key columns to keep; one total for each of their values. Default: one total.
            where: Values of key columns, such as `{"ward": ["A", "B"]}`. Default: all groups.

        Returns:
            Derived values, with margins of error.

        Raises:
            Refusal: If there is no such output or key, or the release does not state the noise of the output.
        """
        output = self._raw_output(name)
        notes = (f"{name}: a unit in two groups counts in both",) if output.kind not in ("count", "sum") else ()
        return self._derive(name, by, where, lambda source, rows: release_rows.total_of(output, source, rows), notes)

    @short_traceback
    def mean(self, name: str, *, by: str | Sequence[str] | None = None, where: Where | None = None) -> DerivedValues:
        """Mean over groups, from the noisy sums and counts of an output that is a mean.

        Args:
            name: Name of the output.
            by: Key columns to keep; one mean for each of their values. Default: one mean.
            where: Values of key columns, as for `total`. Default: all groups.

        Returns:
            Derived values, with margins of error.

        Raises:
            Refusal: If there is no such output or key, or the output is not a mean.
        """
        output = self._raw_output(name)
        release_rows.require_rows(release_rows.chosen_rows(self.keys, self._rows, where), self._rows, f"mean {name!r}")
        return self._derive(name, by, where, lambda source, rows: release_rows.mean_of(output, source, rows))

    @short_traceback
    def ratio(
        self, top: str, bottom: str, *, by: str | Sequence[str] | None = None, where: Where | None = None
    ) -> DerivedValues:
        """Total of one output divided by the total of another.

        Args:
            top: Name of the output in the numerator.
            bottom: Name of the output in the denominator.
            by: Key columns to keep, as for `total`. Default: one ratio.
            where: Values of key columns, as for `total`. Default: all groups.

        Returns:
            Derived values, with margins of error.

        Raises:
            Refusal: If there is no such output or key.
        """
        return self.total(top, by=by, where=where) / self.total(bottom, by=by, where=where)

    @short_traceback
    def share(self, name: str, *, by: str | Sequence[str] | None = None, where: Where | None = None) -> DerivedValues:
        """Percentage of each group in the total.

        Args:
            name: Name of the output.
            by: Key columns to keep. Default: all of them.
            where: Values of key columns, as for `total`. Default: all groups.

        Returns:
            Derived values in percent, with margins of error.

        Raises:
            Refusal: If there is no such output or key.
        """
        wanted = tuple(key.name for key in self.keys) if by is None else by
        whole_of = self.total(name, where=where)
        return replace((self.total(name, by=wanted, where=where) / whole_of).percent(), name=f"% of {name}")

    @short_traceback
    def difference(self, name: str, first: Where, second: Where) -> DerivedValues:
        """An output in some groups minus the same output in others: its totals, or its means if it is a mean.

        Args:
            name: Name of the output.
            first: Values of key columns of the first groups: `{"ward": "A"}`.
            second: Values of key columns of the groups to subtract.

        Returns:
            One derived value, with its margin of error.

        Raises:
            Refusal: If there is no such output or key.
        """
        ask = self.mean if self._raw_output(name).over else self.total
        return ask(name, where=first) - ask(name, where=second)

    @short_traceback
    def simultaneous(self, *, outputs: str | Sequence[str] | None = None) -> Self:
        """The same release with margins of error that hold for all values at once.

        Args:
            outputs: Outputs whose margins shall hold together. Medians and ranges do not state their noise, so they
                cannot be among them. Default: all.

        Returns:
            A release with wider margins.

        Raises:
            ParameterError: If the release was rounded, clamped or made consistent before.
            UnsupportedError: If an output does not state its noise.
        """
        if self.untouched is not None:
            raise ParameterError(
                "simultaneous() after another step",
                because="it widens the margins of what was released",
                instead="release.raw.simultaneous().rounded(to=10)",
            )
        if not self._rows:
            return self
        chosen = self._select_outputs(outputs, "simultaneous(")
        rows = DerivedValues("", (), tuple(self._quantities(chosen)), self.confidence).simultaneous()
        widened = {}
        for place, output in enumerate(chosen):
            mine = rows.quantities[place * self._rows : (place + 1) * self._rows]
            pairs = zip(mine, output.values, strict=True)
            margins = tuple(release_rows.margin_around(quantity, value, rows.confidence) for quantity, value in pairs)
            widened[output.name] = replace(output, margins=margins)
        together = f"margins widened so that all {len(chosen) * self._rows:,} hold at once"
        every = tuple(widened.get(output.name, output) for output in self.outputs)
        return self._adjust(every, f"{', '.join(widened)}: {together}")

    @short_traceback
    def rounded(self, *, to: Number, output: str | None = None) -> Self:
        """Values rounded to multiples of a number; each margin grows by half of it.

        Args:
            to: The number, in the unit of the output.
            output: Name of the output. Default: all.

        Returns:
            An adjusted release; `.raw` is the original.

        Raises:
            ParameterError: If the number is not positive, or there is no such output.
        """
        step = positive(to, "to")
        return self._each(output, lambda o: adjust.round_output(o, step), f"rounded to multiples of {shown(step)}")

    @short_traceback
    def clamped(self, *, at_least: Number | None = 0, at_most: Number | None = None, output: str | None = None) -> Self:
        """Values moved into a possible range. Margins hold as before; sums of groups become biased.

        Args:
            at_least: Lowest possible value, or None. Default 0.
            at_most: Highest possible value, or None. Default None.
            output: Name of the output. Default: all.

        Returns:
            An adjusted release; `.raw` is the original.

        Raises:
            ParameterError: If the range is empty, or there is no such output.
        """
        low, high = (None if bound is None else rational(bound, "a bound") for bound in (at_least, at_most))
        sides = [
            f"at least {shown(low)}" if low is not None else "",
            f"at most {shown(high)}" if high is not None else "",
        ]
        words = " and ".join(side for side in sides if side)
        if not words or (low is not None and high is not None and low > high):
            raise ParameterError("clamped without a range", because="nothing lies in it", instead="clamped(at_least=0)")
        return self._each(output, lambda o: adjust.clip_output(o, low, high), f"clamped to {words}")

    @short_traceback
    def consistent(self, *, total: "PostProcessing | DerivedValues | int", output: str | None = None) -> Self:
        """Groups adjusted by weighted least squares, so that they add up to known totals.

        Args:
            total: A release without groups, one by some of the keys of this one, a derived value, or a public number.
            output: Name of the output. Default: the first.

        Returns:
            An adjusted release; `.raw` is the original.

        Raises:
            Refusal: If the totals have other groups, or are not totals.
        """
        name = self.outputs[0].name if output is None else output
        chosen = self._raw_output(name)
        release_rows.require_rows(range(self._rows), self._rows, "groups that add up")
        sought = self._totals(name, total)
        coarse, members = release_rows.group_rows(self.keys, range(self._rows), [key.name for key in sought.keys])
        order = adjust.match_groups(coarse, sought)
        source = self._source
        groups = [
            adjust.Reconciliation(
                rows,
                [release_rows.total_of(chosen, source, [row]) for row in rows],
                adjust.linear_total(sought.quantities[place]),
            )
            for rows, place in zip(members, order, strict=True)
        ]
        adjusted = adjust.consistent(chosen, groups, self.confidence)
        words = "made to add up to the totals given, by least squares"
        outputs = tuple(adjusted if o.name == name else o for o in self.outputs)
        return self._adjust(outputs, f"{name}: {words}")

    @property
    def raw(self) -> Self:
        """The release as it was before it was rounded, clamped or made consistent."""
        if self.untouched is None:
            return self
        kept = self.untouched
        return self._replace_fields(
            outputs=kept.outputs,
            post_processing=kept.post_processing,
            untouched=None,
        )

    @short_traceback
    def pivot(self, rows: str, columns: str, output: str | None = None, *, where: Where | None = None) -> Pivot:
        """One output as a two-way table, for reading.

        Args:
            rows: Key column for the rows.
            columns: Key column for the columns.
            output: Name of the output. Default: the first.
            where: Values of key columns, as for `total`. Default: all groups.

        Returns:
            A table to print.

        Raises:
            Refusal: If there is no such output or key, or a cell has several values.
        """
        chosen = self.outputs[0] if output is None else find_output(self.outputs, output)
        picked = release_rows.chosen_rows(self.keys, self._rows, where)
        release_rows.require_rows(picked, self._rows, "a pivot")
        down, across = (
            Key(key.name, key.type, tuple(key.values[row] for row in picked))
            for key in (release_rows.find_key(self.keys, name) for name in (rows, columns))
        )
        view = make_pivot(down, across, [chosen.values[r] for r in picked], [answer_text(chosen, r) for r in picked])
        return replace(view, stamp=tuple(self._stamp()), notes=tuple(self._notes()))

    @short_traceback
    def clipping(
        self,
        *,
        bounds: tuple[Number, Number],
        lowest: Number | None = None,
        highest: Number | None = None,
        output: str | None = None,
        where: Where | None = None,
    ) -> Clipping:
        """Clipping bias of a histogram: upper bounds on the change of its total and its mean by clipping to bounds.

        Args:
            bounds: Clipping bounds of a sum or a mean, in the unit of the bins.
            lowest: Lowest possible value, from public knowledge, where the first bin is open. Default: unknown.
            highest: Highest possible value, from public knowledge, where the last bin is open. Default: unknown.
            output: Name of the output with the counts. Default: the first.
            where: Values of key columns, as for `total`. Default: all groups.

        Returns:
            Bounds and estimates of the clipping bias.

        Raises:
            Refusal: If the bounds are not in order, or the release is not a histogram.
        """
        counts = self._raw_output(self.outputs[0].name if output is None else output)
        ends = require_ordered_bounds(bounds)
        key = release_rows.find_key(self.keys, self.keys[-1].name if self.keys else "bins")
        source, ranges = self._source, ranges_of(key)
        rows = [row for row in release_rows.chosen_rows(self.keys, self._rows, where) if key.values[row] is not None]
        release_rows.require_rows(rows, self._rows, "clipping")
        counted = [release_rows.total_of(counts, source, [row]) for row in rows]
        far = (None if end is None else rational(end, "an end") for end in (lowest, highest))
        bins = Bins([ranges[row] for row in rows], counted, *far)
        return clipping(bins, ends, self.confidence, private=self.private)

    @short_traceback
    def simulate(
        self, function: Callable[[Self], Number], *, draws: int = 1000, outputs: str | Sequence[str] | None = None
    ) -> Simulation:
        """Approximate confidence interval for any function of the release, by redrawing its public noise.

        It takes the noisy answers for the truth. Prefer `total`, `ratio` and the other verbs where they apply.

        Args:
            function: Takes a release like this one, without margins, and returns a number.
            draws: Number of simulated releases, at least 2. Default 1000.
            outputs: Outputs that the function gets, where not all can be redrawn: medians and ranges do not state their
                noise. Default: all.

        Returns:
            The value of the function, with an interval.

        Raises:
            UnsupportedError: If an output does not state its noise.
            ParameterError: If the function does not return a number.
        """
        count = whole(draws, "draws", least=2)
        release_rows.require_rows(range(self._rows), self._rows, "a simulation")
        raw = self._replace_fields(outputs=self._select_outputs(outputs, "simulate(function, "), untouched=None)
        ask = simulation.numeric_function(function)
        value = ask(raw)
        needed = {place for output in raw.outputs for place, _ in (*output.parts, *output.over)}
        again = simulation.redrawn(self.measured, needed, count)
        drawn = [ask(raw.with_steps(steps)) for steps in again]
        return simulation.summed_up(value, drawn, self.confidence, private=self.private)

    def _replace_fields(self, **fields: Any) -> Self:
        return replace(self, **fields)

    @property
    def _rows(self) -> int:
        return len(self.outputs[0].values)

    def _raw_output(self, name: str) -> OutputColumn:
        return find_output(self.raw.outputs, name)

    @property
    def _source(self) -> NoiseSource:
        return release_rows.source_of({**self.receipt, "place": self.place}, self.keys, self.measured)

    def _select_outputs(self, names: str | Sequence[str] | None, call: str) -> tuple[OutputColumn, ...]:
        """The raw outputs of those names, or all; refused where one of them does not say what noise is on it."""
        known = self.raw.outputs
        requested: Sequence[Any] = [o.name for o in known] if names is None else names
        requested = requested if isinstance(requested, list | tuple) else [requested]
        wanted = {find_output(known, name).name for name in requested}
        chosen = tuple(output for output in known if output.name in wanted)
        lacking = [f"{o.kind} {o.name!r}" for o in chosen if not release_rows.is_traced(o)]
        if chosen and not lacking:
            return chosen
        others = [output.name for output in known if release_rows.is_traced(output)]
        raise UnsupportedError(
            f"{call}...) of {', '.join(lacking) or 'no output'}",
            because=_why_lacking(chosen) if lacking else "nothing is asked for",
            instead=f"{call}outputs={others})" if others else "the margins as they are, each for its own number",
        )

    def _quantities(self, outputs: tuple[OutputColumn, ...]) -> Iterator[Quantity]:
        source = self._source
        for output in outputs:
            yield from (release_rows.answer_of(output, source, row) for row in range(self._rows))

    def _derive(
        self,
        name: str,
        by: str | Sequence[str] | None,
        where: Where | None,
        make: Callable[[NoiseSource, Sequence[int]], Quantity],
        notes: tuple[str, ...] = (),
    ) -> DerivedValues:
        rows = release_rows.chosen_rows(self.keys, self._rows, where)
        keys, members = release_rows.group_rows(self.keys, rows, by)
        source = self._source
        quantities = tuple(make(source, group) for group in members)
        notes = notes if rows else (*notes, _no_rows(self._rows))
        return DerivedValues(_title(name, where), keys, quantities, self.confidence, self.private, notes)

    def _totals(self, name: str, total: "PostProcessing | DerivedValues | int") -> DerivedValues:
        if isinstance(total, PostProcessing):
            own = name if any(o.name == name for o in total.outputs) else total.outputs[0].name
            return total.total(own, by=[key.name for key in total.keys])
        if isinstance(total, DerivedValues):
            return total
        return self.total(name) * 0 + whole(total, "total", least=0)

    def _each(self, name: str | None, make: Callable[[OutputColumn], OutputColumn], words: str) -> Self:
        changed = self.outputs if name is None else (find_output(self.outputs, name),)
        adjust.refuse_ranks(changed, words.partition(" ")[0])
        outputs = tuple(make(output) if output in changed else output for output in self.outputs)
        return self._adjust(outputs, f"{', '.join(o.name for o in changed)}: {words}")

    def _adjust(self, outputs: tuple[OutputColumn, ...], step: str) -> Self:
        kept = self.untouched or RawAnswers(self.outputs, self.post_processing)
        return self._replace_fields(outputs=outputs, post_processing=(*self.post_processing, step), untouched=kept)

    def with_steps(self, steps: list[list[int]]) -> Self:
        """The release with other noisy integers, and the values that follow from them; margins stay.

        Args:
            steps: Noisy integers of each measured column.

        Returns:
            A release.
        """
        measured = tuple(replace(m, steps=tuple(s)) for m, s in zip(self.measured, steps, strict=True))
        outputs = tuple(replace(output, values=release_rows.values_of(output, steps)) for output in self.outputs)
        return self._replace_fields(measured=measured, outputs=outputs)


def find_output(outputs: tuple[OutputColumn, ...], name: str) -> OutputColumn:
    """Find an output by its name; refuse other names."""
    for output in outputs:
        if output.name == name:
            return output
    raise ParameterError(
        f"output {name!r}",
        because="the release has no output of that name",
        instead=f"one of {', '.join(repr(o.name) for o in outputs)}",
    )


def answer_text(output: OutputColumn, row: int) -> str:
    """An answer with its margin, in as many digits as that makes meaningful."""
    value, margin = output.values[row], output.margins[row]
    if value is None or margin is None:
        return "nothing found"
    if output.margin_of:
        return f"{value:,.6g} ± {rendering.figure(margin, margin)} {output.margin_of}"
    return f"{rendering.figure(value, margin)} ± {rendering.figure(margin, margin)}"


def _why_lacking(outputs: tuple[OutputColumn, ...]) -> str:
    if all(output.is_found for output in outputs):
        return "the release does not say what noise is on it"
    return release_rows.NOTHING_FOUND


def _no_rows(released: int) -> str:
    return "no group has all of the keys asked for" if released else "no key was kept: this is over no group at all"


def _title(name: str, where: Where | None) -> str:
    picked = ", ".join(f"{key} {value}" for key, value in (where or {}).items())
    return f"{name} ({picked})" if picked else name
