"""Random events, simple and nested, for hypothesis."""

from fractions import Fraction

from hypothesis import strategies as st

from discreet import events

rates = st.fractions(min_value=0, max_value=100, max_denominator=10**6)
scales = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**6)
small = st.fractions(min_value=0, max_value=1, max_denominator=10**9)
shares = st.fractions(min_value=Fraction(1, 10**6), max_value=1, max_denominator=10**6)

simple = st.one_of(
    st.builds(events.PureEvent, rates),
    st.builds(events.BoundedRangeEvent, rates),
    st.builds(events.ApproximateEvent, rates, small),
    st.builds(events.ApproximateConcentratedEvent, rates, small, rates),
    st.builds(events.ConcentratedEvent, rates, small),
    st.builds(events.DiscreteLaplaceEvent, scales, rates),
    st.builds(events.LaplaceEvent, scales, rates),
    st.builds(events.GaussianEvent, scales, rates),
    st.builds(events.DiscreteGaussianEvent, scales, rates, st.integers(1, 50)),
    st.builds(events.SampledGaussianEvent, shares, scales, rates),
)
shapes = st.fractions(min_value=Fraction(-1, 2), max_value=5, max_denominator=100)
stops = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


def _has_no_delta(event: events.Event) -> bool:
    return not events.total_delta(event)


nested = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(events.ComposedEvent, st.lists(inner, max_size=3).map(tuple)),
        st.builds(events.RepeatedEvent, inner, st.integers(1, 1000)),
        st.builds(events.RepeatedSelectionEvent, inner.filter(_has_no_delta), shapes, stops),
    ),
    max_leaves=6,
)
