#!/usr/bin/env python3
"""Writes the goldens of tests/golden/: what PyTorch computes for the ops, optimizers and models that tabgrad has.

What it does:      draws every input from the counter-based generator below, computes forward values, gradients and
                   training curves with PyTorch in float64, and writes them as safetensors. Hand-written recurrences
                   (needed for the GRU whose reset gate comes before the product, and for cell states) are first
                   checked against torch.nn.LSTM and torch.nn.GRU.
What it does not:  compare with tabgrad (the tests in tests/golden/ do), or use PyTorch's own random numbers.

Usage: tools/make_golden.py [--out tests/golden] [--only NAME]     (needs python3-torch)

Conventions: every input is a float32 number, so an f32 engine starts from exactly the same values; outputs and
gradients are float64 unless a file says otherwise. Weights are (in, out): y = x·W + b. Sequences of recurrent nets are
time-major (T, B, F), the others (B, T, F). A case CASE has tensors `CASE/name`; the gradient of an input is
`CASE/grad.name`, for the loss Σ output·`CASE/upstream`, or for a loss op the mean over all elements.

Random numbers (src/tensor/philox.h is the same routine; tests compare the two bit for bit):
  words      Philox4x32-10, key = (seed & 0xffffffff, seed >> 32), counter = (i/4 low, i/4 high, stream, 0); element i of
             a stream is word i mod 4 of its block.
  uniform    (word >> 8)·2⁻²⁴ in [0, 1), exact in float32.
  normal     u = (word + 0.5)·2⁻³², then Acklam's rational approximation of the inverse normal distribution in float64
             with + - * / and sqrt only, rounded once to float32. With Horner's rule throughout, highest power first:
               u < 0.02425        q = sqrt(-2·ln u),  x = C(q) / D(q)
               u > 1 - 0.02425    the same of 1 - u, negated
               else               q = u - 0.5, r = q·q,  x = (A(r)·q) / B(r)
             ln u: u = m·2^e, m in [1, 2); if m > 1.4142135623730951 then m is halved and e grows by one;
             s = (m-1)/(m+1), z = s·s, p = Σ_{k=0..11} z^k/(2k+1) by Horner, ln u = e·0.6931471805599453 + (2s)·p.
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

SEED = 1

# ---- random numbers -------------------------------------------------------------------------------------------------

LOW32 = np.uint64(0xFFFFFFFF)
ACKLAM_A = [-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
            -3.066479806614716e+01, 2.506628277459239e+00]
ACKLAM_B = [-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
            -1.328068155288572e+01, 1.0]
ACKLAM_C = [-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00,
            4.374664141464968e+00, 2.938163982698783e+00]
ACKLAM_D = [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1.0]


def philox4x32(key, counter):
    """Ten rounds; counter is four uint64 arrays that hold 32-bit words."""
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k0, p1 & LOW32, (p0 >> np.uint64(32)) ^ c[3] ^ k1, p0 & LOW32]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & LOW32, (k1 + np.uint64(0xBB67AE85)) & LOW32
    return c


def words(seed, stream, count):
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    counter = (blocks & LOW32, blocks >> np.uint64(32), np.full_like(blocks, stream), np.zeros_like(blocks))
    out = np.stack(philox4x32((seed & 0xFFFFFFFF, seed >> 32), counter), axis=1)
    return out.reshape(-1)[:count].astype(np.uint32)


def horner(coefficients, x):
    p = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        p = p * x + c
    return p


def ln_fixed_order(x):
    bits = x.view(np.uint64)
    e = (bits >> np.uint64(52)).astype(np.int64) - 1023
    m = ((bits & np.uint64(0x000FFFFFFFFFFFFF)) | np.uint64(0x3FF0000000000000)).view(np.float64)
    high = m > 1.4142135623730951
    m, e = np.where(high, m * 0.5, m), np.where(high, e + 1, e)
    s = (m - 1.0) / (m + 1.0)
    p = horner([1.0 / k for k in range(23, 0, -2)], s * s)
    return e.astype(np.float64) * 0.6931471805599453 + (2.0 * s) * p


def normals_from(word):
    u = (word.astype(np.float64) + 0.5) * 2.0 ** -32
    low, high = u < 0.02425, u > 1.0 - 0.02425
    tail_u = np.where(low, u, np.where(high, 1.0 - u, 0.01))  # 0.01: a placeholder where the centre is used
    q = np.sqrt(-2.0 * ln_fixed_order(tail_u))
    tail = horner(ACKLAM_C, q) / horner(ACKLAM_D, q)
    q = u - 0.5
    centre = (horner(ACKLAM_A, q * q) * q) / horner(ACKLAM_B, q * q)
    return np.where(low, tail, np.where(high, -tail, centre)).astype(np.float32)


def normal(stream, *shape, seed=SEED):
    return normals_from(words(seed, stream, int(np.prod(shape)))).reshape(shape)


# ---- recording cases ------------------------------------------------------------------------------------------------


class Inputs:
    """Draws a case's inputs, each from a stream of its own, and keeps them in the order drawn."""

    def __init__(self, stream):
        self.stream, self.tensors = stream, {}

    def draw(self, name, *shape, scale=1.0):
        value = (np.float32(scale) * normal(self.stream, *shape)).astype(np.float32)
        self.stream += 1
        self.tensors[name] = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        return self.tensors[name]


