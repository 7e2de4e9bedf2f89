# The two commands: `make demo` and `make test`. Everything lands under build/; each step says nothing when it has nothing to do.
.DEFAULT_GOAL := help
.PHONY: help demo test build bench-esrgan bench-onnx bench-bindings bench-ggml bench-cache check-tfjs format tidy ci clean
S := build/.stamps

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "    make %-14s%s\n", $$1, $$2 }' Makefile

demo: $(S)/setup ## sets up, builds what it needs on this CPU, fetches weights, upscales a photograph on the best device here
	@scripts/build.sh release demo
	@scripts/fetch-models.sh medium
	@scripts/demo.sh

test: $(S)/setup-test build ## sets up, builds, fetches weights, runs every test
	@scripts/fetch-models.sh || { [ $$? = 3 ] && echo "make test: no weights: the tests that need them say so and are skipped"; }
	@scripts/fetch-ggml.sh || { [ $$? = 3 ] && echo "make test: no stock ggml: the tests that need it say so and are skipped"; }
	@scripts/run-tests release -j$$(($$(nproc) + 2)) $(TEST_ARGUMENTS)

build: $(S)/setup ## build/release/bin/backplane and the module files
	@scripts/build.sh release

bench-esrgan: build ## ours against ONNX Runtime, medians and ratio; build/bench/esrgan.json
	@scripts/fetch-models.sh medium
	@bench/peers/esrgan/run bench

bench-onnx: build ## ours against ONNX Runtime on real networks, medians and ratios; build/bench/onnx.json
	@scripts/fetch-models.sh medium vad ocr
	@bench/peers/onnx/run bench

bench-bindings: build ## what C, Rust and Python add to a run; build/bench/bindings.json
	@bench/bindings/run build/release

bench-cache: build ## time to the first result, cold and warm, with and without the kernel cache
	@scripts/fetch-models.sh medium
	@bench/cache/run build/release --device $${DEVICE:-opencl}

bench-ggml: build ## starts of ggml's registry and of ours in its place; build/bench/ggml.json
	@scripts/fetch-ggml.sh
	@scripts/build.sh release compat_ggml compat_ggml_probe ggml_driver backplane_cli backplane_probe
	@bench/peers/ggml/run build/release

check-tfjs: build ## every pixel of slim, medium, thick at x2, x4 against TensorFlow.js (minutes)
	@scripts/fetch-models.sh
	@bench/peers/esrgan/run check

format: $(S)/setup-ci ## formats all sources
	@scripts/format.sh --fix

tidy: $(S)/setup-ci build ## clang-tidy over src/
	@scripts/tidy.sh

ci: ## everything a change must pass
	@.ci/run

clean: ## removes build/, fetched weights included
	rm -rf build

$(S)/setup: scripts/setup.sh
	@mkdir -p $(S)
	@scripts/setup.sh
	@touch $@

$(S)/setup-test: scripts/setup.sh
	@mkdir -p $(S)
	@scripts/setup.sh --test || echo "make test: no drivers: the tests that need them say so and are skipped"
	@touch $@

$(S)/setup-ci: scripts/setup.sh
	@mkdir -p $(S)
	@scripts/setup.sh --ci
	@touch $@
