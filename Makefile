# What people type. All of it goes through the presets of CMakePresets.json; `make test PRESET=clang` takes another one.
PRESET ?= dev
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SOURCES = $(shell git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh')

PUBLISHED ?= ../shared/facts/published

.PHONY: help setup demo build test asan golden validation format tidy clean

help:
	@echo "make demo    build, and show the main job: topology, proof, plan, verified copy"
	@echo "make test    build and run every test that can run here"
	@echo "make asan    the same under the address and undefined behaviour sanitizers, without the longest runs"
	@echo "make golden  rewrite the expected results of tests/golden and the pages; git diff is the review"
	@echo "make validation  published machines beside the simulator: writes docs/validation.md"
	@echo "make format  clang-format        make tidy    clang-tidy"

setup:
	@scripts/setup.sh

demo:
	@scripts/demo.sh

build: setup
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS)

test: build
	ctest --preset $(PRESET) -j $(JOBS)

asan:
	@$(MAKE) --no-print-directory test PRESET=asan

golden: setup
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target test_golden test_cli
	PEERLANE_GOLDEN_REWRITE=1 ctest --preset $(PRESET) -j $(JOBS) -R '^(golden|cli)\.'
	git --no-pager diff --stat -- tests/golden README.md docs

validation: setup
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target peerlane-validate
	build/$(PRESET)/tests/validation/peerlane-validate $(PUBLISHED) docs/validation.md

format:
	clang-format -i $(SOURCES)

tidy: setup
	cmake --preset $(PRESET) > /dev/null
	git ls-files 'src/*.cpp' | grep -v '^src/driver/cuda/' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p build/$(PRESET)

clean:
	rm -rf build
