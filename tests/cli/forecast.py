"""train forecast and forecast: good runs, interruptions, and many kinds of bad input."""
import hashlib
import json
import math
import re
import resource
import shutil
import signal
import subprocess
import time

from harness import DATA, PROGRAM, ROOT, expect, tabgrad, test

FAST = ["--units", "4", "--window", "14", "--horizon", "2", "--batch", "32", "--epochs", "2", "--season", "7"]


def write_csv(path, body, header="t,y"):
    path.write_text("\n".join([header, *(",".join(r) if isinstance(r, tuple) else r for r in body)]) + "\n")
    return path


def counted(count=200):
    """A season of 7 and some more; numbered rows, so that no calendar is involved."""
    return [(str(t), f"{100 + 10 * math.sin(2 * math.pi * t / 7) + t % 3:.3f}") for t in range(count)]


def small(folder, count=200):
    return write_csv(folder / "small.csv", counted(count))


def train(csv, *more, **kw):
    return tabgrad("train", "forecast", "--csv", csv, "--target", "y", *FAST, *more, **kw)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def clean(folder):
    """No temporary file may be left."""
    left = {p.name for p in folder.iterdir()} - {"model.json", "weights.safetensors", "checkpoint.safetensors", "report.html", "result.json"}
    expect(not left, "left behind:", left)


@test
def a_run_writes_model_report_and_json(folder):
    out = folder / "model"
    code, text, errors = train(small(folder), "--out", out, "--json", folder / "r.json")
    expect(code == 0, code, errors)
    for word in ("RMSE", "last value", "seasonal naive", "linear AR", "report.html"):
        expect(word in text, word, "is not in", text)
    result = json.loads((folder / "r.json").read_text())
    expect(result["device"].startswith("cpu"), result["device"])
    expect(result["ms_per_step"] > 0 and len(result["loss"]) == 2)
    expect(set(result["metrics"]) == {"rmse", "mae", "smape", "mase"})
    expect(list(result["baselines"]) == ["last_value", "seasonal_naive", "linear_ar"])
    expect(set(result["baselines"]["linear_ar"]) == {"rmse", "mae", "smape", "mase"})
    expect("<script" not in (out / "report.html").read_text())
    clean(out)
    code, text, errors = tabgrad("forecast", "--model", out, "--csv", folder / "small.csv", "--out", folder / "f.csv", "--json", folder / "f.json")
    expect(code == 0, errors)
    lines = (folder / "f.csv").read_text().splitlines()
    expect(lines[0] == "row,p10,y,p90" and len(lines) == 3 and lines[1].startswith("200,"), lines)
    forecast = json.loads((folder / "f.json").read_text())["forecast"]
    for ours, theirs in zip(forecast, result["forecast"]):
        expect(abs(ours["value"] - theirs["value"]) < 1e-3, ours, theirs)


@test
def json_on_stdout_is_only_json(folder):
    code, text, errors = train(small(folder), "--json", "-")
    expect(code == 0, errors)
    expect(json.loads(text)["metrics"]["rmse"] > 0)
    expect("RMSE" in errors)


@test
def every_model_loss_optimizer_and_schedule_trains(folder):
    csv = small(folder)
    for more in (["--model", "gru"], ["--model", "gru", "--gru-reset", "before"], ["--model", "transformer", "--heads", "2"],
                 ["--layers", "2"], ["--loss", "mae"], ["--loss", "huber"], ["--loss", "quantile"], ["--optimizer", "sgd"],
                 ["--optimizer", "adam"], ["--schedule", "step"], ["--schedule", "constant", "--warmup", "0"],
                 ["--normalise", "standard"], ["--normalise", "minmax", "--predict", "value"], ["--normalise", "none"],
                 ["--season", "auto"], ["--season", "none"], ["--split", "0.8,0,0.2"], ["--clip", "0"], ["--missing", "drop"],
                 ["--horizon", "1"], ["--batch", "100000"]):
        code, text, errors = train(csv, *more)
        expect(code == 0, more, code, errors)


@test
def a_backtest_reports_every_fold(folder):
    code, text, errors = train(small(folder), "--backtest", "3", "--json", folder / "r.json", "--out", folder / "m")
    expect(code == 0, errors)
    expect("Fold 3 of 3" in text, text)
    expect(len(json.loads((folder / "r.json").read_text())["folds"]) == 3)


