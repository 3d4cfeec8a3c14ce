"""The values of a release: columns with their noisy integers, error bounds, and how they are printed."""
