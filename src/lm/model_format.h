// A language model's config.json and the names of its tensors; where GPT-2's class can hold it, those of Hugging Face's
// transformers (GPT2LMHeadModel); and back in.
//
// Does: translates. A model that GPT-2's class cannot hold (other positions, norms, MLPs; recurrent ones) has a config.json of our
// own model_type and our own names, which transformers does not load. Does not: read files.
#pragma once

#include <string>

#include "models/language_model.h"
#include "tensor/host_tensor.h"

namespace tabgrad {

// Whether transformers' GPT2LMHeadModel computes what this model does.
bool is_gpt2_shaped(const LmConfig& config);

// end_of_text: the tokenizer's id for it, or -1.
std::string model_config_json(const LmConfig& config, std::int32_t end_of_text);
// batch is 1. Throws Error naming the file and what is unsupported.
LmConfig model_config_from_json(const std::string& text, const std::string& file);

// Our names → the file's. Linear layers are (in,out) in both.
NamedTensors to_file_names(const LmConfig& config, NamedTensors weights);
// The file's → ours, in the order of the model's parameters, shapes checked. Takes GPT-2's names with and without the prefix
// "transformer.", and leaves out the masks that old files hold. Throws Error naming the file and the tensor.
NamedTensors from_file_names(const LmConfig& config, const NamedTensors& tensors, const std::string& file);

}  // namespace tabgrad
