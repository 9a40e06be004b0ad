"""Tests of `tabgrad bench`: what results hold, that software adapters are named, and comparing. Times are not judged."""
import json

from harness import expect, tabgrad, test

QUICK = ("--seconds", "0.1", "--steps", "5")


def result(path, *args, code=0):
    got, out, err = tabgrad("bench", *args, "--json", path, timeout=300)
    expect(got == code, args, "ended with", got, err, out)
    return json.loads(path.read_text()), out


def software_gpu():
    """Whether WebGPU here is a program on the CPU: then it can be measured with --allow-software."""
    code, out, _ = tabgrad("devices", "--json", "-")
    gpus = [d for d in json.loads(out)["devices"] if d["device"] == "webgpu"] if code == 0 else []
    return bool(gpus) and gpus[0]["software"]


@test
def curve_has_a_row_for_each_preset_and_a_fitted_cost_model(folder):
    curve, out = result(folder / "curve.json", "curve", "--targets", "cpu", "--presets", "tiny,small,medium", "--no-parity", *QUICK)
    expect(curve["schema"] == "tabgrad-curve/2", curve["schema"])
    expect([row["preset"] for row in curve["rows"]] == ["tiny", "small", "medium"])
    for row in curve["rows"]:
        expect(row["ms"]["n"] == len(row["samples_ms"]) >= 5, row["ms"])
        expect(row["ms"]["p10"] <= row["ms"]["median"] <= row["ms"]["p90"], row["ms"])
        flops = sum(count * each for count, each, _ in row["launches"])
        expect(abs(flops - row["flops"]) < 1e-6 * flops, "the launches' FLOPs are not the step's")
        expect(0 < row["of_peak"] < 1.5, row["of_peak"])
    cost = curve["targets"][0]["cost"]
    expect(cost["gflops"] > 0 and len(cost["rows"]) == 3, cost)
    expect("cost model of cpu" in out, out)


@test
def curve_holds_targets_to_the_oracle_and_to_each_other(folder):
    args = ["curve", "--presets", "tiny", *QUICK]
    if software_gpu():
        args += ["--targets", "cpu,webgpu", "--allow-software"]
    curve, out = result(folder / "curve.json", *args)
    base = curve["rows"][0]
    expect(base["parity"]["gradient_reference"] == "oracle", base["parity"])
    expect(0 < base["parity"]["gradient_error"] <= 1e-5, base["parity"])
    expect(len(base["losses"]) == 200 and base["losses"][-1] < base["losses"][0], "200 steps do not learn")
    if not software_gpu():
        return
    other = curve["rows"][1]
    expect(curve["gpu"] == "software" and "NO GPU" in out, out)
    expect(other["parity"]["loss_steps"] == 200 and 0 < other["parity"]["loss_largest"] <= 1e-4, other["parity"])
    expect(not other["parity_failed"], other["parity"])
    expect(other["parameters_hash"] == base["parameters_hash"] and other["batches_hash"] == base["batches_hash"])
    expect(other["speedup"]["low"] <= other["speedup"]["ratio"] <= other["speedup"]["high"], other["speedup"])


@test
def software_adapters_are_refused(_):
    if not software_gpu():
        return
    for bench in ("curve", "lstm"):
        code, _, err = tabgrad("bench", bench, "--targets", "webgpu")
        expect(code == 2 and "software adapter" in err, err)
    code, _, err = tabgrad("bench", "dispatch")
    expect(code == 2 and "--allow-software" in err, err)


@test
def dispatch_counts_every_launch(folder):
    if not software_gpu():
        return
    got, out = result(folder / "d.json", "dispatch", "--allow-software", "--repeats", "20", "--rounds", "5", "--seconds", "0.02")
    expect([row["method"] for row in got["rows"]][:3] == ["single-op", "sequential", "one command buffer"], got["rows"])
    expect(set(got["rows"][0]["stages_us"]) >= {"encoder", "submit", "wait"}, got["rows"][0])
    expect(got["replay"]["launches"] > 100 and got["replay"]["us_median"] > 0, got["replay"])
    launches = {(r["entry"], r["variant"]): r["launches"] for r in got["ablation"]["rows"]}
    for entry in ("train_step", "decode"):
        expect(launches[entry, "everything"] < launches[entry, "merging alone"] < launches[entry, "nothing"], launches)
    expect("NO GPU" in out, out)


@test
def kernels_and_lstm_have_rows(folder):
    kernels, _ = result(folder / "k.json", "kernels", "--threads", "1", "--only", "lstm forward 32")
    expect(len(kernels["rows"]) == 1 and kernels["rows"][0]["gflops"] > 0, kernels)
    rows = ("kernels", "--targets", "webgpu", "--only", "softmax 1536x192")
    if software_gpu():
        code, _, err = tabgrad("bench", *rows)
        expect(code != 0 and "software adapter" in err, err)
        kernels, out = result(folder / "g.json", *rows, "--allow-software")
        expect(kernels["gpu"] == "software" and "NO GPU" in out and kernels["rows"][0]["gbytes_per_s"] > 0, (kernels, out))
    lstm, _ = result(folder / "l.json", "lstm", "--targets", "cpu", "--seconds", "0.2")
    expect([row["name"] for row in lstm["rows"]] == ["32/24/1/32", "128/48/8/64"], lstm)


@test
def compare_says_ratio_and_what_differs(folder):
    row = {"preset": "tiny", "target": "cpu", "ms": {"median": 4.0}, "samples_ms": [3.9, 4.0, 4.1], "flops": 1e9, "parameters_hash": "0x1"}
    first = {"schema": "tabgrad-curve/2", "cpu": "a", "step": "s", "targets": [], "rows": [row]}
    faster = {**row, "ms": {"median": 2.0}, "samples_ms": [1.9, 2.0, 2.1], "parameters_hash": "0x2"}
    second = {**first, "cpu": "b", "rows": [faster]}
    (folder / "a.json").write_text(json.dumps(first))
    (folder / "b.json").write_text(json.dumps(second))
    code, out, err = tabgrad("bench", "compare", folder / "a.json", folder / "b.json", "--json", folder / "c.json")
    expect(code == 0, err)
    got = json.loads((folder / "c.json").read_text())
    expect(got["rows"][0]["ratio"] == 2 and got["rows"][0]["low"] <= 2 <= got["rows"][0]["high"], got)
    expect("other cpu" in out and "other parameters_hash" in out and "other step" not in out, out)
    for text, says in (("{}", "no result"), ("[1", "no result"), (json.dumps({**first, "schema": "other"}), "cannot be compared"),
                       (json.dumps({**first, "rows": [7]}), "no rows in common"),
                       (json.dumps({**first, "rows": [{**row, "ms": {"median": "4"}}]}), "damaged")):
        (folder / "b.json").write_text(text)
        code, _, err = tabgrad("bench", "compare", folder / "a.json", folder / "b.json")
        expect(code == 2 and says in err, text, err)
