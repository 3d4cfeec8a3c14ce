"""PostgreSQL: the engine, what the server is asked first, and which views are row-local."""
