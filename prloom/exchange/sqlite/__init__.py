"""The embedded store: one SQLite database, any number of processes on one machine."""
