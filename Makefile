# Everything a person runs. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(VENV)/peers

.DEFAULT_GOAL := help
.PHONY: help setup demo up test check lint bench docs kafka clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with the pinned versions

$(STAMP): requirements.lock requirements-embeddings.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-embeddings.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(STAMP)

demo: setup ## run the whole pipeline on made-up sessions and show what it found
	@$(BIN)/trodden demo

up: setup ## start broker, workers and Hub on this machine; Ctrl-C stops them
	@$(BIN)/trodden up

test: setup ## install what tests need and run them all
	@$(BIN)/python -m pytest -n 2 --dist loadfile

lint: setup ## formatting, lint rules, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test ## everything that must be green before a commit

bench: bench-attribution bench-streams bench-warehouse bench-search bench-ranking ## all benches

bench-search: setup ## the search store against its peers, in an environment of their own
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benches/peers.txt
	@$(PEERS)/bin/python -m benches.search

bench-%: setup ## one bench: attribution, streams, crash, soak, warehouse, search, ranking
	@$(BIN)/python -m benches.$(subst -,_,$*)

kafka: setup ## fetch Apache Kafka's jars through Maven (needs Java 17 or newer)
	@$(BIN)/python -m deploy.kafka.jars

docs: setup ## write the generated pages of docs/
	@$(BIN)/python -m deploy.docs

clean: ## remove the environment, caches and demo data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache trodden-demo build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
