#!/usr/bin/env python3
"""Writes tests/golden/gpt2/: a small GPT-2 as Hugging Face's transformers saves it, and what it computes.

What it does:      makes a GPT2LMHeadModel with random weights (both GELUs, tied and untied head), saves it as save_pretrained does,
                   and keeps the logits of a text in float64 and the greedy continuation.
What it does not:  compare with tabgrad (tests/golden/gpt2_test.cc does).

Usage: tools/toolchain/run --list peers python3 tools/make_gpt2_golden.py
       tools/toolchain/run --list peers python3 tools/make_gpt2_golden.py --check DIR PROMPT
           loads a model folder of tabgrad's with transformers and prints its greedy continuation of 16 tokens
"""
import argparse
import json
import pathlib

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make(name, activation, tied):
    torch.manual_seed(7)
    config = GPT2Config(vocab_size=61, n_positions=16, n_embd=12, n_layer=2, n_head=2, activation_function=activation,
                        tie_word_embeddings=tied, layer_norm_epsilon=1e-5, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and gains too, so that a forgotten one shows
            parameter.add_(0.1 * torch.randn_like(parameter))
    folder = ROOT / "tests/golden/gpt2" / name
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokens = torch.randint(0, 61, (1, 16))
    with torch.no_grad():
        logits = model.double()(tokens).logits[0].contiguous()
        model.float()
        greedy = model.generate(tokens[:, :4], max_new_tokens=12, do_sample=False, pad_token_id=0)[0]
    save_file({"tokens": tokens[0].to(torch.int32), "logits": logits, "greedy": greedy.to(torch.int32)},
              folder / "expected.safetensors")


def check(folder, prompt):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model(ids).logits[0, -1]
        out = model.generate(ids, max_new_tokens=16, do_sample=False, pad_token_id=0)[0]
    print(json.dumps({"class": type(model).__name__, "tokens": out.tolist(), "text": tokenizer.decode(out),
                      "last_logits": [round(x, 6) for x in logits.tolist()[:8]]}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", nargs=2, metavar=("DIR", "PROMPT"))
    arguments = parser.parse_args()
    if arguments.check:
        check(*arguments.check)
    else:
        make("tied_gelu_new", "gelu_new", True)
        make("untied_gelu", "gelu", False)
