"""Post-processing: what can be computed from a release alone, at no privacy cost."""
