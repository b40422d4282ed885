# Each target does its own set-up; a second call installs nothing.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run test lint format bench docs up down drill clean
.DEFAULT_GOAL := help

help:
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1|/' | column -t -s '|'

run: $(VENV)/.run-time  ## the main job: real text to a trained, scored, quantised, exported model
	$(BIN)/seamount run $(ARGS)

test: $(VENV)/.development  ## the tests (about 10 minutes on 2 cores)
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

lint: $(VENV)/.development  ## ruff, import layers, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(VENV)/.development  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(VENV)/.development  ## every benchmark, side by side with its peer
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

drill: $(VENV)/.development  ## the long kill drill of the corpus: kill -9, 1, 2 and 4 workers
	$(BIN)/python tests/drills/corpus_kill.py $(ARGS)

docs: $(VENV)/.development  ## write the pictures and tables of docs/ anew
	$(BIN)/python docs/pictures.py

up: $(VENV)/.run-time  ## Prefect server, worker and tracking UI on this machine; links printed
	$(BIN)/seamount services up

down: $(VENV)/.run-time  ## stop what `make up` started
	$(BIN)/seamount services down

clean: ## remove the environment and caches (never results)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Debian's python3 may lack ensurepip: then a venv without pip is filled by the pip at hand.
# torch comes first and alone, since other packages would drag in another build of it.
$(VENV)/.python: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "Seamount needs Python 3.11; $(PYTHON) is another: run make PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV); }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m pip --python $(BIN)/python install --quiet pip
	@echo "installing torch 2.13.0 into $(VENV) (once, some minutes)"
	@$(PIP) torch==2.13.0
	@touch $@

$(VENV)/.run-time: $(VENV)/.python pyproject.toml seamount/tracking/dashboard/package-lock.json
	@echo "installing the run-time dependencies into $(VENV) (once, some minutes)"
	@$(PIP) -e ".[all,assets]"
	@$(BIN)/python -m seamount.tracking.dashboard.assets || echo "the dashboard will not draw until that is done"
	@touch $@

$(VENV)/.development: $(VENV)/.run-time
	@echo "installing the test tools into $(VENV) (once)"
	@$(PIP) -e ".[dev]"
	@touch $@
