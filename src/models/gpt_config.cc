#include "models/gpt_config.h"

#include <array>

#include "base/option_check.h"

namespace tabgrad {
namespace {

// One table a kind: its words, in the order of the enum.
template <typename Kind, std::size_t N>
Kind kind_from(const char* option, const std::string& word, const std::array<const char*, N>& words) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) return static_cast<Kind>(i);
    known += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(words[i]);
  }
  fail("--", option, " ", word, " is not known. Choose ", known, ".");
}

constexpr std::array kPositionWords{"learned", "sinusoidal", "rope", "alibi", "none"};
constexpr std::array kNormWords{"layer_norm", "rms_norm"};
constexpr std::array kMlpWords{"gelu", "gelu_tanh", "swiglu", "relu2"};

}  // namespace

void check_gpt(const GptConfig& c) {
  need_option(c.layers >= 1 && c.layers <= 1024, "layers", c.layers, "give a whole number from 1 to 1024");
  need_option(c.width >= 1 && c.width <= 1 << 16, "width", c.width, "give a whole number from 1 to 65536");
  need_option(c.heads >= 1 && c.width % c.heads == 0, "heads", c.heads, str("it must divide the width, ", c.width));
  need_option(c.kv_heads >= 0 && (c.kv_heads == 0 || c.heads % c.kv_heads == 0), "kv-heads", c.kv_heads,
              str("it must divide the number of heads, ", c.heads));
  need_option(c.context >= 1 && c.context <= 1 << 20, "context", c.context, "give a number of tokens from 1 to 1048576");
  need_option(c.batch >= 1 && c.batch <= 1 << 20, "batch", c.batch, "give a whole number from 1 to 1048576");
  need_option(c.vocabulary >= 1 && c.vocabulary <= 1 << 24, "vocabulary", c.vocabulary,
              "give a whole number from 1 to 16777216");
  need_option(c.mlp_width >= 0 && c.mlp_width <= 1 << 20, "mlp-width", c.mlp_width,
              "give a whole number up to 1048576, 0 for 4·width");
  need_option(c.norm_eps > 0 && c.norm_eps <= 1, "norm-eps", c.norm_eps, "give a number above 0");
  need_option(c.dropout >= 0 && c.dropout < 1, "dropout", c.dropout, "give the part dropped, from 0 to below 1");
  need_option(c.label_smoothing >= 0 && c.label_smoothing < 1, "label-smoothing", c.label_smoothing,
              "give a number from 0 to below 1");
  if (c.positions == PositionKind::kRope)
    need_option(c.width / c.heads % 2 == 0, "positions", "rope",
                str("a head's ", c.width / c.heads, " numbers are turned in pairs, so width/heads must be even"));
  if (c.positions == PositionKind::kSinusoidal)
    need_option(c.width % 2 == 0, "width", c.width, "sinusoidal positions need an even width");
}

const std::vector<GptConfig>& gpt_presets() {
  static const std::vector<GptConfig> presets{
      {.name = "tiny", .layers = 2, .width = 48, .heads = 3, .context = 32, .batch = 16},
      {.name = "small", .layers = 3, .width = 96, .heads = 3, .context = 64, .batch = 16},
      {.name = "medium", .layers = 4, .width = 128, .heads = 4, .context = 96, .batch = 16},
      {.name = "large", .layers = 6, .width = 192, .heads = 6, .context = 128, .batch = 12},
      {.name = "xl", .layers = 8, .width = 256, .heads = 8, .context = 128, .batch = 8},
      {.name = "huge", .layers = 12, .width = 256, .heads = 8, .context = 256, .batch = 8},
      {.name = "massive", .layers = 14, .width = 384, .heads = 12, .context = 256, .batch = 4},
      {.name = "mega", .layers = 14, .width = 384, .heads = 12, .context = 512, .batch = 2},
  };
  return presets;
}

const GptConfig& gpt_preset(const std::string& name) {
  std::string known;
  for (const GptConfig& preset : gpt_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  fail("--preset '", name, "' is not known; there are: ", known);
}

double gpt_step_flops(const GptConfig& c) {
  const auto layers = static_cast<double>(c.layers), d = static_cast<double>(c.width), t = static_cast<double>(c.context);
  const double tokens = static_cast<double>(c.batch) * t;
  return 6.0 * tokens * (12.0 * layers * d * d + static_cast<double>(c.vocabulary) * d) + 6.0 * layers * tokens * (t + 1.0) * d;
}

PositionKind position_kind_from(const std::string& word) { return kind_from<PositionKind>("positions", word, kPositionWords); }
const char* position_kind_name(PositionKind kind) { return kPositionWords[static_cast<std::size_t>(kind)]; }

NormKind norm_kind_from(const std::string& word) { return kind_from<NormKind>("norm", word, kNormWords); }
const char* norm_kind_name(NormKind kind) { return kNormWords[static_cast<std::size_t>(kind)]; }

MlpKind mlp_kind_from(const std::string& word) { return kind_from<MlpKind>("mlp", word, kMlpWords); }
const char* mlp_kind_name(MlpKind kind) { return kMlpWords[static_cast<std::size_t>(kind)]; }

}  // namespace tabgrad
