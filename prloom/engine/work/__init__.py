"""Work on the TODOs of a plan: take one, run a worker, inspect and check its change, commit, push, report."""
