# Everything a person runs. Needs Python 3.11 or 3.12, git and make; the rest is installed in .venv.
SHELL := /bin/bash
PORT ?= 8080
PY := .venv/bin/python
HOST_FILES := requirements/host.txt requirements/nodeps.txt
PIP := $(PY) -m pip install --quiet --quiet --disable-pip-version-check --no-warn-script-location

.DEFAULT_GOAL := help
.PHONY: help demo test check install bundle lock clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/stamp-host ## start Open WebUI with the function and demo data (PORT=8080)
	@exec $(PY) -m demo --port $(PORT)

test: .venv/stamp-test ## run every test, a live Open WebUI included
	@$(PY) -m pytest -q $(ARGS)

check: .venv/stamp-check ## lint, types and the fast tests
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(PY) -m pytest -q -m "not host and not browser and not slow"

install: ## put the function into a running Open WebUI: OPENWEBUI_URL=… OPENWEBUI_TOKEN=…
	@python3 -m pipe.install --url "$(OPENWEBUI_URL)" --token "$(OPENWEBUI_TOKEN)"

bundle: ## write dist/portfolio_agent.py and .json
	@python3 -m pipe.bundle

lock: .venv/bin/python ## compile requirements/*.txt anew
	@$(PIP) uv
	@cd requirements && for name in host test check; do \
	  ../$(PY) -m uv pip compile -q --generate-hashes --universal --python-version 3.11 --upgrade \
	    --no-emit-index-url --no-annotate --no-header $$name.in -o $$name.txt; done
	@cd requirements && ../$(PY) -m uv pip compile -q --no-deps --generate-hashes --universal \
	    --python-version 3.11 --no-emit-index-url --no-annotate --no-header nodeps.in -o nodeps.txt

clean: ## remove what was installed and made
	rm -rf .venv .demo dist

.venv/bin/python:
	@set -e; for name in python3.12 python3.11 python3; do \
	  if $$name -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' >/dev/null 2>&1; then \
	    echo "• Making .venv with $$($$name --version)"; $$name -m venv .venv; exit 0; fi; done; \
	echo "No Python 3.11 or 3.12 with venv was found. Install python3.12 and python3.12-venv, then run make again." >&2; exit 1

.venv/stamp-host: $(HOST_FILES) | .venv/bin/python
	@echo "• Installing Open WebUI and what the function needs (a few minutes, once)"
	@$(PIP) --require-hashes --no-deps -r requirements/host.txt
	@$(PIP) --require-hashes --no-deps -r requirements/nodeps.txt
	@touch $@

.venv/stamp-test: requirements/test.txt .venv/stamp-host
	@echo "• Installing what the tests need"
	@$(PIP) --require-hashes --no-deps -r requirements/test.txt
	@touch $@

.venv/stamp-check: requirements/check.txt .venv/stamp-test
	@echo "• Installing the linters"
	@$(PIP) --require-hashes --no-deps -r requirements/check.txt
	@touch $@
