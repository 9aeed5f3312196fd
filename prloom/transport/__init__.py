"""HTTP for the bridges: one client for each, with its token and the rate limits of its server."""
