"""The operator's pages in a browser: views of what prloom's files say, and the operator's actions."""