class File:
    def __init__(self):
        self.tensors = {}

    def put(self, name, value):
        value = value.detach().numpy() if torch.is_tensor(value) else np.asarray(value)
        assert name not in self.tensors, name
        self.tensors[name] = np.ascontiguousarray(value)

    def case(self, name, inputs, outputs, loss=None, fixed=()):
        """Stores inputs (as float32), outputs and the gradients of all inputs but those in `fixed`.

        Without a loss, the first output gets an upstream gradient drawn from the inputs' next stream.
        """
        if loss is None:
            first = next(iter(outputs.values()))
            upstream = torch.tensor(normal(inputs.stream, *first.shape), dtype=torch.float64)
            self.put(f"{name}/upstream", upstream.numpy().astype(np.float32))
            loss = (first * upstream).sum()
        loss.backward()
        for key, tensor in inputs.tensors.items():
            self.put(f"{name}/{key}", tensor.detach().numpy().astype(np.float32))
            if key not in fixed:
                self.put(f"{name}/grad.{key}", tensor.grad)
        for key, tensor in outputs.items():
            self.put(f"{name}/{key}", tensor)

    def write(self, path, metadata=None):
        # Written here, not by the safetensors package: that one orders metadata at random, and a second run should give
        # the same bytes. Widest type first, so that every tensor is aligned.
        header, blobs, offset = {"__metadata__": metadata} if metadata else {}, [], 0
        for name, value in sorted(self.tensors.items(), key=lambda item: -item[1].itemsize):
            kind = {np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.int32): "I32"}[value.dtype]
            header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
            blobs.append(value.tobytes())
            offset += value.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
        print(f"{path}: {len(self.tensors)} tensors, {path.stat().st_size:,} bytes")


def check_close(name, ours, torchs):
    worst = max(float((a - b).detach().abs().max()) for a, b in zip(ours, torchs))
    assert worst < 1e-12, f"{name}: differs from PyTorch's module by {worst}"


# ---- generator ------------------------------------------------------------------------------------------------------


