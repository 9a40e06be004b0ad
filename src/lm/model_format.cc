#include "lm/model_format.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/error.h"
#include "lm/lm_settings.h"
#include "train/json_fields.h"

namespace tabgrad {
namespace {

constexpr const char* kOurPrefix = "tabgrad-";  // before the kind: "tabgrad-lstm"
constexpr const char* kPrefix = "transformer.";

// Within a block, ours and GPT-2's.
constexpr std::array<std::pair<const char*, const char*>, 12> kBlockNames{{
    {"ln1.g", "ln_1.weight"},
    {"ln1.b", "ln_1.bias"},
    {"attn.qkv.w", "attn.c_attn.weight"},
    {"attn.qkv.b", "attn.c_attn.bias"},
    {"attn.proj.w", "attn.c_proj.weight"},
    {"attn.proj.b", "attn.c_proj.bias"},
    {"ln2.g", "ln_2.weight"},
    {"ln2.b", "ln_2.bias"},
    {"mlp.fc.w", "mlp.c_fc.weight"},
    {"mlp.fc.b", "mlp.c_fc.bias"},
    {"mlp.out.w", "mlp.c_proj.weight"},
    {"mlp.out.b", "mlp.c_proj.bias"},
}};

// Ours → GPT-2's, with the prefix. The head has none.
std::map<std::string, std::string> gpt2_names(const GptConfig& config) {
  std::map<std::string, std::string> names{{"tok_emb.w", str(kPrefix, "wte.weight")},
                                           {"pos_emb.w", str(kPrefix, "wpe.weight")},
                                           {"ln_f.g", str(kPrefix, "ln_f.weight")},
                                           {"ln_f.b", str(kPrefix, "ln_f.bias")},
                                           {"head.w", "lm_head.weight"}};
  for (std::int64_t l = 0; l < config.layers; ++l)
    for (const auto& [ours, theirs] : kBlockNames) names[str("h", l, ".", ours)] = str(kPrefix, "h.", l, ".", theirs);
  return names;
}

const HostTensor* find(const NamedTensors& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

std::int64_t whole(const Json& json, const char* key, const std::string& file) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer())
    fail(file, ": field '", key, "' is missing or no whole number: this is no GPT-2 configuration that can be read.");
  return found->get<std::int64_t>();
}

}  // namespace

bool is_gpt2_shaped(const LmConfig& c) {
  return !c.recurrent() && c.positions == PositionKind::kLearned && c.norm == NormKind::kLayerNorm &&
         (c.mlp == MlpKind::kGelu || c.mlp == MlpKind::kGeluTanh) && (c.kv_heads == 0 || c.kv_heads == c.heads) && !c.qk_norm;
}

std::string model_config_json(const LmConfig& c, std::int32_t end_of_text) {
  Json json;
  if (!is_gpt2_shaped(c)) {
    GptConfig copy = c;
    FieldWriter writer(json);
    c.recurrent() ? size_fields(writer, copy) : fields(writer, copy);
    Json typed{{"model_type", std::string(kOurPrefix) + lm_kind_name(c.kind)}};
    typed.update(json);
    return typed.dump(2) + "\n";
  }
  const Json eos = end_of_text >= 0 ? Json(end_of_text) : Json(nullptr);
  json = {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", c.mlp == MlpKind::kGelu ? "gelu" : "gelu_new"},
          {"vocab_size", c.vocabulary},
          {"n_positions", c.context},
          {"n_embd", c.width},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_inner", c.mlp_width > 0 ? c.mlp_width : 4 * c.width},
          {"layer_norm_epsilon", c.norm_eps},
          {"tie_word_embeddings", c.tied},
          {"embd_pdrop", c.dropout},
          {"resid_pdrop", c.dropout},
          {"attn_pdrop", 0.0},
          {"bos_token_id", eos},
          {"eos_token_id", eos},
          {"torch_dtype", "float32"}};
  return json.dump(2) + "\n";
}

LmConfig model_config_from_json(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  if (!json.is_object()) fail(file, " holds no configuration.");
  const auto type = json.find("model_type");
  const std::string name = type != json.end() && type->is_string() ? type->get<std::string>() : "";
  LmConfig c;
  for (const LmKind kind : {LmKind::kGpt, LmKind::kLstm, LmKind::kGru}) {
    if (name != std::string(kOurPrefix) + lm_kind_name(kind)) continue;
    c.kind = kind;
    FieldReader reader(json, file, "");
    c.recurrent() ? size_fields(reader, c) : fields(reader, static_cast<GptConfig&>(c));
    c.batch = 1;
    check_lm(c);
    return c;
  }
  c.batch = 1;
  if (name != "gpt2") fail(file, ": models of type '", name, "' cannot be read; gpt2 can.");
  c.vocabulary = whole(json, "vocab_size", file);
  c.context = whole(json, "n_positions", file);
  c.width = whole(json, "n_embd", file);
  c.layers = whole(json, "n_layer", file);
  c.heads = whole(json, "n_head", file);
  const auto inner = json.find("n_inner");
  if (inner != json.end() && inner->is_number_integer()) c.mlp_width = inner->get<std::int64_t>();
  if (c.mlp_width == 4 * c.width) c.mlp_width = 0;
  c.norm_eps = json.value("layer_norm_epsilon", 1e-5);
  c.tied = json.value("tie_word_embeddings", true);
  c.dropout = json.value("resid_pdrop", 0.1);
  const std::string activation = json.value("activation_function", "gelu_new");
  if (activation == "gelu") {
    c.mlp = MlpKind::kGelu;
  } else if (activation == "gelu_new" || activation == "gelu_pytorch_tanh") {
    c.mlp = MlpKind::kGeluTanh;
  } else {
    fail(file, ": activation '", activation, "' cannot be had here; gelu and gelu_new can.");
  }
  if (json.value("scale_attn_by_inverse_layer_idx", false) || !json.value("scale_attn_weights", true))
    fail(file, ": its way of scaling attention cannot be had here.");
  check_lm(c);
  return c;
}

NamedTensors to_file_names(const LmConfig& config, NamedTensors weights) {
  if (!is_gpt2_shaped(config)) return weights;
  const std::map<std::string, std::string> names = gpt2_names(config);
  for (auto& [name, tensor] : weights) name = names.at(name);
  return weights;
}

NamedTensors from_file_names(const LmConfig& config, const NamedTensors& tensors, const std::string& file) {
  const std::map<std::string, std::string> names = gpt2_names(config);
  NamedTensors weights;
  for (const ParameterSpec& spec : lm_parameters(config)) {
    std::string theirs = spec.name;
    if (is_gpt2_shaped(config)) theirs = names.at(spec.name);
    const HostTensor* found = find(tensors, theirs);
    if (!found && theirs.starts_with(kPrefix)) found = find(tensors, theirs.substr(std::string(kPrefix).size()));
    if (!found) fail(file, " lacks tensor '", theirs, "': it is of another model than its config.json, or damaged.");
    if (found->dims != spec.dims || found->dtype != DType::kF32)
      fail(file, ": tensor '", theirs, "' is ", to_string(found->dims), ", and config.json's model needs ",
           to_string(spec.dims), ".");
    weights.emplace_back(spec.name, *found);
  }
  return weights;
}

}  // namespace tabgrad
