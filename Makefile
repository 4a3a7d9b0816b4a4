# Everything that a person or a CI run does. Each target sets up what it needs.

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet --quiet
PYTEST := $(PY) -m pytest --quiet --durations=10
STAMP := $(VENV)/.stamp
PYTHON_PROBE := import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))
MODEL := models/pretrained/ja-en
SAMPLE := service/samples/ja.txt
RUNS := models/configs/default

# The Python that .venv is made from.
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do $$p -c "$(PYTHON_PROBE)" 2>/dev/null && echo $$p && break; done)

# Where torch comes from: the CPU builds where they can be reached, else pip's own indexes, which on plain Linux bring CUDA.
# With CUDA: make clean setup TORCH_INDEX=https://download.pytorch.org/whl/cu130. From pip's own indexes in any case: TORCH_INDEX=
TORCH_CPU := https://download.pytorch.org/whl/cpu
TORCH_PROBE := import urllib.request; urllib.request.urlopen('$(TORCH_CPU)/torch/', timeout=3)
TORCH_INDEX ?= $(if $(PYTHON),$(shell $(PYTHON) -c "$(TORCH_PROBE)" 2>/dev/null && echo $(TORCH_CPU)))

.DEFAULT_GOAL := help
.PHONY: help setup demo serve lint test check test-gpu format train-default train-systems bench clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: $(STAMP) ## Build .venv with every pinned dependency (variables: PYTHON, TORCH_INDEX)

# torch goes first and alone: another index than PyPI need not have the pinned versions of what torch depends on.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Antecedent needs Python 3.11 or 3.12 with its venv module: install one, or name it with PYTHON=..." >&2; exit 2; }
	@test -x $(PY) || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing what constraints.txt pins (a minute or two)"
	@$(PIP) install -c constraints.txt pip setuptools
	@index="$(TORCH_INDEX)"; $(PIP) install -c constraints.txt --no-deps $${index:+--index-url "$$index"} torch
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[bert,dev]'
	@touch $@

demo: setup ## Translate a Japanese document as a whole and sentence by sentence
	@$(PY) -m service.demo

serve: setup ## Start the HTTP service; settings are environment variables
	@$(PY) -m service

lint: setup ## Linters, types and import rules
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

test: lint ## The same, and all tests but the slow ones
	$(PYTEST) -m "not slow and not gpu"

check: lint ## The same, and all tests
	$(PYTEST) -m "not gpu"

test-gpu: setup ## The tests that need a CUDA device
	$(PYTEST) -m gpu

format: setup ## Format the code and mend what ruff can mend
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

train-default: setup ## Train the shipped model anew: tokenizer, both steps, export; killed, it goes on where it was
	$(PY) -m models tokenizer $(RUNS)/sentence.yaml
	$(PY) -m models train $(RUNS)/sentence.yaml --resume
	$(PY) -m models train $(RUNS)/document.yaml --resume
	$(PY) -m models export runs/default/document/final --out $(MODEL)

train-systems: setup ## Train every system from the shipped model's step one; killed, it goes on where it was
	@for run in $(filter-out %/base.yaml,$(wildcard $(RUNS)/systems/*.yaml)); do \
		echo "$$run"; $(PY) -m models train $$run --resume || exit; \
	done

bench: setup ## Tokens per second with context against the same backbone in CTranslate2
	$(PY) -m models bench $(MODEL) --in $(SAMPLE)

clean: ## Remove .venv and the caches; trained runs and data stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
