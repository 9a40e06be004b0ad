#!/usr/bin/env python3
"""PyTorch on the CPU at its best: the peer of `bench kernels`, `bench lstm` and `bench step`.

What it does:      times matrix products, LSTM train steps and language-model train steps under every combination of
                   threads, OpenMP wait policy and installed OpenBLAS flavour, each in a process of its own (those are read
                   when a process starts), eager and compiled, and marks the fastest of each row's name.
What it does not:  compare with tabgrad, or trust a busy machine: it reports the load average beside the figures.

Usage: pytorch_cpu.py [--bench gemm,lstm,step] [--threads 1,2] [--presets small,…] [--seconds 8] [--no-compile] [--json FILE]

Rows: {bench, name, peer, threads, wait, blas, compiled, ms_median, p10, p90, n, gflops, best}; times in milliseconds.
Names: gemm "FORM/MxNxK", C (M,N) with inner dimension K; form nn is A·B, nt A·Bᵀ, tn Aᵀ·B (forward, dX and dW of a layer).
lstm "units/T/features/batch". step "PRESET".
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

PRESETS = {  # layers, width, heads, context, batch
    "tiny": (2, 48, 3, 32, 16), "small": (3, 96, 3, 64, 16), "medium": (4, 128, 4, 96, 16),
    "large": (6, 192, 6, 128, 12), "xl": (8, 256, 8, 128, 8)}
LSTMS = ((32, 24, 1, 32), (128, 48, 8, 64))
SQUARES = (512, 1024, 2048)
VOCABULARY = 256
BLAS_FOLDERS = "/usr/lib/*-linux-*/openblas-{}"


def measure(step, seconds, warm_up=5, least=10, most=200):
    """Milliseconds of each call of `step` after the warm-up, for about `seconds`."""
    for _ in range(warm_up):
        step()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    tenths = statistics.quantiles(times, n=10)
    return {"ms_median": statistics.median(times), "p10": tenths[0], "p90": tenths[-1], "n": len(times)}


# ---- what is timed (in a child process) -----------------------------------------------------------------------------


def gemm_shapes(presets):
    """(M, N, K) of each distinct product in the presets' forward passes, after the squares."""
    shapes = [(n, n, n) for n in SQUARES]
    for preset in presets:
        _, d, _, context, batch = PRESETS[preset]
        rows = context * batch
        shapes += [(rows, 3 * d, d), (rows, d, d), (rows, 4 * d, d), (rows, d, 4 * d), (rows, VOCABULARY, d)]
    return list(dict.fromkeys(shapes))


def bench_gemm(args):
    import torch
    for m, n, k in gemm_shapes(args.presets):
        # The three products of one layer y = x·W with x (M,K), W (K,N): y, dx = dy·Wᵀ, dW = xᵀ·dy.
        x, w, dy = torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)
        y, dx, dw = torch.empty(m, n), torch.empty(m, k), torch.empty(k, n)
        forms = {f"nn/{m}x{n}x{k}": lambda: torch.mm(x, w, out=y), f"nt/{m}x{k}x{n}": lambda: torch.mm(dy, w.t(), out=dx),
                 f"tn/{k}x{n}x{m}": lambda: torch.mm(x.t(), dy, out=dw)}
        for name, product in forms.items():
            row = measure(product, min(args.seconds, 1.0))
            yield {"name": name, **row, "gflops": 2e-6 * m * n * k / row["ms_median"]}


def train_step(parameters, loss_of, weight_decay, betas):
    """One step as a user of PyTorch writes it at its best: fused AdamW, clipping, gradients set to none."""
    import torch
    parameters = list(parameters)
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=betas, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    return step


def bench_lstm(args):
    import torch
    from torch import nn

    class Forecaster(nn.Module):
        def __init__(self, features, units):
            super().__init__()
            self.lstm, self.head = nn.LSTM(features, units, batch_first=True), nn.Linear(units, 1)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    for units, t, features, batch in LSTMS:
        model = Forecaster(features, units)
        x, y = torch.randn(batch, t, features), torch.randn(batch, 1)
        step = train_step(model.parameters(), lambda: nn.functional.mse_loss(model(x), y), 0.01, (0.9, 0.999))
        yield {"name": f"{units}/{t}/{features}/{batch}", **measure(step, args.seconds, warm_up=20)}


