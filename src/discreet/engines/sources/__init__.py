"""Sources: where rows come from, who they are by public identity, and how their stored forms are read."""
