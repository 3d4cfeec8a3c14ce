"""Accuracy of a query before it is asked: expected errors, and the least epsilon for a margin of error; both free."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import public_class, short_traceback
from discreet.exact.numbers import Number, positive
from discreet.planner.budget.price import Price
from discreet.planner.expected_error import Sizes, errors_by_group
from discreet.planner.explain import hidden_margin, least_epsilon, widest_margin
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.queries.tables import MechanismName
from discreet.query.frame import Query
from discreet.query.methods import Method
from discreet.query.sql.statement import Statement
from discreet.release.expected_error import ErrorsByEpsilon
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.session.arguments import Question, confidence_of, refuse_several, request_of
from discreet.session.statements import StatementSession


@public_class
class AccuracySession(StatementSession):
    """A session that says how accurate a query would be; what it releases is in the subclass `Session`."""

    @short_traceback
    def expected_errors(
        self,
        query: Query,
        *,
        epsilons: Sequence[Number],
        sizes: Sizes | None = None,
        output: str | None = None,
        mechanism: MechanismName | None = None,
    ) -> ErrorsByEpsilon:
        """Expected relative error of an output in every group, for several epsilons side by side; free.

        Args:
            query: A query of counts, sums and means by public keys.
            epsilons: The epsilons to compare.
            sizes: Sizes of the groups in rows, as for `explain`. Default: the declared rows, spread evenly.
            output: Name of the output. Default: the first.
            mechanism: The additive noise, as for `release`. Default: chosen by the budget.

        Returns:
            A table to print or plot.

        Raises:
            Refusal: If errors are not known in advance for such a query.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> errors = session.expected_errors(dp.table("visits").agg(n=dp.count()), epsilons=[0.1, 1], sizes=300)
            >>> errors.epsilons
            (0.1, 1.0)
        """

        def plan_at(epsilon: Fraction) -> AnswerPlan:
            return self._plan(query, Price(epsilon, mechanism=mechanism))

        return errors_by_group(plan_at, epsilons, sizes, output)

    @short_traceback
    def epsilon_for(
        self,
        query: Question | Statement,
        *,
        margin: Number,
        output: str | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        confidence: Number = DEFAULT_CONFIDENCE,
    ) -> float:
        """Smallest epsilon at which every output, or the named one, is within a margin of error; free.

        Args:
            query: A query.
            margin: Largest margin of error, in the unit of the output.
            output: Name of the output that has to meet it. Default: all of them.
            delta: Of a statement in SQL: finds unknown keys of GROUP BY, as for `sql`. Default: keys are public.
            mechanism: The additive noise, as for `release`. Default: chosen by the budget.
            method: `dp.ProposedBound(...)`, as for `release`. Default: none.
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The epsilon, to three digits and rounded up.

        Raises:
            ParameterError: If the margin is not public in advance, or no epsilon reaches it.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> session.epsilon_for(dp.table("visits").agg(n=dp.count()), margin=50)
            0.594
        """
        level = confidence_of(confidence)
        wanted = positive(margin, "margin")
        if isinstance(query, Statement):
            query, delta = self._translate(query, Price(delta=delta), method).only_query, None

        def plan_at(epsilon: Fraction) -> AnswerPlan:
            return self._plan(query, Price(epsilon, delta=delta, mechanism=mechanism), method)

        def margin_at(epsilon: Fraction) -> Fraction | None:
            return widest_margin(plan_at(epsilon).explain_outputs(level), output)

        return float(least_epsilon(margin_at, wanted, lambda epsilon: hidden_margin(plan_at(epsilon), level, output)))

    def _plan(self, query: object, price: Price, method: Method | None = None) -> AnswerPlan:
        """The private plan of one query at a privacy cost."""
        refuse_several(query)
        _, plan, _ = self._pipeline.plan(request_of(query, self._modules, price, method, None))
        one: AnswerPlan = plan
        return one
