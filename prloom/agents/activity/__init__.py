"""Turn the output of each agent program into activity events, line by line while it runs."""
