"""devices, and training on a device other than the processor."""
import json

from harness import DATA, expect, tabgrad, test

SMALL = ["--csv", DATA / "seattle-weather.csv", "--target", "temp_max", "--window", "6", "--horizon", "3", "--units", "8", "--epochs", "2"]


def listed(folder):
    code, text, errors = tabgrad("devices", "--json", folder / "d.json")
    expect(code == 0, code, errors)
    return json.loads((folder / "d.json").read_text())["devices"], text


@test
def devices_are_listed(folder):
    devices, text = listed(folder)
    expect(devices[0]["device"] == "cpu" and devices[0]["threads"] >= 1, devices)
    expect(text.startswith("cpu ") and devices[0]["name"] in text and "webgpu " in text, text)
    for gpu in devices[1:]:
        expect(gpu["device"] == "webgpu" and gpu["max_binding_bytes"] >= 128 << 20 and gpu["workgroup_size"] >= 256, gpu)
        for words in (gpu["name"], gpu["backend"], gpu["library"], "limits: ", "features: ", "--device webgpu"):
            expect(words in text, words, "is not in", text)
        expect(gpu["software"] == ("no GPU" in text), text)


@test
def devices_a_library_that_is_none(folder):
    for command in (["devices"], ["train", "forecast", "--device", "webgpu", *SMALL]):
        for library, why in (("/nowhere/libdawn.so", "Tried:"), ("libm.so.6", "neither Dawn nor wgpu-native")):
            code, _, errors = tabgrad(*command, "--webgpu", library)
            expect(code == 2 and library in errors and why in errors, code, errors)
            code, _, errors = tabgrad(*command, env={"TABGRAD_WEBGPU": library})
            expect(command == ["devices"] or (code == 2 and library in errors), code, errors)


@test
def devices_store_f16_or_say_why_not(folder):
    for words, why in ((["--precision", "f16"], "--device webgpu"), (["--precision", "f8"], "f32 or f16")):
        code, _, errors = tabgrad("train", "forecast", *SMALL, *words)
        expect(code == 2 and why in errors, code, errors)
    devices, _ = listed(folder)
    if len(devices) == 1:
        return
    command = ["train", "lm", "--text", DATA / "moby-dick.txt", "--preset", "tiny", "--steps", "2", "--device", "webgpu", "--precision", "f16"]
    code, text, errors = tabgrad(*command, "--json", folder / "r.json")
    expect(code == 0, code, errors)
    stored = json.loads((folder / "r.json").read_text())["precision"]
    expect(stored == "f16" or "stored as f32, not f16: " in text, stored, text)


@test
def devices_help_names_them(folder):
    code, text, _ = tabgrad("train", "forecast", "--help")
    expect(code == 0 and "cpu|webgpu" in text and "dawn|wgpu|PATH" in text, text)
    code, text, _ = tabgrad("--version")
    expect(code == 0 and text.startswith("tabgrad "), text)
    code, text, _ = tabgrad("--help-flags")
    expect(code == 0 and all(name in text for name in ("TABGRAD_THREADS", "TABGRAD_WEBGPU", "TABGRAD_CACHE")), text)


@test
def devices_a_gpu_trains_and_keeps_its_shaders(folder):
    devices, text = listed(folder)
    if len(devices) == 1:
        print("no WebGPU here, so it is not tested:", text)
        return
    cache = folder / "cache"

    def losses(device):
        code, _, errors = tabgrad("train", "forecast", *SMALL, "--device", device, "--json", folder / "r.json",
                                  env={"TABGRAD_CACHE": str(cache)})
        expect(code == 0, code, errors)
        result = json.loads((folder / "r.json").read_text())
        expect(result["device"].startswith(device), result["device"])
        return result["loss"]

    want, first = losses("cpu"), losses("webgpu")
    expect(all(abs(a - b) <= 1e-4 * b for a, b in zip(first, want, strict=True)), first, want)
    kept = [path for path in cache.rglob("*") if path.is_file()]
    expect(len(kept) > 0 or "wgpu-native" in devices[1]["library"], "nothing is kept in", cache)
    expect(losses("webgpu") == first)
    for path in kept:
        path.write_bytes(path.read_bytes()[:-7] + b"damaged")
    expect(losses("webgpu") == first, "damaged files changed something")
