#!/usr/bin/env python3
"""Writes tests/golden/tokenizer_*.json: what Hugging Face's tokenizers make of varied text.

What it does:      trains byte-level BPE tokenizers on Moby Dick, on text of many scripts and on words of few letters, full of
                   repeats and ties; adds tokens to one; encodes varied and random text with them, and
                   decodes random ids. Trains each twice, since their trainer's hash tables differ from run to run.
What it does not:  compare with tabgrad (tests/golden/tokenizer_test.cc does), or take bytes that are not UTF-8, which
                   Python's side cannot.

Usage: tools/toolchain/run --list peers python3 tools/tokenizer/make_golden.py

  tokenizer_moby.json    the tokenizer.json of 4096 tokens on examples/data/moby-dick.txt
  tokenizer_cases.json   trained  [{name, text, vocabulary, min_count, special_tokens, json}]
                         added    the tokenizer.json of 'scripts' with more added tokens
                         encoded  [{tokenizer, text, ids}], 'moby', 'scripts' or 'added'
                         decoded  [{ids, text}] with 'scripts', bytes that are no UTF-8 replaced
"""
import json
import pathlib
import random

from tokenizers import AddedToken, Tokenizer, __version__, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
END = "<|endoftext|>"

TEXTS = [
    "", " ", "\n", "a", "Hello, world!", "  two spaces, then three:   end", "tabs\tand\t\tmore", "line\nline\n\nline\r\nline\r\rend\n",
    "trailing spaces   ", "   leading", " \n \n x \t\n  y", "I'm sure they've said it's what we'll do, you'd see; 'twas John's.",
    "DON'T SHOUT, I'LL HEAR: IT'S y'all'd've 'S 'LL 'sound 're're'ved", "''' '' ' 's's s's 'r 'l 'v 'rx 'lx 'vx",
    "3.14159 and 1,000,000 or 0x1F; v2.0.1-rc3 1st 2nd 12abc34", "½ ² ³ Ⅷ ٣٤٥ 一二三 ൪൫ 𝟘𝟙",
    "int main(int argc, char** argv) {\n\tfor (int i = 0; i < argc; ++i) std::printf(\"%s\\n\", argv[i]);\n    return 0;\n}\n",
    "def f(x: list[int]) -> dict[str, float]:\n    return {str(i): i ** 0.5 for i in x if i % 2 != 0}  # ünïcödé\n",
    "<html lang=\"de\"><body onload='f()'>&nbsp;&copy;</body></html>", "https://example.org/a_b-c?d=e&f=%20#g user@example.org",
    "naïve café — “quotes” ‘single’ … «guillemets» l’été", "Straße, Øre, Łódź, İstanbul, ŉ, ǅ, ﬁ",
    "e\u0301 a\u0308\u0323 n\u0303 Z\u0351\u036b\u0343\u036a\u0302\u036b\u033da\u033f\u0319lgo 🇺\u0308", "Привет, мир! Ёлка и ещё.", "Γειά σου Κόσμε, ᾳ ὦ",
    "你好，世界！今天天气很好。我们去公园吧。", "こんにちは世界。カタカナとﾊﾝｶｸ、漢字。", "안녕하세요 세계 \u1112\u1161\u11ab", "مرحبا بالعالم، كَيْفَ حالُكَ؟ ١٢٣", "שָׁלוֹם עולם",
    "नमस्ते दुनिया क्षत्रिय", "สวัสดีชาวโลก ทำ", "ᠮᠣᠩᠭᠣᠯ ⵜⴰⵎⴰⵣⵉⵖⵜ 𐌰𐌱𐌲 𓀀𓁐 𞤀𞤁",
    "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🇨🇭🇯🇵 ❤️ ☺ 🤷🏿‍♂️!!! 😀😀😀", "∑∫√∞ ≤≥≠ ←→ ⌘ ♠♥ €£¥ №™®",
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u1680g\u202fh\u205fi", "zero\u200bwidth\u200dand\ufeffbom\u00adsoft", "\u0085next\u001c\u001d\u001e\u001f\u0000\u0007\u007f",
    " " * 50 + "x" + "\n" * 30 + "\t" * 20 + "y", "a" * 300, "ab" * 200, "-" * 100 + "=" * 64, "mississippi " * 8,
    f"one{END}two {END} three\n{END}{END}", "<|endoftext|", "<|endoftext|><|endof", "<|im start|>user\nhi<|im end|>",
    "hello world hello worlds, hello  world", "ⓐ ㊿ ㍿ ꙮ ﷽ 𒐫",
]