def philox_file(path):
    known = [((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
             ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
             ((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
              (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1))]
    for key, counter, expected in known:  # the vectors that Random123 publishes
        assert tuple(int(word) for word in philox4x32(key, counter)) == expected
    out = File()
    seed = 0x123456789ABCDEF0
    word = words(seed, 77, 1021)
    out.put("words", word.view(np.int32))  # bit patterns: the reader has no unsigned type
    out.put("uniform", (word >> 8).astype(np.float32) * np.float32(2.0 ** -24))
    out.put("normal", normals_from(word))
    # Ends, the middle, and both sides of each border between tail and centre.
    edges = np.array([0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1, 104152956, 104152957, 4190814338, 4190814339],
                     dtype=np.uint32)
    out.put("edges.words", edges.view(np.int32))
    out.put("edges.normal", normals_from(edges))
    out.write(path, {"seed": f"{seed:#x}", "stream": "77"})


# ---- recurrent nets -------------------------------------------------------------------------------------------------


def lstm(x, wx, wh, b, h, c):
    """PyTorch's gate order i, f, g, o along the columns. x (T,B,F) → h (T,B,H), c (T,B,H)."""
    hs, cs = [], []
    for x_t in x:
        i, f, g, o = (x_t @ wx + h @ wh + b).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        hs.append(h)
        cs.append(c)
    return torch.stack(hs), torch.stack(cs)


def gru(x, wx, wh, bx, bh, h, reset_after):
    """PyTorch's gate order r, z, n. reset_after is PyTorch's own GRU; without it r multiplies h before the product."""
    n = wh.shape[0]
    hs = []
    for x_t in x:
        a = x_t @ wx + bx
        r, z = torch.sigmoid(a[:, :2 * n] + h @ wh[:, :2 * n] + bh[:2 * n]).chunk(2, dim=1)
        if reset_after:
            candidate = torch.tanh(a[:, 2 * n:] + r * (h @ wh[:, 2 * n:] + bh[2 * n:]))
        else:
            candidate = torch.tanh(a[:, 2 * n:] + (r * h) @ wh[:, 2 * n:] + bh[2 * n:])
        h = (1 - z) * candidate + z * h
        hs.append(h)
    return torch.stack(hs)


def load_module(module, wx, wh, bx, bh):
    module = module.double()
    with torch.no_grad():
        for name, value in (("weight_ih_l0", wx.T), ("weight_hh_l0", wh.T), ("bias_ih_l0", bx), ("bias_hh_l0", bh)):
            getattr(module, name).copy_(value)
    return module


def recurrent_file(path):
    t, b, f, h = 7, 3, 5, 6
    out = File()
    for with_state in (False, True):
        name = "lstm_state" if with_state else "lstm"
        d = Inputs(100 if with_state else 110)
        x, wx, wh = d.draw("x", t, b, f), d.draw("wx", f, 4 * h, scale=0.4), d.draw("wh", h, 4 * h, scale=0.4)
        bias = d.draw("b", 4 * h, scale=0.3)
        h0 = d.draw("h0", b, h, scale=0.5) if with_state else torch.zeros(b, h, dtype=torch.float64)
        c0 = d.draw("c0", b, h) if with_state else torch.zeros(b, h, dtype=torch.float64)
        hs, cs = lstm(x, wx, wh, bias, h0, c0)
        module = load_module(torch.nn.LSTM(f, h), wx, wh, bias, torch.zeros_like(bias))
        want, (h_n, c_n) = module(x, (h0[None], c0[None]))
        check_close(name, [hs, hs[-1], cs[-1]], [want, h_n[0], c_n[0]])
        out.case(name, d, {"h": hs, "c": cs})
    for reset_after in (True, False):
        name = "gru_reset_after" if reset_after else "gru_reset_before"
        d = Inputs(120 if reset_after else 130)
        x, wx, wh = d.draw("x", t, b, f), d.draw("wx", f, 3 * h, scale=0.4), d.draw("wh", h, 3 * h, scale=0.4)
        bx, bh, h0 = d.draw("bx", 3 * h, scale=0.3), d.draw("bh", 3 * h, scale=0.3), d.draw("h0", b, h, scale=0.5)
        hs = gru(x, wx, wh, bx, bh, h0, reset_after)
        if reset_after:
            module = load_module(torch.nn.GRU(f, h), wx, wh, bx, bh)
            check_close(name, [hs], [module(x, h0[None])[0]])
        out.case(name, d, {"h": hs})
    out.write(path)


# ---- attention ------------------------------------------------------------------------------------------------------


def attention(qkv, heads, kv_heads, causal):
    """qkv (B,T,(H+2·KV)·D): query heads, key heads, value heads → (B,T,H·D)."""
    b, t, width = qkv.shape
    depth = width // (heads + 2 * kv_heads)
    split = [heads * depth, kv_heads * depth, kv_heads * depth]
    q, k, v = (part.view(b, t, -1, depth).transpose(1, 2) for part in qkv.split(split, dim=2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)
    return y.transpose(1, 2).reshape(b, t, heads * depth)


def attention_file(path):
    b, t = 3, 7
    out = File()
    for stream, name, heads, kv_heads, depth, causal in ((200, "causal", 2, 2, 3, True), (210, "full", 2, 2, 3, False),
                                                         (220, "grouped_causal", 4, 2, 3, True)):
        d = Inputs(stream)
        qkv = d.draw("qkv", b, t, (heads + 2 * kv_heads) * depth)
        out.case(name, d, {"y": attention(qkv, heads, kv_heads, causal)})
    # A whole multi-head layer with its projections, against torch.nn.MultiheadAttention.
    for stream, name, causal in ((230, "layer_causal", True), (240, "layer_full", False)):
        d = Inputs(stream)
        x, w, wb = d.draw("x", b, t, 6), d.draw("qkv.w", 6, 18, scale=0.5), d.draw("qkv.b", 18, scale=0.3)
        p, pb = d.draw("proj.w", 6, 6, scale=0.5), d.draw("proj.b", 6, scale=0.3)
        y = attention(x @ w + wb, 2, 2, causal) @ p + pb
        module = torch.nn.MultiheadAttention(6, 2, batch_first=True).double()
        with torch.no_grad():
            module.in_proj_weight.copy_(w.T)
            module.in_proj_bias.copy_(wb)
            module.out_proj.weight.copy_(p.T)
            module.out_proj.bias.copy_(pb)
        mask = torch.full((t, t), -torch.inf, dtype=torch.float64).triu(1) if causal else None
        check_close(name, [y], [module(x, x, x, attn_mask=mask, need_weights=False)[0]])
        out.case(name, d, {"y": y})
    out.write(path)


# ---- norms, activations, convolutions, losses -----------------------------------------------------------------------


def ops_file(path):
    b, t, f = 3, 7, 5
    out = File()
    d = Inputs(300)
    out.case("layer_norm", d, {"y": F.layer_norm(d.draw("x", b, t, f), (f,), d.draw("gamma", f),
                                                 d.draw("beta", f, scale=0.2), 1e-5)})
    d = Inputs(310)
    out.case("rms_norm", d, {"y": F.rms_norm(d.draw("x", b, t, f), (f,), d.draw("gamma", f), 1e-5)})
    for stream, name, op in ((320, "gelu", F.gelu), (325, "softmax", lambda x: F.softmax(x, dim=-1)),
                             (330, "silu", F.silu)):
        d = Inputs(stream)
        out.case(name, d, {"y": op(d.draw("x", b, t, f, scale=2.0))})
    for stream, name, before in ((340, "conv1d", 0), (350, "conv1d_causal", 2)):
        d = Inputs(stream)
        x, w, bias = d.draw("x", b, t, f), d.draw("w", 3, f, 4, scale=0.4), d.draw("b", 4)  # w (K, in, out)
        y = F.conv1d(F.pad(x.transpose(1, 2), (before, 0)), w.permute(2, 1, 0), bias).transpose(1, 2)
        out.case(name, d, {"y": y})
    losses = {"mse": lambda y, z: (y - z) ** 2, "mae": lambda y, z: (y - z).abs(),
              "huber": lambda y, z: F.huber_loss(y, z, reduction="none", delta=1.0)}
    for q in (0.1, 0.5, 0.9):
        losses[f"quantile_{q}"] = lambda y, z, q=q: torch.maximum(q * (z - y), (q - 1) * (z - y))
    for stream, (name, loss) in zip(range(400, 500, 10), losses.items()):
        d = Inputs(stream)
        each = loss(d.draw("y", b, t, scale=1.5), d.draw("target", b, t))
        out.case(name, d, {"each": each, "loss": each.mean().reshape(1)}, loss=each.mean())
    d = Inputs(500)
    rows, classes = 21, 11
    logits = d.draw("logits", rows, classes, scale=2.0)
    ids = (words(SEED, 510, rows) % classes).astype(np.int64)
    each = F.cross_entropy(logits, torch.tensor(ids), reduction="none")
    out.put("cross_entropy/ids", ids.astype(np.int32))
    out.case("cross_entropy", d, {"each": each, "loss": each.mean().reshape(1)}, loss=each.mean())
    out.write(path)


# ---- training curves ------------------------------------------------------------------------------------------------


def make_optimizer(kind, params, lr):
    """AdamW decays matrices only (two dimensions or more), as tabgrad does; the others do not decay."""
    if kind == "adamw":
        groups = [{"params": [p for p in params if p.dim() >= 2], "weight_decay": 0.1},
                  {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8)
    if kind == "adam":
        return torch.optim.Adam(params, lr=lr, betas=(0.9, 0.999), eps=1e-8)
    return torch.optim.SGD(params, lr=lr, momentum=0.9)


def train_curve(out, name, kind, lr, d, model, batches, steps=10):
    """Ten steps: loss, global norm before clipping (torch: factor min(1, 1/(norm + 1e-6))), weights at the end."""
    params = [p.detach().clone().requires_grad_(True) for p in d.tensors.values()]
    for key, tensor in d.tensors.items():
        out.put(f"{name}/init.{key}", tensor.detach().numpy().astype(np.float32))
    optimizer = make_optimizer(kind, params, lr)
    losses, norms = [], []
    for x, y in zip(*batches):
        optimizer.zero_grad()
        loss = ((model(dict(zip(d.tensors, params)), x) - y) ** 2).mean()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(params, 1.0)))
        optimizer.step()
        losses.append(float(loss.detach()))
    assert len(losses) == steps
    out.put(f"{name}/losses", np.array(losses))
    out.put(f"{name}/norms", np.array(norms))
    for key, p in zip(d.tensors, params):
        out.put(f"{name}/final.{key}", p)
    print(f"  {name}: loss {losses[0]:.6f} → {losses[-1]:.6f}, clipped {sum(n > 1 for n in norms)} of {steps} steps")


def curves_file(path):
    steps, t, b, f, h = 10, 7, 8, 5, 6
    out = File()
    # Inputs of all batches, and targets that depend on them so that the loss can fall.
    x = normal(600, steps, t, b, f)
    y = (np.float32(2) * np.tanh(x[:, -1, :, :1] - x[:, 0, :, 1:2])).astype(np.float32)
    out.put("batches/x", x)  # (step, T, B, F); the MLP sees the last time step
    out.put("batches/y", y)  # (step, B, 1)
    batches = (torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64))
    zeros = torch.zeros(b, h, dtype=torch.float64)

    def mlp(p, xs):
        return torch.tanh(xs[-1] @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]

    for stream, kind, lr in ((610, "adamw", 0.02), (620, "adam", 0.02), (630, "sgd", 0.05)):
        d = Inputs(stream)
        d.draw("w1", f, h, scale=0.5), d.draw("b1", h, scale=0.1), d.draw("w2", h, 1, scale=0.5), d.draw("b2", 1, scale=0.1)
        train_curve(out, f"mlp_{kind}", kind, lr, d, mlp, batches)
    d = Inputs(640)
    d.draw("wx", f, 4 * h, scale=0.4), d.draw("wh", h, 4 * h, scale=0.4), d.draw("b", 4 * h, scale=0.1)
    d.draw("head.w", h, 1, scale=0.5), d.draw("head.b", 1, scale=0.1)
    train_curve(out, "lstm_adamw", "adamw", 0.02, d, lambda p, xs: lstm(xs, p["wx"], p["wh"], p["b"], zeros, zeros)[0][-1]
                @ p["head.w"] + p["head.b"], batches)
    for stream, reset_after in ((650, True), (660, False)):
        d = Inputs(stream)
        d.draw("wx", f, 3 * h, scale=0.4), d.draw("wh", h, 3 * h, scale=0.4)
        d.draw("bx", 3 * h, scale=0.1), d.draw("bh", 3 * h, scale=0.1)
        d.draw("head.w", h, 1, scale=0.5), d.draw("head.b", 1, scale=0.1)
        name = "gru_after_adamw" if reset_after else "gru_before_adamw"
        train_curve(out, name, "adamw", 0.02, d, lambda p, xs, after=reset_after: gru(
            xs, p["wx"], p["wh"], p["bx"], p["bh"], zeros, after)[-1] @ p["head.w"] + p["head.b"], batches)
    out.write(path)


# ---- language models ------------------------------------------------------------------------------------------------

PRESETS = {"tiny": dict(layers=2, d=48, heads=3, context=32, batch=16),
           "small": dict(layers=3, d=96, heads=3, context=64, batch=16)}
VOCABULARY = 256


def gpt_parameters(layers, d, context, **_):
    """Initial weights as float32 numpy arrays, in the order of the parameter list; a parameter's stream is its index.

    Matrices and embeddings are float32(0.02)·normal, the two projections that end in the residual stream
    float32(0.02/√(2·layers))·normal, each product rounded to float32; gains are 1 and biases 0.
    """
    shapes = {"tok_emb.w": (VOCABULARY, d), "pos_emb.w": (context, d)}
    for i in range(layers):
        shapes |= {f"h{i}.ln1.g": (d,), f"h{i}.ln1.b": (d,), f"h{i}.attn.qkv.w": (d, 3 * d), f"h{i}.attn.qkv.b": (3 * d,),
                   f"h{i}.attn.proj.w": (d, d), f"h{i}.attn.proj.b": (d,), f"h{i}.ln2.g": (d,), f"h{i}.ln2.b": (d,),
                   f"h{i}.mlp.fc.w": (d, 4 * d), f"h{i}.mlp.fc.b": (4 * d,), f"h{i}.mlp.out.w": (4 * d, d),
                   f"h{i}.mlp.out.b": (d,)}
    shapes |= {"ln_f.g": (d,), "ln_f.b": (d,)}
    params = {}
    for stream, (name, shape) in enumerate(shapes.items()):
        if name.endswith(".w"):
            residual = name.endswith(("attn.proj.w", "mlp.out.w"))
            params[name] = np.float32(0.02 / np.sqrt(2.0 * layers) if residual else 0.02) * normal(stream, *shape)
        else:
            params[name] = np.full(shape, 1.0 if name.endswith(".g") else 0.0, dtype=np.float32)
    return params


def gpt_batch(step, context, batch, **_):
    """Token ids are words mod 256 of stream 1000 + step (steps count from 0), (B, T+1) row-major."""
    ids = (words(SEED, 1000 + step, batch * (context + 1)) % VOCABULARY).astype(np.int64).reshape(batch, context + 1)
    return torch.tensor(ids[:, :-1]), torch.tensor(ids[:, 1:])


def gpt_loss(p, ids, targets, layers, d, heads, **_):
    """Mean cross-entropy over all positions; pre-norm blocks, exact GELU, head tied to the token embedding."""
    x = p["tok_emb.w"][ids] + p["pos_emb.w"]
    for i in range(layers):
        q = {name: p[f"h{i}.{name}"] for name in ("ln1.g", "ln1.b", "attn.qkv.w", "attn.qkv.b", "attn.proj.w", "attn.proj.b",
                                                  "ln2.g", "ln2.b", "mlp.fc.w", "mlp.fc.b", "mlp.out.w", "mlp.out.b")}
        a = F.layer_norm(x, (d,), q["ln1.g"], q["ln1.b"], 1e-5) @ q["attn.qkv.w"] + q["attn.qkv.b"]
        x = x + attention(a, heads, heads, causal=True) @ q["attn.proj.w"] + q["attn.proj.b"]
        m = F.layer_norm(x, (d,), q["ln2.g"], q["ln2.b"], 1e-5) @ q["mlp.fc.w"] + q["mlp.fc.b"]
        x = x + F.gelu(m) @ q["mlp.out.w"] + q["mlp.out.b"]
    logits = F.layer_norm(x, (d,), p["ln_f.g"], p["ln_f.b"], 1e-5) @ p["tok_emb.w"].T
    return F.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))


