"""What the tests of the command line share: a list of tests, running the program, and the main loop."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/native/tabgrad").resolve())
DATA = ROOT / "examples/data"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def tabgrad(*args, limits=None, env=None, timeout=120):
    """(exit code, stdout, stderr). limits: called in the child before it starts."""
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=timeout, preexec_fn=limits,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def main():
    failed = 0
    for function in TESTS:
        with tempfile.TemporaryDirectory(prefix="tabgrad-cli-") as name:
            start = time.monotonic()
            try:
                function(pathlib.Path(name))
                result = "ok"
            except (AssertionError, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as e:
                failed += 1
                result = f"FAILED: {e}"
            print(f"{function.__name__} ({time.monotonic() - start:.1f} s): {result}", flush=True)
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    sys.exit(failed > 0)