def make_gpt(layers, d, heads, context):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.fc, self.out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4).unbind(0)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
            x = x + self.proj(a)
            return x + self.out(F.gelu(self.fc(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, d), nn.Parameter(torch.zeros(context, d))
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(layers)), nn.LayerNorm(d)
            for name, p in self.named_parameters():
                if p.dim() >= 2:
                    residual = name.endswith(("proj.weight", "out.weight"))
                    nn.init.normal_(p, std=0.02 / (2 * layers) ** 0.5 if residual else 0.02)
                elif name.endswith("bias"):
                    nn.init.zeros_(p)

        def forward(self, ids, targets):
            x = self.tokens(ids) + self.positions
            for block in self.blocks:
                x = block(x)
            logits = F.linear(self.norm(x), self.tokens.weight)
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Gpt()


def bench_step(args):
    import torch
    for preset in args.presets:
        layers, d, heads, context, batch = PRESETS[preset]
        torch.manual_seed(0)
        model = make_gpt(layers, d, heads, context)
        batches = itertools.cycle(torch.randint(VOCABULARY, (16, batch, context + 1)))
        run = torch.compile(model) if args.compiled else model

        def loss_of():
            ids = next(batches)
            return run(ids[:, :-1], ids[:, 1:])

        step = train_step(model.parameters(), loss_of, 0.1, (0.9, 0.95))
        parameters = sum(p.numel() for p in model.parameters())
        yield {"name": preset, "parameters": parameters, **measure(step, args.seconds)}


BENCHES = {"gemm": bench_gemm, "lstm": bench_lstm, "step": bench_step}


def child(args):
    import torch
    torch.set_num_threads(args.threads[0])
    torch.manual_seed(0)
    for row in BENCHES[args.child](args):
        print(json.dumps({"bench": args.child, "compiled": args.compiled, **row}), flush=True)
    return 0


# ---- the combinations (in the parent) -------------------------------------------------------------------------------


def blas_flavours():
    """{name: library folder}; the system's own choice when no flavour has a folder of its own."""
    found = {}
    for flavour in ("openmp", "pthread"):
        for folder in pathlib.Path("/").glob(BLAS_FOLDERS.format(flavour)[1:]):
            if any(folder.glob("libblas.so*")):
                found[f"openblas-{flavour}"] = str(folder)
    return found or {"default": ""}


def combinations(args):
    for threads, (blas, folder) in itertools.product(args.threads, blas_flavours().items()):
        for wait in ("passive",) if threads == 1 else ("passive", "active"):  # one thread waits for nobody
            yield threads, wait, blas, folder


def run_child(args, bench, threads, wait, blas, folder, compiled):
    """Its rows, and the end of its error output if it failed."""
    command = [sys.executable, __file__, "--child", bench, "--threads", str(threads), "--seconds", str(args.seconds),
               "--presets", ",".join(args.presets)] + (["--compiled"] if compiled else [])
    env = os.environ | {"OMP_WAIT_POLICY": wait, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    if folder:
        env["LD_LIBRARY_PATH"] = folder
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=3600)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        row |= {"peer": "pytorch-cpu", "threads": threads, "wait": wait, "blas": blas}
    return rows, "" if done.returncode == 0 else done.stderr.strip()[-400:] or f"exit {done.returncode}"


def mark_best(rows):
    best = {}
    for row in rows:
        key = row["bench"], row["name"]
        if key not in best or row["ms_median"] < best[key]["ms_median"]:
            best[key] = row
    for row in rows:
        row["best"] = row is best[row["bench"], row["name"]]


def cpu_name():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def main():
    words = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(description="PyTorch CPU at its best threads, wait policy and BLAS.")
    parser.add_argument("--bench", type=words, default=list(BENCHES))
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, os.cpu_count() or 1])
    parser.add_argument("--presets", type=words, default=["small", "medium", "large", "xl"])
    parser.add_argument("--seconds", type=float, default=8.0, help="of timing for each row")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--child", choices=list(BENCHES), help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := [b for b in args.bench if b not in BENCHES] + [p for p in args.presets if p not in PRESETS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    args.threads = sorted(set(args.threads))
    if args.child:
        return child(args)

    import torch
    load = os.getloadavg()[0]
    print(f"PyTorch {torch.__version__}, {cpu_name()}, {os.cpu_count()} cores, load {load:.1f} at the start", file=sys.stderr)
    rows, notes = [], []
    for bench in args.bench:
        for combination in combinations(args):
            for compiled in (False,) if bench != "step" or args.no_compile else (False, True):
                more, problem = run_child(args, bench, *combination, compiled)
                label = " ".join([bench, *map(str, combination[:3]), "compiled" if compiled else "eager"])
                print(f"{label}: {len(more)} rows {problem}", file=sys.stderr)
                rows += more
                if problem:
                    notes.append(f"{label}: {problem}")
    mark_best(rows)
    for row in rows:
        if row["best"]:
            rate = f"{row['gflops']:8.1f} GFLOP/s" if "gflops" in row else ""
            print(f"{row['bench']:5} {row['name']:18} {row['ms_median']:9.3f} ms  [{row['p10']:.3f}, {row['p90']:.3f}] n {row['n']:3}  "
                  f"{row['threads']} threads {row['wait']:7} {row['blas']} {'compiled' if row['compiled'] else 'eager'} {rate}")
    if args.json:
        about = {"peer": f"pytorch-cpu {torch.__version__}", "host": cpu_name(), "cores": os.cpu_count(), "load_at_start": load,
                 "load_at_end": os.getloadavg()[0], "notes": notes}
        args.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
