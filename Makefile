# Everything that a newcomer or the CI runs. `make help` lists it.
SHELL := /bin/bash
PY := .venv/bin/python
SEEDS ?= 200
.DEFAULT_GOAL := help
.PHONY: help setup run test unit thorough integration spark sim browser bench golden lint lock clean
PAGE := src/lochan/server/page/files/index.html

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: .venv/.ready $(PAGE) ## virtual environment in .venv with everything installed, and the web page

.venv/.ready: requirements.lock pyproject.toml $(wildcard jvm/src/main/java/lochan/spark/*.java)
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check 'uv>=0.5'
	.venv/bin/uv pip sync --quiet --compile-bytecode --python $(PY) --require-hashes requirements.lock
	.venv/bin/uv pip install --quiet --python $(PY) --no-deps --editable .
	$(PY) jvm/build.py
	.venv/bin/lochan --version
	touch $@

ui/node_modules/.ready: ui/package-lock.json
	cd ui && npm ci --no-fund --no-audit --loglevel=error
	touch $@

$(PAGE): ui/node_modules/.ready ui/index.html ui/vite.config.ts ui/svelte.config.js $(shell find ui/src ui/public -type f)
	cd ui && npm run --silent build -- --logLevel warn

run: setup ## play the tour on a fresh sample lake, print what it did, and serve it
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m docs.tour

test: setup ## all lanes: lint, unit, thorough, integration, sim, browser, spark (FULL=1: the long forms too)
	@$(PY) -m tests.lanes all $(if $(FULL),--full)

unit: setup ## the quick tests: no JVM, no server, nothing that takes long
	@$(PY) -m tests.lanes unit

thorough: setup ## tests beside those of `unit` that look at many cases or much data
	@$(PY) -m tests.lanes thorough $(if $(FULL),--full)

integration: setup ## against MinIO and PostgreSQL, which it starts itself; kill harness
	@$(PY) -m tests.lanes integration $(if $(FULL),--full)

spark: setup ## what needs a JVM
	@$(PY) -m tests.lanes spark $(if $(FULL),--full)

sim: setup ## SEEDS=200 simulated lakes under faults, schedules beside garbage collection, the exhaustive explorer
	@$(PY) -m tests.sim --seeds $(SEEDS) $(if $(FULL),--schedules 100000)

browser: setup ## the web page in a real Chromium, and its own small tests
	@$(PY) -m tests.lanes browser

bench: setup ## the budgets, as ratios of one run
	@$(PY) -m bench

golden: setup ## write down what golden scripts and lakes say now; look at the diff before you commit it
	@$(PY) -m pytest tests/golden --update-golden

lint: setup ## ruff, mypy --strict, the layers; eslint and svelte-check for the page
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --cache-dir .cache/import_linter
	cd ui && npm run --silent lint && npm run --silent check

lock: ## pin the dependencies again
	.venv/bin/uv pip compile --no-emit-index-url --generate-hashes --all-extras --group dev --python-version 3.11 -q pyproject.toml -o requirements.lock

clean: ## remove what the targets above made
	rm -rf .venv .cache sample-lake ui/node_modules src/lochan/server/page/files
