#!/usr/bin/env python3
"""PyTorch at its best on the CPU and, where it has CUDA, on a GPU: the peer of `tabgrad bench kernels|lstm|curve`.

What it does:      times matrix products, LSTM train steps and language-model train steps in f32, and marks the fastest of
                   each device's rows of one name. On the CPU: every combination of threads, OpenMP wait policy and installed
                   OpenBLAS flavour, each in a process of its own (those are read when a process starts), eager and compiled.
                   With CUDA (TF32 off): eager, compiled, and the compiled step captured in one CUDA graph; there losses
                   stay on the device for 20 steps, then are waited for together, so that nothing waits needlessly.
What it does not:  compare with tabgrad, or trust a busy machine: it reports the load average beside the figures.

Usage: pytorch.py [--device cpu,cuda] [--bench gemm,lstm,step] [--threads 1,2] [--presets small,…] [--seconds 8] [--no-compile]
                  [--json FILE]

Rows: {bench, name, peer, form, threads, wait, blas, ms_median, p10, p90, n, gflops, best}; times in milliseconds of a step.
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
SQUARES = {"cpu": (512, 1024, 2048), "cuda": (1024, 2048, 4096)}
BURST = {"cpu": 1, "cuda": 20}  # steps between two waits
VOCABULARY = 256
BLAS_FOLDERS = "/usr/lib/*-linux-*/openblas-{}"


def measure(args, step, seconds, warm_up=5, least=10, most=200):
    """Milliseconds of a call of `step` after the warm-up, for about `seconds`; with CUDA the mean of each burst."""
    import torch
    wait = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    burst = BURST[args.device]
    for _ in range(warm_up * burst):
        step()
    wait()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(burst):
            step()
        wait()
        times.append((time.perf_counter() - start) * 1e3 / burst)
    tenths = statistics.quantiles(times, n=10)
    return {"ms_median": statistics.median(times), "p10": tenths[0], "p90": tenths[-1], "n": len(times)}


# ---- what is timed (in a child process) -----------------------------------------------------------------------------


def gemm_shapes(args):
    """(M, N, K) of each distinct product in the presets' forward passes, after the squares."""
    shapes = [(n, n, n) for n in SQUARES[args.device]]
    for preset in args.presets:
        _, d, _, context, batch = PRESETS[preset]
        rows = context * batch
        shapes += [(rows, 3 * d, d), (rows, d, d), (rows, 4 * d, d), (rows, d, 4 * d), (rows, VOCABULARY, d)]
    return list(dict.fromkeys(shapes))


def bench_gemm(args):
    import torch
    for m, n, k in gemm_shapes(args):
        # The three products of one layer y = x·W with x (M,K), W (K,N): y, dx = dy·Wᵀ, dW = xᵀ·dy.
        x, w, dy = (torch.randn(*dims, device=args.device) for dims in ((m, k), (k, n), (m, n)))
        y, dx, dw = (torch.empty(*dims, device=args.device) for dims in ((m, n), (m, k), (k, n)))
        forms = {f"nn/{m}x{n}x{k}": lambda: torch.mm(x, w, out=y), f"nt/{m}x{k}x{n}": lambda: torch.mm(dy, w.t(), out=dx),
                 f"tn/{k}x{n}x{m}": lambda: torch.mm(x.t(), dy, out=dw)}
        for name, product in forms.items():
            row = measure(args, product, min(args.seconds, 1.0))
            yield {"name": name, **row, "gflops": 2e-6 * m * n * k / row["ms_median"]}


def train_step(args, parameters, loss_of, batches, weight_decay, betas):
    """One step as a user of PyTorch writes it at its best: fused AdamW, clipping, gradients set to none."""
    import torch
    parameters = list(parameters)
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    graph = args.form == "graph"
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=betas, fused=True, capturable=graph)
    if args.device == "cuda":
        batches = [tuple(part.pin_memory() for part in batch) for batch in batches]
    batches = itertools.cycle(batches)
    at = tuple(part.to(args.device) for part in next(batches))  # where a batch is for every step

    def update():
        loss = loss_of(*at)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.detach()

    run = captured(update) if graph else update

    def step():
        for to, part in zip(at, next(batches)):
            to.copy_(part, non_blocking=True)
        loss = run()
        return loss.item() if args.device == "cpu" else loss

    return step


def captured(update):
    """`update` as one CUDA graph, after the calls in a side stream that a capture asks for."""
    import torch
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            update()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = update()

    def replay():
        graph.replay()
        return loss

    return replay


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
        model = Forecaster(features, units).to(args.device)
        batches = [(torch.randn(batch, t, features), torch.randn(batch, 1)) for _ in range(8)]
        loss_of = lambda x, y: nn.functional.mse_loss(model(x), y)  # noqa: E731
        step = train_step(args, model.parameters(), loss_of, batches, 0.01, (0.9, 0.999))
        yield {"name": f"{units}/{t}/{features}/{batch}", **measure(args, step, args.seconds, warm_up=20)}


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
        model = make_gpt(layers, d, heads, context).to(args.device)
        batches = [(ids[:, :-1].contiguous(), ids[:, 1:].contiguous()) for ids in torch.randint(VOCABULARY, (16, batch, context + 1))]
        run = model if args.form == "eager" else torch.compile(model)
        step = train_step(args, model.parameters(), run, batches, 0.1, (0.9, 0.95))
        parameters = sum(p.numel() for p in model.parameters())
        yield {"name": preset, "parameters": parameters, **measure(args, step, args.seconds)}


