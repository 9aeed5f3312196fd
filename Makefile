# Two commands on a fresh machine (Python 3.11 or later, git and make): `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One more than there are processors: many tests wait for a process of their own.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: help setup demo test bench kill crash-matrix check format lint types layers clean

help:
	@echo "make demo    set up and run prloom's main job on a throw-away repository"
	@echo "make test    set up and run all tests"
	@echo "make bench   set up and measure the promises of speed, a quarter of an hour"
	@echo "make kill    set up and kill the exchange's workers and publishers two hundred times, a minute"
	@echo "make crash-matrix"
	@echo "             set up and break every call of every write, half an hour: docs/reliability.md"
	@echo "make check   all that a change must pass: test, format, lint, types, layers"
	@echo "make format  format the code"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

setup: $(STAMP)

demo: setup
	$(BIN)/prloom demo

test: setup
	@$(BIN)/python -m compileall -q prloom bridges plugins  # else every prloom that a test starts compiles them anew
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

bench: setup
	$(BIN)/python benchmarks

kill: setup
	PRLOOM_KILL_ROUNDS=200 $(BIN)/python -m pytest -p no:randomly tests/exchange/test_kill.py

crash-matrix: setup
	$(BIN)/python tests/reliability/publish.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

check: lint types layers test

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