def gpt_train(config, dtype, steps=10):
    """Ten steps of AdamW (constant lr 3e-4) with clipping; returns losses, norms, step 1's gradients, weights."""
    names = list(gpt_parameters(**config))
    params = [torch.tensor(v, dtype=dtype, requires_grad=True) for v in gpt_parameters(**config).values()]
    optimizer = make_optimizer("adamw", params, 3e-4)
    losses, norms, gradients = [], [], {}
    for step in range(steps):
        optimizer.zero_grad()
        loss = gpt_loss(dict(zip(names, params)), *gpt_batch(step, **config), **config)
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.detach().numpy().copy() for name, p in zip(names, params)}
        norms.append(float(torch.nn.utils.clip_grad_norm_(params, 1.0)))
        optimizer.step()
        losses.append(float(loss.detach()))
    return np.array(losses), np.array(norms), gradients, dict(zip(names, params))


def fnv1a64(data):
    """A hash that a test can compute in three lines: says whether weights agree before anything is compared."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{h:#018x}"


def gpt_file(path, preset):
    config = PRESETS[preset]
    losses, norms, gradients, final = gpt_train(config, torch.float64)
    losses_f32, _, gradients_f32, _ = gpt_train(config, torch.float32)
    total = np.sqrt(sum(float((g ** 2).sum()) for g in gradients.values()))
    drift = max(float(np.linalg.norm(gradients_f32[k] - g)) / max(float(np.linalg.norm(g)), 1e-6 * total)
                for k, g in gradients.items())
    print(f"  {preset}: loss {losses[0]:.6f} → {losses[-1]:.6f}; float32 PyTorch drifts {np.abs(losses_f32 / losses - 1).max():.1e} "
          f"in losses, {drift:.1e} in gradients")
    out = File()
    out.put("losses", losses)
    out.put("losses.pytorch_f32", losses_f32)
    out.put("norms", norms)
    for name, gradient in gradients.items():
        out.put(f"grad.{name}", gradient.astype(np.float32))
        out.put(f"final_sum.{name}", np.array([float(final[name].detach().abs().sum())]))
    init = gpt_parameters(**config)
    count = sum(v.size for v in init.values())
    weights = b"".join(v.tobytes() for v in init.values())
    tokens = b"".join(gpt_batch(s, **config)[i].numpy().astype(np.int32).tobytes() for s in range(10) for i in (0, 1))
    out.write(path, {"preset": preset, "seed": str(SEED), "parameters": str(count), "weights_fnv1a64": fnv1a64(weights),
                     "tokens_fnv1a64": fnv1a64(tokens), **{k: str(v) for k, v in config.items()}})


RECURRENT = dict(layers=2, d=24, context=20, batch=4)


def recurrent_lm_parameters(cell, layers, d, **_):
    """Initial weights, drawn as they come: layer i's gates are those of `lstm` and of `gru` with the reset after the product."""
    gates, draws = (4 if cell == "lstm" else 3) * d, Inputs(700 if cell == "lstm" else 730)
    draws.draw("tok_emb.w", VOCABULARY, d, scale=d ** -0.5)
    for i in range(layers):
        draws.draw(f"{cell}{i}.wx", d, gates, scale=0.2), draws.draw(f"{cell}{i}.wh", d, gates, scale=0.2)
        draws.draw(f"{cell}{i}.b", gates, scale=0.1)
        if cell == "gru":
            draws.draw(f"{cell}{i}.bh", gates, scale=0.1)
    return draws.tensors


