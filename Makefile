.DEFAULT_GOAL := help
.PHONY: help setup demo check lint types layers sizes house test test-full bench bench-peer bench-safety bench-learning bench-skills requirements lock manifest clean
.SILENT:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

# Start-up is measured with compiled modules, as users have it.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
CODE := $(wildcard src tests benchmarks scripts)
# Many tests wait for real processes, so there are more workers than cores.
PYTEST := $(BIN)/pytest -q -n 4 --dist worksteal --inline-snapshot=disable

title = if [ -t 1 ] && [ -z "$${NO_COLOR:-}" ]; then printf '\033[1m%s\033[0m\n' '$(1)'; else printf '%s\n' '$(1)'; fi

help: ## this list
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## .venv with everything needed to work on the code
	scripts/setup.sh dev

demo: ## set up the product alone and run its main job: no key, no server, no root
	scripts/setup.sh core
	$(BIN)/hermes demo

check: lint types layers sizes house ## every check that is not a test

lint types layers sizes house: setup

lint:
	$(call title,ruff)
	$(BIN)/ruff check --quiet $(CODE)
	$(BIN)/ruff format --quiet --check $(CODE) || { $(BIN)/ruff format --check $(CODE); exit 1; }

types:
	$(call title,mypy --strict)
	$(BIN)/mypy --strict --no-error-summary $(CODE)

layers:
	$(call title,layers)
	$(BIN)/lint-imports >.venv/layers.log 2>&1 || { cat .venv/layers.log; exit 1; }

sizes:
	$(call title,sizes and environment)
	$(BIN)/python -m scripts.check_sizes
	$(BIN)/python -m scripts.check_environment
	$(BIN)/python -m scripts.requirements >/dev/null

house:
	$(call title,house)
	$(BIN)/python -m scripts.check_house

test: check ## set up, all checks, all tests
	$(call title,tests)
	$(PYTEST) -m "not slow"

test-full: check ## the same with the long sweeps
	$(call title,tests with the long sweeps)
	HERMES_TEST_FULL=1 $(PYTEST)

bench: setup ## the benchmarks, as a table
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.adapters
	$(BIN)/python -m benchmarks.learning.scale

bench-peer: setup ## the same work by other libraries, side by side
	$(BIN)/python -m benchmarks.peers.run
	$(BIN)/python -m benchmarks --peers .bench/peers.json

bench-safety: setup ## what gets past the gate, what still works, how often a person is asked; and the scanner
	$(BIN)/python -m benchmarks.safety
	$(BIN)/python -m benchmarks.scanner

bench-learning: setup ## what learning gains, against no learning, an oracle, a bandit and shuffled feedback
	$(BIN)/python -m benchmarks.learning
	$(BIN)/python -m benchmarks.learning.families
	$(BIN)/python -m benchmarks.learning.rollback
	$(BIN)/python -m benchmarks.learning.errors

bench-skills: setup ## whether the library of skills stays small and useful, and what it costs
	$(BIN)/python -m benchmarks.skills

requirements: setup ## which rows of docs/requirements.md have tests
	$(BIN)/python -m scripts.requirements

lock: setup ## bring uv.lock up to date with pyproject.toml
	$(BIN)/uv lock

manifest: setup ## write the list of built-in tools anew
	$(BIN)/python -m hermes_agent.tools.discovery

clean: ## remove caches and build output; .venv stays
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .venv-bootstrap
	find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
