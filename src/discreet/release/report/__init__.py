"""The report of saved releases: one page that anybody can read, one for reviewers, JSON and a registry entry."""
