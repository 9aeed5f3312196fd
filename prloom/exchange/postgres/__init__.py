"""The store for more than one machine: a schema in a PostgreSQL database, any number of clients anywhere."""
