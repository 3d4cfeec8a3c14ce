"""Applications of private selection and sparse vectors, each with its theorem: `python -m examples.auction`.

    auction      a price for digital goods, chosen by its revenue
    truthful     why nobody gains much by lying to a private choice, alone or with others
    facility     two facilities on a line, placed so that lying never pays
    pac          a rule learned from examples, out of a finite class
    ranges       which of many ranges hold many people, and how many they hold
    clipping     a bound for a skewed column, then its mean
    film         three films by their ratings
    equilibrium  advice to drivers that none of them should ignore

docs/private-selection.md lists them; tests/examples/ holds each to its theorem.
"""