BENCHES = {"gemm": bench_gemm, "lstm": bench_lstm, "step": bench_step}


def child(args):
    import torch
    torch.set_num_threads(args.threads[0])
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    for row in BENCHES[args.child](args):
        print(json.dumps({"bench": args.child, "form": args.form, **row}), flush=True)
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


def combinations(args, bench):
    """(device, form, threads, wait, blas, folder)"""
    compiled = ["compiled"] if bench == "step" and not args.no_compile else []
    for device in args.device:
        if device == "cuda":
            for form in ["eager", *compiled, *(["graph"] if bench != "gemm" else [])]:
                yield device, form, 1, "passive", "cublas", ""
            continue
        for threads, (blas, folder) in itertools.product(args.threads, blas_flavours().items()):
            for wait in ("passive",) if threads == 1 else ("passive", "active"):  # one thread waits for nobody
                for form in ["eager", *compiled]:
                    yield device, form, threads, wait, blas, folder


def run_child(args, bench, device, form, threads, wait, blas, folder):
    """Its rows, and the end of its error output if it failed."""
    command = [sys.executable, __file__, "--child", bench, "--device", device, "--form", form, "--threads", str(threads),
               "--seconds", str(args.seconds), "--presets", ",".join(args.presets)]
    env = os.environ | {"OMP_WAIT_POLICY": wait, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    if folder:
        env["LD_LIBRARY_PATH"] = folder
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=3600)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        row |= {"peer": f"pytorch-{device}", "threads": threads, "wait": wait, "blas": blas}
    return rows, "" if done.returncode == 0 else done.stderr.strip()[-400:] or f"exit {done.returncode}"


def key_of(row):
    return row["peer"], row["bench"], row["name"]


def mark_best(rows):
    best = {}
    for row in rows:
        key = key_of(row)
        if key not in best or row["ms_median"] < best[key]["ms_median"]:
            best[key] = row
    for row in rows:
        row["best"] = row is best[key_of(row)]


def cpu_name():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def main():
    words = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(description="PyTorch at its best, on the CPU and with CUDA.")
    parser.add_argument("--device", type=words, default=None, help="cpu, cuda (default: those that are there)")
    parser.add_argument("--bench", type=words, default=list(BENCHES))
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, os.cpu_count() or 1])
    parser.add_argument("--presets", type=words, default=["small", "medium", "large", "xl"])
    parser.add_argument("--seconds", type=float, default=8.0, help="of timing for each row")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--child", choices=list(BENCHES), help=argparse.SUPPRESS)
    parser.add_argument("--form", default="eager", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := [b for b in args.bench if b not in BENCHES] + [p for p in args.presets if p not in PRESETS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    args.threads = sorted(set(args.threads))
    if args.child:
        args.device = args.device[0]
        return child(args)

    import torch
    args.device = args.device or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    if unknown := set(args.device) - set(BURST):
        parser.error(f"unknown: {', '.join(unknown)}")
    load = os.getloadavg()[0]
    print(f"PyTorch {torch.__version__}, {cpu_name()}, {os.cpu_count()} cores, load {load:.1f} at the start", file=sys.stderr)
    rows, notes = [], []
    for bench in args.bench:
        for combination in combinations(args, bench):
            more, problem = run_child(args, bench, *combination)
            label = " ".join([bench, *map(str, combination[:5])])
            print(f"{label}: {len(more)} rows {problem}", file=sys.stderr)
            rows += more
            if problem:
                notes.append(f"{label}: {problem}")
    mark_best(rows)
    for row in rows:
        if row["best"]:
            rate = f"{row['gflops']:8.1f} GFLOP/s" if "gflops" in row else ""
            cpu = f" {row['threads']} threads {row['wait']} {row['blas']}" if row["peer"] == "pytorch-cpu" else ""
            print(f"{row['peer']:12} {row['bench']:5} {row['name']:18} {row['ms_median']:9.3f} ms  [{row['p10']:.3f}, {row['p90']:.3f}] "
                  f"n {row['n']:3}  {row['form']}{cpu} {rate}")
    if args.json:
        gpu = torch.cuda.get_device_name() if "cuda" in args.device else ""
        about = {"peer": f"pytorch {torch.__version__}", "host": cpu_name(), "gpu": gpu, "cuda": torch.version.cuda or "", "cores": os.cpu_count(), "load_at_start": load,
                 "load_at_end": os.getloadavg()[0], "notes": notes}
        args.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
