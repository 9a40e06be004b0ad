# Entry points. All work happens inside the toolchain root that `make setup` makes (tools/toolchain/README.md).
.DEFAULT_GOAL := help
.PHONY: test-gpu engine-web peers-web curve-web dispatch-web help setup build test demo site serve bench bundle peers format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## the toolchain: a private Debian root in the cache folder, made once (about 2 minutes, 2 GB)
	@tools/toolchain/setup

build: setup ## build/native/tabgrad
	@tools/build native

test: ## format, layers, sizes, native tests, sanitizer tests, fuzz targets
	@tools/test

test-gpu: build site ## what takes long on a software GPU: training in Chromium on WebGPU, WebGL2, pages of a GPU (about an hour)
	@for preset in wasm wasm-relaxed wasm-single; do tools/build $$preset test_cases || exit 1; done
	@tools/build wasm test_page
	@tools/toolchain/run npx vitest run --config tests/web/vitest.config.ts webgpu webgl lm op_table speed

demo: build site ## train an LSTM on Seattle's weather, in the shell and in a browser, and compare it with honest baselines
	@tools/demo

site: setup node_modules ## the web page in apps/web/dist, with the engine's WebAssembly builds and a report of transfer sizes
	@for preset in wasm wasm-relaxed wasm-single; do tools/build $$preset tabgrad_module || exit 1; done
	@tools/toolchain/run npm run --silent build -w tabgrad -w tabgrad-web

serve: site ## the page on 127.0.0.1
	@tools/serve

node_modules: package-lock.json
	@tools/toolchain/run npm install --no-save
	@touch node_modules

bench: build ## the CPU benchmarks, against OpenBLAS
	@for b in kernels lstm 'curve --no-parity'; do build/native/tabgrad bench $$b || exit 1; done

peers: ## the same train steps in PyTorch, on the CPU and with CUDA where it is there, at its best (a second root, 2 GB)
	@tools/toolchain/setup --list peers
	@tools/toolchain/run --list peers python3 bench/peers/pytorch.py --bench lstm,step --seconds 2

bundle: build ## a folder that runs on any Linux with a Vulkan driver, Chromium and the site included
	@tools/bundle/make --browser

engine-web: setup node_modules
	@for p in wasm wasm-relaxed wasm-single; do tools/build $$p tabgrad_module || exit 1; done
	@tools/toolchain/run npm run --silent build -w tabgrad

# HOST=name also writes bench/results/peers-web-name-date.json; ARGS="--bench lstm" and the like narrow it.
peers-web: engine-web ## tabgrad, TensorFlow.js and jax-js side by side in headless Chromium
	@[ -d bench/peers/web/node_modules ] || tools/toolchain/run npm ci --prefix bench/peers/web
	@tools/toolchain/run npm run --silent bench:peers -- $(if $(HOST),--host $(HOST)) $(ARGS)

curve-web: engine-web ## speed and parity of each browser target over the GPT presets
	@tools/toolchain/run npm run --silent bench:curve -- $(if $(HOST),--host $(HOST)) $(ARGS)

dispatch-web: engine-web ## what a launch costs through a browser's WebGPU
	@tools/toolchain/run npm run --silent bench:dispatch -- $(if $(HOST),--host $(HOST)) $(ARGS)

format: setup ## format all C++
	@tools/format

clean: ## remove build/; the toolchain stays
	rm -rf build
