"""Linear models: scores that are sums of one public weight for each feature."""
