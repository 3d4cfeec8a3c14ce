"""Differentially private stochastic gradient descent: gradients by torch and Opacus, everything else in integers."""
