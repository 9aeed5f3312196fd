# Two commands on a fresh machine (Python 3.11 or later, git and make): `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
# Two more than there are processors: many tests wait for a process of their own.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))

.PHONY: help setup demo test compiled collected browser bubblewrap screenshots conversation bench kill crash-matrix soak mutants \
	check static format lint types layers clean

help:
	@echo "make demo    set up what the demo needs, and show prloom at work on a temporary repository"
	@echo "make test    set up and run all tests"
	@echo "make browser install Chromium, with which the pages of prloom web are tested (Debian, as root)"
	@echo "make bubblewrap"
	@echo "             install bubblewrap, with which the sandbox is tested (Debian, as root)"
	@echo "make screenshots"
	@echo "             set up and take the pictures of these pages for the documents"
	@echo "make conversation"
	@echo "             set up and write down what prloom posts in a conversation: docs/on-the-pull-request.md"
	@echo "make bench   set up and run the benchmarks (15 minutes)"
	@echo "make kill    set up and kill the exchange's workers and publishers 200 times (1 minute)"
	@echo "make crash-matrix"
	@echo "             set up and make each call of each write fail (30 minutes): docs/reliability.md"
	@echo "make soak    set up and let weeks of simulated work on 50 plans go by (an hour): docs/reliability.md"
	@echo "make mutants set up and change the code in one place at a time, to see that a test notices: docs/mutants.md"
	@echo "make check   run everything that a change must pass: tests, format, lint, types, layers"
	@echo "make format  format the code"

# The pip of an older Python takes twice as long, and any pip compiles with one processor only. A file that some package
# has as a template is no error.
$(STAMP): pyproject.toml
	@echo "Setting up $(VENV) for development. pip downloads what is missing; this takes a few minutes on a new machine."
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(PIP_INSTALL) --no-compile --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib || true
	@touch $(STAMP)

$(DEMO_STAMP): pyproject.toml
	@echo "Setting up $(VENV) for the demo. pip downloads what is missing; this takes about a minute on a new machine."
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(PIP_INSTALL) --editable .
	@touch $(DEMO_STAMP)

setup: $(STAMP)

# What is installed for development is enough for the demo.
demo: $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO_STAMP))
	$(BIN)/prloom demo

test: compiled
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# So that the tests need not compile these modules in each process.
compiled: setup
	@$(BIN)/python -m compileall -q prloom bridges plugins tests/kit tests/reliability

# pytest rewrites the assertions of all test modules once here, and not in each process. What is wrong in one, `test` says.
collected: compiled
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq > /dev/null || true

# Where it is not installed, and cannot be, the tests that need it are skipped.
browser:
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then echo "Chromium is installed."; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core; \
	else echo "Install Chromium and its driver: on Debian, \`apt-get install chromium chromium-driver\`, as root."; exit 1; fi

# Where it is not installed, and cannot be, the tests of the sandbox are skipped.
bubblewrap:
	@if command -v bwrap >/dev/null; then echo "bubblewrap is installed."; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; \
	else echo "Install bubblewrap: on Debian, \`apt-get install bubblewrap\`, as root."; exit 1; fi

screenshots: setup
	$(BIN)/python tests/web/screenshots.py

conversation: setup
	$(BIN)/python tests/docs/on_the_pull_request.py

bench: setup
	$(BIN)/python benchmarks

kill: setup
	PRLOOM_KILL_ROUNDS=200 $(BIN)/python -m pytest -p no:randomly tests/exchange/test_kill.py

crash-matrix: setup
	$(BIN)/python tests/reliability/publish.py

# Which weeks: `make soak SEED=7 PLANS=50 DAYS=28`; the same seed makes the same weeks.
SEED ?= 1
PLANS ?= 50
DAYS ?= 28

soak: setup
	$(BIN)/python tests/reliability/soak.py --seed $(SEED) --plans $(PLANS) --days $(DAYS)

# Which mutants, and for how long: `make mutants MUTANTS='prloom.core.trust*' MINUTES=10`. The next run continues.
MUTANTS ?= prloom.core.* prloom.engine.bus.event_store.* prloom.storage.journal.*
MINUTES ?= 60

mutants: setup
	$(PIP_INSTALL) --quiet --editable '.[mutants]'
	-timeout --signal=INT $(MINUTES)m $(BIN)/mutmut run $(foreach each,$(MUTANTS),'$(each)')
	@$(BIN)/mutmut results

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

# The static checks and the collection of the tests need half a minute of one processor each.
check: setup
	@$(MAKE) --no-print-directory --jobs=2 static collected
	@$(MAKE) --no-print-directory test

static: lint types layers

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants
