# make setup | demo | test | test-thorough | style | check | wheel | clean. Needs python3 (3.11 or
# newer) and g++.
# make gpu-demo | gpu-test: on a machine with an NVIDIA GPU; options in ARGS="...".
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
DEMO := out/demo
# How many files of tests run side by side.
WORKERS ?= 2
CUDA ?= cuda13
# To build and try Triton and CUDA kernels where no GPU is; without Triton's own wish for another
# version.
TORCH ?= torch==2.13.0
TRITON ?= triton==3.6.0
# Nothing is installed for another Python's folder: make gpu-demo BIN=/usr/bin
GPU_READY := $(if $(filter $(VENV)/bin,$(BIN)),$(VENV)/gpu.stamp)

.PHONY: support setup demo test test-thorough style check wheel clean gpu-demo gpu-test

setup: $(VENV)/dev.stamp

demo: $(VENV)/package.stamp
	@echo "Searching for a faster matmul (examples/matmul/plain.json): 12 builds at most, some minutes;" \
		"steps say how long it may still take."
	@rm -rf $(DEMO)
	@$(BIN)/kernelwright optimize --input examples/matmul/plain.json --outdir $(DEMO) \
		--budget-builds 12 --no-llm
	@echo "More: $(BIN)/kernelwright show $(DEMO) matmul_plain; the whole story:" \
		"$(DEMO)/kernels/matmul_plain/trace.md; the line that builds the winner:" \
		"$(DEMO)/kernels/matmul_plain/best/build.sh"

gpu-demo: $(GPU_READY)
	@$(BIN)/python3 benchmarks/gpu_examples.py $(ARGS)

gpu-test: $(GPU_READY)
	@$(BIN)/python3 -m pytest -m gpu $(ARGS)

# What real times decide runs after the others, alone; 5: ARGS chose no test of that kind.
# Python writes and reads bytecode, whatever its environment says: each of the workers and servers
# would compile the product and the tests anew.
# test leaves out, and pytest counts as deselected, what is marked thorough (tests/support/tiers.py).
test test-thorough: export PYTHONDONTWRITEBYTECODE :=
test: BESIDE := not alone and not thorough
test-thorough: BESIDE := not alone
test test-thorough: $(VENV)/dev.stamp
	@$(BIN)/python -m pytest -m "$(BESIDE)" --numprocesses $(WORKERS) --dist loadfile $(ARGS) \
		|| [ $$? -eq 5 ]
	@$(BIN)/python -m pytest -m alone $(ARGS) || [ $$? -eq 5 ]

style: $(VENV)/dev.stamp
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright --pythonpath $(BIN)/python

check: style
	@$(BIN)/python -m pytest --quiet tests/house/test_layers.py tests/house/test_packaging.py

wheel: $(VENV)/dev.stamp
	@rm -rf build dist
	@$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info out .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Kernelwright needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
			"Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV)."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/package.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing kernelwright into $(VENV)."
	@$(PIP) --editable ".[host]"
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing kernelwright with its development tools into $(VENV)."
	@$(PIP) --editable ".[dev,host]"
	@$(PIP) "$(TORCH)"
	@$(PIP) --no-deps "$(TRITON)"
	@touch $@ $(VENV)/package.stamp

$(VENV)/gpu.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing kernelwright with $(CUDA), torch and triton into $(VENV)."
	@$(PIP) --editable ".[dev,$(CUDA),torch,triton]"
	@touch $@ $(VENV)/dev.stamp $(VENV)/package.stamp

# The device runner's own kernels as PTX: built for the oldest GPUs that nvcc 13 knows, and with
# the oldest version that holds what they use, so that older drivers translate it, too.
SUPPORT := runners/device/support
support:
	@nvcc -ptx -arch=compute_75 -o $(SUPPORT).tmp $(SUPPORT).cu
	@{ echo "// support.cu, sha256 $$(sha256sum $(SUPPORT).cu | cut -d' ' -f1)"; \
		sed 's/^\.version .*/.version 7.0/' $(SUPPORT).tmp; } >$(SUPPORT).ptx
	@rm $(SUPPORT).tmp
