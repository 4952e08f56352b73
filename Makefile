# Everything a person runs. Needs Python 3.11 or 3.12, git and make; the rest is installed in .venv.
SHELL := /bin/bash
PORT ?= 8080
PY := .venv/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check --no-warn-script-location

# Lists of packages, in the order they are installed. Every list is complete, so pip resolves nothing.
DEMO_LISTS := requirements/host.txt requirements/open-webui.txt requirements/sampledata.txt
TEST_LISTS := requirements/test.txt requirements/peers.txt
CHECK_LISTS := requirements/check.txt

# The first interpreter that runs and fits; a pyenv shim may be there and fail.
FITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))
PYTHON = $(shell for name in python3.12 python3.11 python3; do \
  if $$name -c '$(FITS)' >/dev/null 2>&1; then echo $$name; break; fi; done)
NO_PYTHON := No Python 3.11 or 3.12 with venv was found. Install python3.12 and python3.12-venv, then run make again.

# $(call install,NAME,SENTENCE,LISTS): install the lists unless .venv/stamp-NAME holds the hash of their content.
define install
@set -e; content=$$(cat $(3) | $(PY) -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'); \
if [ "$$(cat .venv/stamp-$(1) 2>/dev/null)" != "$$content" ]; then \
  echo "• $(2)"; \
  for list in $(3); do $(PIP) --require-hashes --no-deps -r $$list; done; \
  echo "$$content" > .venv/stamp-$(1); \
fi
endef

.DEFAULT_GOAL := help
.PHONY: help demo test check install bundle lock clean demo-ready test-ready check-ready

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: demo-ready ## start Open WebUI with the function and demo data (PORT=8080)
	@exec $(PY) -m demo --port $(PORT)

test: test-ready ## run every test, a live Open WebUI included (ARGS=… goes to pytest)
	@$(PY) -m pytest $(ARGS)

check: check-ready ## lint, types and the fast tests
	@echo "• ruff" && $(PY) -m ruff check --quiet .
	@echo "• mypy" && $(PY) -m mypy
	@echo "• pytest" && $(PY) -m pytest -q -m "not host and not browser and not slow" $(ARGS)

install: .venv/bin/python ## put the function into a running Open WebUI: OPENWEBUI_URL=… OPENWEBUI_TOKEN=…
	@$(PY) -m pipe.install $(if $(OPENWEBUI_URL),--url "$(OPENWEBUI_URL)") $(if $(OPENWEBUI_TOKEN),--token "$(OPENWEBUI_TOKEN)")

bundle: .venv/bin/python ## write dist/portfolio_agent.py and .json
	@$(PY) -m pipe.bundle

lock: .venv/bin/python ## compile requirements/*.txt anew, at the newest versions allowed
	@echo "• Compiling requirements"
	@$(PIP) uv
	@set -e; cd requirements; compile() { ../$(PY) -m uv pip compile --quiet --upgrade --universal \
	    --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    "$$1.in" -o "$$1.txt" "$${@:2}"; }; \
	for name in host test check; do compile $$name; done; \
	for name in open-webui sampledata peers; do compile $$name --no-deps; done

clean: ## remove what was installed and made
	rm -rf .venv .demo dist .mypy_cache .ruff_cache .pytest_cache

demo-ready: .venv/bin/python
	$(call install,demo,Installing Open WebUI and what the function needs (a few minutes$(comma) once),$(DEMO_LISTS))

test-ready: demo-ready
	$(call install,test,Installing what the tests need,$(TEST_LISTS))

check-ready: test-ready
	$(call install,check,Installing the linters,$(CHECK_LISTS))

.venv/bin/python:
	@set -e; python="$(PYTHON)"; \
	if [ -z "$$python" ]; then echo "$(NO_PYTHON)" >&2; exit 1; fi; \
	echo "• Making .venv with $$($$python --version)"; \
	$$python -m venv --clear .venv || { rm -rf .venv; exit 1; }

comma := ,
