# Everything a fresh machine needs: Python 3.11+ with pip. uv is used when it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)
NPM := $(shell command -v npm 2>/dev/null)
NODE := tests/node
NODE_STAMP := $(if $(NPM),$(NODE)/node_modules/.installed)

.PHONY: help demo test lint types tests bench docs chaos-redis chaos-workers clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## watch a turn grow in the browser: prints an address
	$(BIN)/turnwire demo

test: lint types tests ## every check: formatting, lint, types, tests with coverage of the core

lint: $(STAMP) ## ruff: rules and format; import-linter: which way imports point
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(STAMP) ## mypy and basedpyright, both strict
	$(BIN)/mypy
	$(BIN)/basedpyright

tests: $(STAMP) $(NODE_STAMP) ## pytest alone, in two processes: a file's tests stay together
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered

bench: $(STAMP) ## measure this machine: the table of the README
	$(BIN)/turnwire bench

docs: $(STAMP) ## build the pages into build/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

chaos-redis: $(STAMP) ## kill and freeze a real Redis under load, at full length; some five minutes
	$(BIN)/python -m tests.chaos

chaos-workers: $(STAMP) ## kill, freeze and stop real workers under load, at full length; some eight minutes
	$(BIN)/python -m tests.chaos.workers

clean: ## remove what the other targets made
	rm -rf $(VENV) $(NODE)/node_modules build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# constraints.txt pins what was tested; the wheel itself asks for ranges.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "turnwire needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@echo "setting up $(VENV), once; it takes about a minute"
ifdef UV
	uv venv --quiet --clear --python $(PYTHON) $(VENV)
	uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,docs,providers,serve]'
else
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs,providers,serve]'
endif
	@touch $(STAMP)

# The official AG-UI client, which some tests ask for its verdict. They skip, saying so, where it is absent: without npm,
# or where npm cannot reach a registry.
$(NODE)/node_modules/.installed: $(NODE)/package.json
	@cd $(NODE) && npm install --silent --no-audit --no-fund --no-package-lock && touch node_modules/.installed || \
		echo "npm could not install the AG-UI client: the tests that ask it will be skipped"
