"""The quality of a synthetic table as one page: pictures of columns, distances of pairs, figures and risks."""
