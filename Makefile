# Entry points. All work happens inside the toolchain root that `make setup` makes (tools/toolchain/README.md).
.DEFAULT_GOAL := help
.PHONY: help setup build test demo site serve bench bundle peers format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: ## the toolchain: a private Debian root in the cache folder, made once (about 2 minutes, 2 GB)
	@tools/toolchain/setup

build: setup ## build/native/tabgrad
	@tools/build native

test: ## format, layers, sizes, native tests, sanitizer tests, fuzz targets
	@tools/test

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
	@for b in build/native/bin/bench_*; do tools/toolchain/run $$b || exit 1; done

peers: ## the same train steps in PyTorch on the CPU, at its best (a second root, 2 GB)
	@tools/toolchain/setup --list peers
	@tools/toolchain/run --list peers python3 bench/peers/pytorch_cpu.py --bench lstm,step --seconds 2

bundle: build ## a folder that runs on any Linux with a Vulkan driver, Chromium and the site included
	@tools/bundle/make --browser

format: setup ## format all C++
	@tools/format

clean: ## remove build/; the toolchain stays
	rm -rf build
