"""Run `python -m prloom` as the `prloom` command."""

from prloom.cli.main import main

if __name__ == "__main__":
    main()
