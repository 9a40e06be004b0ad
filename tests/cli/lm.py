"""train lm and generate: good runs, interruptions, and bad input."""
import json
import math
import signal
import subprocess

from harness import DATA, PROGRAM, expect, tabgrad, test

MOBY = DATA / "moby-dick.txt"
SMALL = ["--preset", "tiny", "--layers", "1", "--width", "24", "--context", "16", "--batch", "4"]


def train(text, *more, **kw):
    return tabgrad("train", "lm", "--text", text, *SMALL, *more, **kw)


def part(folder, count=30000):
    path = folder / "part.txt"
    path.write_bytes(MOBY.read_bytes()[:count])
    return path


@test
def lm_a_run_writes_a_model_that_generates(folder):
    out = folder / "model"
    code, text, errors = train(part(folder), "--steps", "40", "--eval-every", "20", "--out", out, "--json", folder / "r.json",
                               "--sample-every", "20")
    expect(code == 0, code, errors)
    for word in ("passes over", "validation", "bits a byte", "tokens/s", "what it writes after step 20"):
        expect(word in text, word, "is not in", text)
    result = json.loads((folder / "r.json").read_text())
    expect(len(result["train_loss"]) == 40 and result["val_step"] == [0, 20, 40], result["val_step"])
    expect(abs(result["val_loss"][0] - math.log(256)) < 0.2 and result["val_loss"][-1] < result["val_loss"][0])
    expect(result["tokens_per_s"] > 0 and result["params"] > 0 and result["init_hash"].startswith("0x"))
    expect({p.name for p in out.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json", "checkpoint.safetensors"})
    texts = []
    for _ in range(2):
        code, text, errors = tabgrad("generate", "--model", out, "--prompt", "Call me", "--max-tokens", "50", "--seed", "5",
                                     "--json", folder / "g.json")
        expect(code == 0, errors)
        texts.append(text)
    expect(texts[0] == texts[1] and texts[0].startswith("Call me"), texts)
    generated = json.loads((folder / "g.json").read_text())
    expect(len(generated["tokens"]) == 50 and generated["ended"] == "all tokens are written", generated)
    code, text, errors = tabgrad("generate", "--model", out, "--prompt", "Call me", "--max-tokens", "400", "--seed", "5",
                                 "--stop", "e", "--json", folder / "g.json")
    generated = json.loads((folder / "g.json").read_text())
    expect(code == 0 and generated["ended"] == "stop string" and "e" not in generated["text"], generated)


@test
def lm_every_option_trains(folder):
    text = part(folder, 8000)
    for more in (["--tokenizer", "bpe:300"], ["--positions", "rope", "--heads", "2", "--kv-heads", "1"], ["--positions", "alibi"],
                 ["--positions", "sinusoidal", "--norm", "rms_norm", "--mlp", "swiglu", "--mlp-width", "40", "--tied", "false"],
                 ["--mlp", "relu2", "--qk-norm", "true"], ["--dropout", "0.1", "--label-smoothing", "0.1"],
                 ["--optimizer", "sgd", "--schedule", "step"], ["--optimizer", "adam", "--warmup", "0", "--schedule", "linear", "--lr-floor", "0.1"], ["--validation", "0"]):
        code, output, errors = train(text, "--steps", "3", *more, "--out", folder / "m")
        expect(code == 0, more, code, errors)
        code, output, errors = tabgrad("generate", "--model", folder / "m", "--max-tokens", "30")
        expect(code == 0, more, code, errors)


@test
def lm_several_texts_and_going_on_from_a_model(folder):
    text, out = part(folder), folder / "m"
    code, output, errors = train(text, "--tokenizer", "bpe:400", "--steps", "30", "--out", out)
    expect(code == 0, errors)
    code, output, errors = tabgrad("train", "lm", "--text", text, "--text", text, "--from", out, "--preset", "tiny", "--batch", "4",
                                   "--steps", "5", "--json", folder / "r.json")
    expect(code == 0, errors)
    expect(json.loads((folder / "r.json").read_text())["train_loss"][0] < 5.5, "started anew")
    code, output, errors = tabgrad("train", "lm", "--text", text, "--from", out, "--width", "48")
    expect(code == 2 and "sizes" in errors, code, errors)


def interrupt(text, out, how):
    """Signals a run once it says that it is well under way."""
    process = subprocess.Popen([PROGRAM, "train", "lm", "--text", str(text), *SMALL, "--steps", "3000", "--eval-every", "500",
                                "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shown = ""
    for line in process.stdout:
        shown += line
        if line.startswith("step 500/"):
            break
    process.send_signal(how)
    output, errors = process.communicate(timeout=60)
    return process.returncode, shown + output, errors


@test
def lm_interrupted_runs_resume_with_the_same_losses(folder):
    text = part(folder)
    code, output, errors = train(text, "--steps", "3000", "--eval-every", "500", "--json", folder / "whole.json")
    expect(code == 0, errors)
    whole = json.loads((folder / "whole.json").read_text())
    for name, how in (("killed", signal.SIGKILL), ("stopped", signal.SIGINT)):
        out = folder / name
        code, output, errors = interrupt(text, out, how)
        if how == signal.SIGINT:
            expect(code == 0 and "--resume" in output, code, output, errors)
        code, output, errors = tabgrad("train", "lm", "--text", text, "--out", out, "--resume", "--json", folder / "r.json")
        expect(code == 0 and "Resumed" in output, code, output, errors)
        resumed = json.loads((folder / "r.json").read_text())
        for key in ("train_loss", "val_loss", "grad_norm"):
            expect(resumed[key] == whole[key], name, key, "differs")


@test
def lm_bad_input_is_named(folder):
    text = part(folder)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "short.txt").write_bytes(b"short")
    for more, words in (([], None), (["--preset", "gigantic"], "gigantic"), (["--tokenizer", "bpe:12"], "bpe:12"),
                        (["--tokenizer", folder / "none.json"], "none.json"), (["--heads", "5"], "--heads 5"),
                        (["--positions", "spiral"], "spiral"), (["--steps", "0"], "--steps"), (["--lr", "-1"], "--lr"),
                        (["--validation", "0.9"], "--validation"), (["--resume"], "--out"), (["--dropout", "1"], "--dropout"),
                        (["--context", "100000"], "--context"), (["--from", folder / "nowhere"], "nowhere")):
        if words:
            code, _, errors = train(text, *more)
            expect(code == 2 and words in errors, more, code, errors)
    for name, words in (("empty.txt", "empty"), ("short.txt", "too short"), ("missing.txt", "missing.txt")):
        code, _, errors = train(folder / name)
        expect(code == 2 and words in errors, name, code, errors)
    out = folder / "m"
    code, _, errors = train(text, "--steps", "2", "--out", out)
    expect(code == 0, errors)
    for more, words in ((["--temperature", "-1"], "temperature"), (["--top-p", "0"], "top-p"), (["--prompt", ""], "prompt"),
                        (["--max-tokens", "0"], "max-tokens")):
        code, _, errors = tabgrad("generate", "--model", out, *more)
        expect(code == 2 and words in errors, more, code, errors)
    code, _, errors = tabgrad("train", "lm", "--text", text, "--out", out, "--resume", "--width", "48")
    expect(code == 2 and "--width" in errors, code, errors)
    code, _, errors = tabgrad("train", "lm", "--text", MOBY, "--out", out, "--resume")
    expect(code == 2 and "text has changed" in errors, code, errors)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        whole = (out / name).read_bytes()
        for damage in (b"", whole[: len(whole) // 2], b"\xff" * 100):
            (out / name).write_bytes(damage)
            code, _, errors = tabgrad("generate", "--model", out)
            expect(code == 2 and name in errors, name, code, errors)
        (out / name).write_bytes(whole)
