#!/usr/bin/env python3
"""Writes src/data/tokenizer/unicode_classes.inc: which characters are letters, numbers and white space.

What it does:      takes Unicode 16 from Python's unicodedata (general categories L and N, property White_Space) and writes
                   one number per change of class: code point * 4 + class (0 other, 1 letter, 2 number, 3 space).
                   --check compares every code point with the regular expressions of Hugging Face's tokenizers instead.
What it does not:  take another version of Unicode, whose letters would give other tokens.

Usage: tools/toolchain/run --list peers python3 tools/tokenizer/make_unicode_classes.py [--check]
"""
import pathlib
import sys
import unicodedata

VERSION = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
SURROGATES = range(0xD800, 0xE000)
# Python counts the separators U+001C to U+001F as space; the property White_Space does not.
NO_SPACE = range(0x1C, 0x20)


def char_class(code):
    category = unicodedata.category(chr(code))
    if category[0] in "LN":
        return LETTER if category[0] == "L" else NUMBER
    return SPACE if chr(code).isspace() and code not in NO_SPACE else OTHER


def check():
    import tokenizers

    words = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    for code in range(0x110000):
        if code in SURROGATES:
            continue
        joins = [kind for kind, letter in ((LETTER, "a"), (NUMBER, "1"), (OTHER, "!")) if len(words(letter + chr(code))) == 1]
        if (joins or [SPACE]) != [char_class(code)]:
            sys.exit(f"U+{code:04X} is of class {char_class(code)} here and {joins} in tokenizers {tokenizers.__version__}")
    print(f"every character is as in tokenizers {tokenizers.__version__}")


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}, not {VERSION}")
    if sys.argv[1:] == ["--check"]:
        return check()
    changes, last = [], None
    for code in range(0x110000):
        kind = char_class(code)
        if kind != last:
            changes.append(f"{code * 4 + kind},")
            last = kind
    lines = [f"// Unicode {VERSION}, written by tools/tokenizer/make_unicode_classes.py.", ""]
    for change in changes:
        lines[-1] += (" " if lines[-1] else "") + change
        if len(lines[-1]) > 115:
            lines.append("")
    out = pathlib.Path(__file__).resolve().parents[2] / "src/data/tokenizer/unicode_classes.inc"
    out.write_text("\n".join(lines).rstrip() + "\n")


main()
