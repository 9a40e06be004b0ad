#!/usr/bin/env python3
"""Runs a page of web/ in the bundle's Chromium and writes the JSON that it posts to /__result.

    ./browse.py PAGE [--gpu hardware|software|none] [--query TEXT] [--config FILE] [--out FILE] [--minutes N]

Needs only Python's standard library. The page is served on 127.0.0.1, cross-origin isolated. --config replaces the page's
config.json, so that one page serves several runs. A software GPU (SwiftShader) is a way to test, never a GPU in a table.
"""
import argparse
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
QUIET = ["--headless", "--no-sandbox", "--no-zygote", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0"]
GPU = {
    "none": ["--disable-gpu", "--disable-software-rasterizer"],
    "software": ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--use-angle=swiftshader",
                 "--enable-unsafe-swiftshader"],
    "hardware": ["--enable-unsafe-webgpu", "--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan", "--use-angle=vulkan",
                 "--ignore-gpu-blocklist", "--use-webgpu-adapter=default",
                 "--use-webgpu-power-preference=default-high-performance"],
}
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def __init__(self, *args, config, results, **kwargs):
        self.config, self.results = config, results
        super().__init__(*args, **kwargs)

    def do_GET(self):
        if self.config and self.path.split("?")[0] == "/config.json":
            body = self.config.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        if self.path == "/__result":
            self.results.append(body)
            self.results_ready.set()

    def end_headers(self):
        for name, value in ISOLATED.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *args):
        pass


def arrange_drivers(gpu):
    """Chromium takes its own SwiftShader before a card's driver: it is moved out of the way for hardware."""
    for name in ("libvk_swiftshader.so", "vk_swiftshader_icd.json"):
        here, away = HERE / "chromium" / name, HERE / "chromium" / (name + ".away")
        if gpu == "hardware" and here.exists():
            here.rename(away)
        elif gpu != "hardware" and away.exists():
            away.rename(here)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("--gpu", choices=GPU, default="hardware")
    parser.add_argument("--query", default="")
    parser.add_argument("--config", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=8)
    options = parser.parse_args()
    folder = HERE / "web" / options.page
    if not folder.is_dir():
        sys.exit(f"browse: there is no page {options.page}; there are: {', '.join(p.name for p in (HERE / 'web').iterdir())}")
    arrange_drivers(options.gpu)

    results = []
    Handler.results_ready = threading.Event()
    handler = functools.partial(Handler, directory=folder, config=options.config, results=results)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{options.query and '?' + options.query}"
    environment = {"XDG_RUNTIME_DIR": "/tmp", **os.environ}
    if options.gpu != "hardware":
        for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):  # a card's driver named there would be taken for the software GPU
            environment.pop(name, None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        start = str(HERE / "chromium" / "start")
        browser = subprocess.Popen(
            [start, f"--browser-subprocess-path={start}", *QUIET, *GPU[options.gpu], f"--user-data-dir={profile}",
             "--remote-debugging-port=0", url],
            stdout=subprocess.DEVNULL, stderr=sys.stderr, env=environment)
        try:
            finished = Handler.results_ready.wait(options.minutes * 60)
        finally:
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
    if not finished:
        sys.exit(f"browse: {options.page} gave no result within {options.minutes} minutes")
    result = json.loads(results[0])
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    else:
        json.dump(result, sys.stdout, indent=1)
    if isinstance(result, dict) and result.get("failed"):
        sys.exit(f"browse: {options.page} failed: {result['failed']}")


if __name__ == "__main__":
    main()