@test
def calendar_and_features_are_used(folder):
    code, text, errors = tabgrad("train", "forecast", "--csv", DATA / "seattle-weather.csv", "--target", "temp_max", "--features",
                                 "wind,temp_min", "--calendar", "--units", "4", "--epochs", "1", "--horizon", "1", "--out", folder / "m")
    expect(code == 0, errors)
    code, text, errors = tabgrad("forecast", "--model", folder / "m", "--csv", DATA / "seattle-weather.csv")
    expect(code == 0 and "2016-01-01" in text, text, errors)
    text = (DATA / "seattle-weather.csv").read_text().replace("wind", "breeze")
    (folder / "other.csv").write_text(text)
    code, text, errors = tabgrad("forecast", "--model", folder / "m", "--csv", folder / "other.csv")
    expect(code == 2 and "wind" in errors, code, errors)


@test
def the_same_seed_gives_the_same_bits_on_any_number_of_threads(folder):
    csv = small(folder)
    for name, threads in (("a", 1), ("b", 1), ("c", 2)):
        code, _, errors = train(csv, "--out", folder / name, "--seed", "5", "--threads", threads)
        expect(code == 0, errors)
    expect(digest(folder / "a/weights.safetensors") == digest(folder / "b/weights.safetensors"), "two runs differ")
    expect(digest(folder / "a/weights.safetensors") == digest(folder / "c/weights.safetensors"), "two threads differ")


# Some seconds of training, so that a signal meets it at work; checkpoints come every two seconds.
LONG = ["--epochs", "150", "--patience", "0", "--units", "32", "--window", "96", "--horizon", "4", "--threads", "1"]