def random_texts(count):
    """Words, spaces and marks of all kinds, closely mixed."""
    rng = random.Random(7)
    pools = ["abcdeXYZ", "'", "'stdmrevl", "0123456789", " ", "  ", "\n\t\r", ".,;:!?-_()", "äöüßéñ", "жщы", "漢字仮名", "한국",
             "مرح", "٣½Ⅷ", "\u0301\u0308\u200d\ufe0f", "\u00a0\u3000\u2009\u0085", "😀👩🏽💻", "∑→€"]
    pools.append([chr(c) for c in range(0x250, 0x30000) if not 0xD800 <= c < 0xE000])  # assigned or not
    return ["".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 40))) for _ in range(count)]


def few_letters():
    """Words of three letters that meet in all orders, so that pairs overlap and their counts tie."""
    rng = random.Random(3)
    words = ["".join(rng.choice("abc") for _ in range(rng.randint(2, 9))) for _ in range(400)]
    return " ".join(rng.choice(words[: rng.randint(1, 400)]) for _ in range(3000))


def train(text, vocabulary, min_count=0, special=()):
    def once():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=vocabulary, min_frequency=min_count, special_tokens=list(special),
                                      initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
        tokenizer.train_from_iterator([text], trainer)
        return tokenizer

    tokenizer = once()
    for _ in range(3):
        assert once().to_str() == tokenizer.to_str(), "their trainer is not deterministic on this text"
    return tokenizer


def main():
    moby = train((ROOT / "examples/data/moby-dick.txt").read_text(), 4096, special=[END])
    trained, tokenizers = [], {"moby": moby}
    for name, text, vocabulary, min_count, special in [
        ("scripts", "\n".join(TEXTS * 2), 800, 3, [END, "<|im start|>", "<|im end|>"]),
        ("letters", few_letters(), 420, 0, []),
        ("exhausted", "some few words, some more words", 1000, 0, [END]),
    ]:
        tokenizers[name] = train(text, vocabulary, min_count, special)
        trained.append({"name": name, "text": text, "vocabulary": vocabulary, "min_count": min_count,
                        "special_tokens": special, "json": tokenizers[name].to_str()})
    added = Tokenizer.from_str(tokenizers["scripts"].to_str())
    added.add_tokens([AddedToken("hello world", normalized=True), AddedToken("hello", normalized=True),
                      AddedToken("\n\n", normalized=False), AddedToken("  ", normalized=True), AddedToken("世界", normalized=False),
                      AddedToken("世界！今", normalized=False), AddedToken("天天", normalized=True), AddedToken("天", normalized=True),
                      AddedToken("'s", normalized=True), AddedToken("lo wor", normalized=False)])
    added.add_special_tokens(["<|pad|>"])
    tokenizers["added"] = added

    encoded = []
    for name in ("moby", "scripts", "added"):
        for text in TEXTS + random_texts(130):
            ids = tokenizers[name].encode(text, add_special_tokens=False).ids
            assert tokenizers[name].decode(ids, skip_special_tokens=False) == text, repr(text)
            encoded.append({"tokenizer": name, "text": text, "ids": ids})
    rng = random.Random(5)
    decoded = []
    for _ in range(150):
        ids = [rng.randrange(3, tokenizers["scripts"].get_vocab_size()) for _ in range(rng.randint(1, 12))]
        decoded.append({"ids": ids, "text": tokenizers["scripts"].decode(ids, skip_special_tokens=False)})

    out = ROOT / "tests/golden"
    (out / "tokenizer_moby.json").write_text(moby.to_str() + "\n")
    cases = {"made_with": f"tokenizers {__version__}", "trained": trained, "added": added.to_str(), "encoded": encoded,
             "decoded": decoded}
    (out / "tokenizer_cases.json").write_text(json.dumps(cases, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
