"""The pages: each reads views, and returns a value with its template."""