def interrupt(csv, out, how, after):
    process = subprocess.Popen([PROGRAM, "train", "forecast", "--csv", str(csv), "--target", "y", *FAST, *LONG, "--out", str(out)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (out / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(after)
    running = process.poll() is None
    process.send_signal(how)
    text, errors = process.communicate(timeout=60)
    return running, process.returncode, text, errors


@test
def interrupted_runs_resume_with_the_same_bits(folder):
    csv = small(folder, 1200)
    code, _, errors = train(csv, *LONG, "--out", folder / "whole", "--json", folder / "whole.json")
    expect(code == 0, errors)
    for name, how in (("killed", signal.SIGKILL), ("stopped", signal.SIGINT)):
        out = folder / name
        running, code, text, errors = interrupt(csv, out, how, 0.3)
        expect(running, "the run was over too soon to be interrupted")
        if how == signal.SIGINT:
            expect(code == 0 and "--resume" in text, code, text, errors)
            clean(out)
        code, text, errors = train(csv, *LONG, "--out", out, "--resume", "--json", folder / "r.json")
        expect(code == 0 and "Resumed" in text, code, text, errors)
        expect(digest(out / "weights.safetensors") == digest(folder / "whole/weights.safetensors"), name, "weights differ")
        a, b = (json.loads((folder / f).read_text()) for f in ("r.json", "whole.json"))
        expect(a["loss"] == b["loss"] and a["val_loss"] == b["val_loss"] and a["metrics"] == b["metrics"], name, "losses differ")


@test
def resuming_with_other_settings_or_data_is_refused(folder):
    csv, out = small(folder), folder / "m"
    expect(train(csv, "--out", out)[0] == 0)
    code, _, errors = train(csv, "--out", out, "--resume", "--units", "9")
    expect(code == 2 and "--units" in errors, errors)
    code, _, errors = train(csv, "--out", out, "--resume", "--seed", "99")
    expect(code == 2 and "--seed" in errors, errors)
    code, _, errors = train(small(folder, 201), "--out", out, "--resume")
    expect(code == 2 and "has changed" in errors, errors)
    code, _, errors = train(csv, "--resume")
    expect(code == 2 and "--out" in errors, errors)
    code, text, _ = train(small(folder), "--out", folder / "new", "--resume")
    expect(code == 0 and "no checkpoint" in text, text)


@test
def a_time_limit_keeps_the_best_weights(folder):
    code, text, errors = train(small(folder), "--epochs", "100000", "--patience", "0", "--max-minutes", "0.02", "--out", folder / "m")
    expect(code == 0 and "time limit" in text, code, text, errors)
    expect((folder / "m/model.json").exists())


@test
def a_diverging_run_says_where_and_exits_1(folder):
    code, text, errors = train(small(folder), "--optimizer", "sgd", "--momentum", "0", "--lr", "1e6", "--clip", "0", "--schedule", "constant",
                               "--warmup", "0", "--epochs", "300", "--patience", "0", "--out", folder / "m")
    expect(code == 1 and re.search(r"diverged: .* at step \d+", text), code, text, errors)
    code, text, errors = tabgrad("forecast", "--model", folder / "m", "--csv", folder / "small.csv")
    expect(code == 0, "its last good weights do not forecast:", errors)


@test
def bad_options_name_themselves(folder):
    csv = small(folder)
    for args, words in (
            (["--model", "rnn"], ["rnn", "lstm"]), (["--window", "0"], ["--window", "0"]), (["--window", "x"], ["--window", "x"]),
            (["--horizon", "-1"], ["--horizon"]), (["--target", "z"], ["'z'", "y", "small.csv"]), (["--time", "when"], ["when"]),
            (["--features", "a,b"], ["'a'"]), (["--split", "0.5,0.5"], ["--split"]), (["--split", "0.9,0.3,0.1"], ["--split"]),
            (["--split", "nan,0,1"], ["--split"]), (["--season", "20"], ["--season", "window"]), (["--season", "often"], ["--season", "often"]),
            (["--lr", "0"], ["--lr"]), (["--lr", "nan"], ["--lr"]), (["--lr", "-1"], ["--lr"]), (["--warmup", "2"], ["--warmup"]),
            (["--dropout", "1"], ["--dropout"]), (["--clip", "-1"], ["--clip"]), (["--batch", "0"], ["--batch"]),
            (["--epochs", "0"], ["--epochs"]), (["--epochs", "1e99"], ["--epochs"]), (["--patience", "-1"], ["--patience"]),
            (["--units", "0"], ["--units"]), (["--layers", "0"], ["--layers"]), (["--model", "transformer", "--heads", "3"], ["--heads"]),
            (["--loss", "l2"], ["l2", "mse"]), (["--optimizer", "nadam"], ["nadam", "adamw"]), (["--schedule", "wavy"], ["wavy", "cosine"]),
            (["--gru-reset", "never"], ["--gru-reset"]), (["--missing", "zero"], ["zero"]), (["--normalise", "layer"], ["layer"]),
            (["--predict", "sign"], ["sign"]), (["--calendar"], ["alendar", "dates"]), (["--device", "tpu"], ["tpu", "cpu"]),
            (["--backtest", "0"], ["--backtest"]), (["--max-minutes", "-1"], ["--max-minutes"]), (["--seed", "x"], ["--seed"]),
            (["--colour", "red"], ["--colour"]), (["--window", "190"], ["190", "window"])):
        code, text, errors = train(csv, *args, "--out", folder / "m")
        expect(code == 2, args, "gave exit code", code, text, errors)
        for word in words:
            expect(word in errors, args, word, "is not in:", errors)
        expect(not (folder / "m").exists() or not list((folder / "m").iterdir()), args, "left files")
    code, _, errors = tabgrad("train", "forecast", "--csv", DATA / "seattle-weather.csv", "--target", "temp_max", "--calendar", "moon")
    expect(code == 2 and "moon" in errors, errors)
    code, _, errors = tabgrad("train", "forecast", "--csv", DATA / "seattle-weather.csv")
    expect(code == 2 and "temp_max" in errors and "target" in errors, errors)
    code, _, errors = tabgrad("train", "forecast")
    expect(code == 2 and "--csv" in errors, errors)
    code, _, errors = tabgrad("train")
    expect(code == 2, errors)
    code, _, errors = tabgrad("forecast", "--csv", csv)
    expect(code == 2 and "--model" in errors, errors)


@test
def bad_files_name_file_row_and_column(folder):
    good = counted(200)
    hole = good[:50] + [("50", "x12")] + good[51:]
    for name, text, words in (
            ("empty.csv", "", ["empty.csv"]), ("header.csv", "t,y\n", ["header.csv"]),
            ("text.csv", None, ["text.csv", "52", "x12"]), ("inf.csv", None, ["inf.csv", "52"]),
            ("ragged.csv", "t,y\n1,2\n3\n4,5,6\n", ["ragged.csv"]), ("quote.csv", 't,y\n1,"2\n3,4\n', ["quote.csv"]),
            ("short.csv", None, ["short.csv", "window"]), ("gap.csv", None, ["gap.csv"]),
            ("binary.csv", "\x00\x01\x02\x03" * 100, ["binary.csv"])):
        path = folder / name
        if text is not None:
            path.write_text(text)
        elif name == "text.csv":
            write_csv(path, hole)
        elif name == "inf.csv":
            write_csv(path, good[:50] + [("50", "inf")] + good[51:])
        elif name == "short.csv":
            write_csv(path, good[:20])
        elif name == "gap.csv":
            write_csv(path, good[:50] + [(str(t), "") for t in range(50, 90)] + good[90:])
        code, out, errors = train(path, "--out", folder / "m")
        expect(code == 2, name, "gave exit code", code, out, errors)
        for word in words:
            expect(word in errors, name, word, "is not in:", errors)
        expect(not (folder / "m" / "model.json").exists())
    for path in (folder / "none.csv", folder):
        code, _, errors = train(path)
        expect(code == 2 and str(path) in errors, code, errors)
    code, _, errors = train(write_csv(folder / "flat.csv", [(t, "5") for t, _ in good]), "--horizon", "1")
    expect(code == 0, "a constant series must not fail:", errors)


@test
def places_that_cannot_be_written_are_named(folder):
    csv = small(folder)
    for out in ("/dev/null/model", "/proc/model"):
        code, _, errors = train(csv, "--out", out)
        expect(code == 2 and out in errors, out, code, errors)
    code, _, errors = train(csv, "--json", "/dev/null/r.json")
    expect(code == 2 and "/dev/null/r.json" in errors, code, errors)


@test
def a_full_disk_leaves_the_previous_model(folder):
    csv, out = small(folder), folder / "m"
    expect(train(csv, "--out", out)[0] == 0)
    before = {name: digest(out / name) for name in ("model.json", "weights.safetensors", "report.html")}

    def full():  # a file may have 4 KiB at most: enough for model.json, too little for weights
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    code, text, errors = train(csv, "--out", out, "--units", "32", limits=full)
    expect(code in (1, 2) and "weights" in errors, code, errors)
    expect("no checkpoint could be saved" in text, text)
    for name, old in before.items():
        expect(digest(out / name) == old, name, "changed")
    clean(out)
    code, _, errors = tabgrad("forecast", "--model", out, "--csv", csv)
    expect(code == 0, errors)


@test
def too_little_memory_is_a_message(folder):
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))

    code, _, errors = train(small(folder), "--units", "4096", "--layers", "4", limits=little)
    expect(code in (1, 2) and "memory" in errors, code, errors)


@test
def damaged_model_folders_are_refused(folder):
    csv, out = small(folder), folder / "m"
    expect(train(csv, "--out", out)[0] == 0)
    for name in ("model.json", "weights.safetensors"):
        whole = (out / name).read_bytes()
        for damage in (b"", whole[:10], whole[: len(whole) // 2], b"\xff" * len(whole), whole.replace(b"\"window\": 14", b"\"window\": 1e9") + b" "):
            (out / name).write_bytes(damage)
            code, _, errors = tabgrad("forecast", "--model", out, "--csv", csv)
            expect(code == 2 and name in errors, name, code, errors)
        (out / name).write_bytes(whole)
    checkpoint = out / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    code, _, errors = train(csv, "--out", out, "--resume")
    expect(code == 2 and "checkpoint.safetensors" in errors, code, errors)
    shutil.rmtree(out)
    code, _, errors = tabgrad("forecast", "--model", out, "--csv", csv)
    expect(code == 2 and str(out) in errors, code, errors)


@test
def export_writes_a_program_and_its_data(folder):
    csv, out = small(folder), folder / "model"
    code, _, errors = train(csv, "--out", out)
    expect(code == 0, errors)
    for start in ("new", "model"):
        page = folder / start
        code, text, errors = tabgrad("export", "--model", out, "--csv", csv, "--to", "program", "--start", start, "--out", page)
        expect(code == 0 and "windows to train on" in text, code, text, errors)
        expect((page / "program.tgp").read_bytes()[4:8] == b"TGP1", "not a Program")
        data = (page / "training.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        plan = json.loads(header.pop("__metadata__")["training"])
        expect(plan["epochs"] == 2 and plan["batch"] == 32 and plan["schedule"]["kind"] == "cosine", plan)
        expect(header["training/x"]["shape"][1] == 14 and header["training/target"]["shape"][1:] == [2], header.keys())
    weights = [(folder / start / "training.safetensors").read_bytes() for start in ("new", "model")]
    expect(weights[0] != weights[1], "the trained weights are the new ones")
    for wrong, word in ((["--to", "program", "--csv", folder / "none.csv"], "none.csv"), (["--to", "onnx", "--csv", csv], "onnx")):
        code, _, errors = tabgrad("export", "--model", out, *wrong, "--out", folder / "no")
        expect(code == 2 and word in errors, code, errors)
        expect(not (folder / "no").exists(), "left something behind")
