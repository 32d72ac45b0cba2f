# `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
JOBS ?= auto

.DEFAULT_GOAL := help
.PHONY: help setup up test check format lint types layers unit bench conformance proto disk-tools clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Mooring needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'

$(STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev --group peers
	@touch $@

# What tests of real volumes use beyond what every Debian has; without them those tests are skipped.
disk-tools:
	@command -v mkfs.xfs >/dev/null && command -v mkfs.btrfs >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -qq -y xfsprogs btrfs-progs || { apt-get update -qq && apt-get install -qq -y xfsprogs btrfs-progs; }; } >/dev/null 2>&1; } \
	  || echo "tests on xfs and btrfs will be skipped: install xfsprogs and btrfs-progs to run them"

setup: $(STAMP) ## create .venv and install mooring into it

up: setup ## run Mooring here (data in ./data)
	$(BIN)/mooring up --data-dir data

test: $(DEV_STAMP) disk-tools ## every test: unit, API scenarios, real clients
	$(BIN)/python -m pytest -n $(JOBS) --dist=worksteal tests

check: $(DEV_STAMP) format lint types layers unit ## format, ruff, mypy strict, import layers, unit tests

format: $(DEV_STAMP)
	$(BIN)/ruff format --check --quiet .

lint: $(DEV_STAMP)
	$(BIN)/ruff check --quiet .

types: $(DEV_STAMP)
	$(BIN)/mypy --no-error-summary

layers: $(DEV_STAMP)
	$(BIN)/lint-imports --no-logo > $(VENV)/layers.log || { cat $(VENV)/layers.log; false; }

unit: $(DEV_STAMP) ## the fast tests alone
	$(BIN)/python -m pytest -q -n $(JOBS) tests/unit

bench: $(DEV_STAMP) ## measure, and print a table (BENCH=name for one of them)
	$(BIN)/python -m bench $(BENCH)

conformance: $(DEV_STAMP) ## against heavy peers, fetched once into .cache
	MOORING_CONFORMANCE=1 $(BIN)/python -m pytest -n 0 --timeout=1800 tests/conformance -m conformance

proto: $(DEV_STAMP) ## compile csi/proto/*.proto (the results are committed)
	$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src src/mooring/csi/proto/*.proto

clean: ## remove .venv and caches
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
