"""train lm and generate: good runs, interruptions, and bad input."""
import json
import math
import random
import re
import signal
import subprocess
import time

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
    for more in (["--temperature", "0"], ["--top-k", "5"], ["--top-p", "0.5"]):
        code, text, errors = tabgrad("generate", "--model", out, "--prompt", "Call me", "--max-tokens", "30", "--sample-on-device", *more)
        expect(code == 0 and text.startswith("Call me"), more, errors)
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
def lm_killed_at_random_steps_it_resumes_from_the_last_checkpoint(folder):
    text, steps = part(folder), 3000
    settings = ["--steps", str(steps), "--eval-every", "100", "--dropout", "0.1"]
    code, output, errors = train(text, *settings, "--json", folder / "whole.json")
    expect(code == 0, errors)
    whole = json.loads((folder / "whole.json").read_text())
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for kill in range(3):
        out, at = folder / f"killed{kill}", chance.randrange(200, steps - 800, 100)
        process = subprocess.Popen([PROGRAM, "train", "lm", "--text", str(text), *SMALL, *settings, "--out", str(out),
                                    "--checkpoint-seconds", "0.02"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if line.startswith(f"step {at}/"):
                break
        time.sleep(chance.random() * 0.05)
        process.kill()
        process.communicate(timeout=60)
        expect(process.returncode == -signal.SIGKILL, "seed", seed, "it ended by itself:", process.returncode)
        code, output, errors = tabgrad("train", "lm", "--text", text, "--out", out, "--resume", "--json", folder / "r.json")
        resumed = re.search(r"Resumed at step (\d+) of", output)
        expect(code == 0 and resumed and 0 < int(resumed[1]) < steps, "seed", seed, code, output, errors)
        result = json.loads((folder / "r.json").read_text())
        for key in ("train_loss", "val_loss", "grad_norm"):
            expect(result[key] == whole[key], "seed", seed, "killed after step", at, "resumed at", resumed[1], key, "differs")


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
def lm_recurrent_models_train_and_generate(folder):
    text = part(folder)
    for kind in ("lstm", "gru"):
        out = folder / kind
        code, output, errors = tabgrad("train", "lm", "--text", text, "--model", kind, "--preset", "tiny", "--units", "24", "--layers", "2",
                                       "--context", "16", "--batch", "4", "--steps", "60", "--out", out, "--json", folder / "r.json")
        expect(code == 0 and f"Model: {kind}, 2 layers of 24 units" in output, kind, code, output, errors)
        result = json.loads((folder / "r.json").read_text())
        expect(result["model"] == kind and result["val_loss"][-1] < result["val_loss"][0] - 1, result["val_loss"])
        expect(json.loads((out / "config.json").read_text())["model_type"] == f"tabgrad-{kind}")
        # Longer than the context, and the same again.
        texts = [tabgrad("generate", "--model", out, "--prompt", "Call me Ishmael. Some years ago", "--max-tokens", "60") for _ in range(2)]
        expect(texts[0][0] == 0 and texts[0][1] == texts[1][1] and len(texts[0][1]) > 60, texts)
        code, output, errors = tabgrad("train", "lm", "--text", text, "--from", out, "--preset", "tiny", "--batch", "4", "--steps", "2",
                                       "--json", folder / "r.json")
        expect(code == 0 and json.loads((folder / "r.json").read_text())["train_loss"][0] < 4.5, kind, "started anew", errors)
        code, output, errors = tabgrad("train", "lm", "--text", text, "--out", out, "--resume", "--model", "gpt")
        expect(code == 2 and "--model" in errors, code, errors)
    code, output, errors = tabgrad("train", "lm", "--text", text, "--from", out, "--model", "lstm")
    expect(code == 2 and "--model" in errors and "gru" in errors, code, errors)


@test
def lm_recomputing_activations_changes_nothing_but_the_cost(folder):
    text, results = part(folder), []
    for more in ([], ["--recompute", "true"]):
        code, output, errors = train(text, "--layers", "3", "--dropout", "0.1", "--steps", "20", "--json", folder / "r.json", *more)
        expect(code == 0, errors)
        results.append(json.loads((folder / "r.json").read_text()))
    for key in ("train_loss", "val_loss", "grad_norm"):
        expect(results[0][key] == results[1][key], key, "differs")
    for target in ("cpu", "webgpu", "webgl"):
        for kind in ("gpt", "lstm"):
            plans = []
            for more in ([], ["--recompute"]):
                code, output, errors = tabgrad("plan", "--preset", "medium", "--model", kind, "--target", target, "--json", "-", *more)
                expect(code == 0, errors)
                plans.append(json.loads(output))
            expect(plans[1]["peak_bytes"] < plans[0]["peak_bytes"] and plans[1]["flops"] > plans[0]["flops"], target, kind, plans)


@test
def lm_tokens_are_made_once(folder):
    text, out = part(folder), folder / "m"
    kept, told = out / "tokens.safetensors", "The tokens are taken from"
    runs = [train(text, "--tokenizer", "bpe:400", "--steps", "20", "--out", out, "--json", folder / f"{i}.json") for i in range(2)]
    expect(all(code == 0 for code, _, _ in runs), runs)
    expect(told not in runs[0][1] and told in runs[1][1] and kept.exists(), runs)
    whole = kept.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], whole[:-4] + b"\x01\x02\x03\x04"):
        kept.write_bytes(damage)
        code, output, errors = train(text, "--tokenizer", "bpe:400", "--steps", "20", "--out", out, "--json", folder / "2.json")
        expect(code == 0 and told not in output and kept.read_bytes() == whole, output, errors)
    code, output, errors = tabgrad("train", "lm", "--text", text, "--out", out, "--resume", "--json", folder / "3.json")
    expect(code == 0 and told in output, output, errors)
    losses = [json.loads((folder / f"{i}.json").read_text())["train_loss"] for i in range(4)]
    expect(all(loss == losses[0] for loss in losses), losses)
    code, output, errors = train(part(folder, 20000), "--tokenizer", "bpe:400", "--steps", "1", "--out", out)
    expect(code == 0 and told not in output, "another text's tokens were taken")


@test
def lm_bad_input_is_named(folder):
    text = part(folder)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "short.txt").write_bytes(b"short")
    for more, words in (([], None), (["--preset", "gigantic"], "gigantic"), (["--tokenizer", "bpe:12"], "bpe:12"),
                        (["--tokenizer", folder / "none.json"], "none.json"), (["--heads", "5"], "--heads 5"),
                        (["--positions", "spiral"], "spiral"), (["--steps", "0"], "--steps"), (["--lr", "-1"], "--lr"),
                        (["--validation", "0.9"], "--validation"), (["--lr-floor", "2"], "--lr-floor"), (["--model", "mamba"], "mamba"), (["--resume"], "--out"), (["--dropout", "1"], "--dropout"),
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
                        (["--max-tokens", "0"], "max-tokens"),
                        (["--sample-on-device", "--repetition-penalty", "1.2"], "--repetition-penalty")):
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