def recurrent_lm_loss(p, ids, targets, cell, layers, d, batch, **_):
    """Mean cross-entropy; the embedding is read times √d and is the head too; every window starts from zero."""
    x, zeros = (p["tok_emb.w"][ids] * d ** 0.5).transpose(0, 1), torch.zeros(batch, d, dtype=torch.float64)
    for i in range(layers):
        q = {name: p.get(f"{cell}{i}.{name}") for name in ("wx", "wh", "b", "bh")}
        if cell == "lstm":
            x = lstm(x, q["wx"], q["wh"], q["b"], zeros, zeros)[0]
        else:
            x = gru(x, q["wx"], q["wh"], q["b"], q["bh"], zeros, True)
    logits = x.transpose(0, 1) @ p["tok_emb.w"].T
    return F.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))


def recurrent_lm_file(path, cell):
    init = {name: value.detach().clone() for name, value in recurrent_lm_parameters(cell, **RECURRENT).items()}
    params = {name: value.clone().requires_grad_(True) for name, value in init.items()}
    optimizer = make_optimizer("adamw", list(params.values()), 3e-3)
    losses, norms, out = [], [], File()
    for step in range(10):
        optimizer.zero_grad()
        loss = recurrent_lm_loss(params, *gpt_batch(step, **RECURRENT), cell, **RECURRENT)
        loss.backward()
        if step == 0:
            for name, value in params.items():
                out.put(f"grad.{name}", value.grad.numpy().astype(np.float32))
        norms.append(float(torch.nn.utils.clip_grad_norm_(list(params.values()), 1.0)))
        optimizer.step()
        losses.append(float(loss.detach()))
    for name, value in init.items():
        out.put(f"init.{name}", value.numpy().astype(np.float32))
        out.put(f"final_sum.{name}", np.array([float(params[name].detach().abs().sum())]))
    out.put("losses", np.array(losses))
    out.put("norms", np.array(norms))
    out.write(path, {k: str(v) for k, v in RECURRENT.items()})
    print(f"  {cell}: loss {losses[0]:.6f} → {losses[-1]:.6f}")


FILES = {"philox": philox_file, "recurrent": recurrent_file, "attention": attention_file, "ops": ops_file,
         "curves": curves_file, "gpt_tiny": lambda path: gpt_file(path, "tiny"),
         "gpt_small": lambda path: gpt_file(path, "small"),
         "lm_lstm": lambda path: recurrent_lm_file(path, "lstm"), "lm_gru": lambda path: recurrent_lm_file(path, "gru")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden")
    parser.add_argument("--only", choices=list(FILES), help="write one file")
    args = parser.parse_args()
    torch.set_num_threads(1)  # one summation order, so that a second run gives the same bytes
    args.out.mkdir(parents=True, exist_ok=True)
    for name, write in FILES.items():
        if args.only in (None, name):
            write(args.out / f"{name}.safetensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
