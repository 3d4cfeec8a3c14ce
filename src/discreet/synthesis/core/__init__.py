"""What all synthesizers share: the domain, noisy marginals, and the one object that meets exact counts."""
