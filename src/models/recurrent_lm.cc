#include "models/recurrent_lm.h"

#include <cmath>

namespace tabgrad {
namespace {

// Where a layer starts, and what is done with its states: for entries that carry them.
struct Carry {
  std::function<RecurrentState(const std::string& layer)> start;
  std::function<void(const std::string& layer, const RecurrentState& states)> end;
};

// tokens (B,T) → the last layer's h (T,B,U).
Tensor hidden(Builder& b, const GptConfig& c, CellKind cell, Tensor tokens, const Carry& carry) {
  Tensor x;
  {
    const Layer layer(b, "embedding");
    const double size = std::sqrt(static_cast<double>(c.width));
    const Tensor embedding = b.param("tok_emb.w", {c.vocabulary, c.width}, Init::normal(1.0 / size), true);
    x = b.dropout(permute(gather(embedding, tokens) * size, {1, 0, 2}), c.dropout);
  }
  for (std::int64_t l = 0; l < c.layers; ++l) {
    const std::string name = recurrent_lm_layer(cell, l);
    const RecurrentState start = carry.start ? carry.start(name) : RecurrentState{};
    const RecurrentState states = recurrent_layer(b, name, x, {.cell = cell, .units = c.width}, start);
    if (carry.end) carry.end(name, states);
    x = b.dropout(states.h, c.dropout);
  }
  return x;
}

// (…,U) → (…,V)
Tensor head(Builder& b, const GptConfig& c, Tensor h) {
  const Layer layer(b, "head");
  const double size = std::sqrt(static_cast<double>(c.width));
  const Tensor weights = c.tied ? b.param("tok_emb.w", {c.vocabulary, c.width}, Init::normal(1.0 / size), true)
                                : b.param("head.w", {c.vocabulary, c.width}, Init::uniform(1.0 / size), true);
  return matmul(h, weights, false, true);
}

RecurrentState cache_of(Graph& g, const std::string& layer, const GptConfig& c, CellKind cell) {
  const auto state = [&](const char* name) { return input(g, "cache." + layer + name, {1, c.width}, Role::kState); };
  return {state(".h"), cell == CellKind::kLstm ? state(".c") : Tensor{}};
}

// After the step `last`, or the only one.
void keep(Graph& g, const RecurrentState& cache, const RecurrentState& states, Tensor last) {
  const auto update = [&](Tensor target, Tensor all) {
    const Tensor steps = reshape(all, {all.dim(0), all.dim(2)});
    g.updates.push_back({target.value, (last.graph ? gather(steps, last) : steps).value});
  };
  update(cache.h, states.h);
  if (cache.c.graph) update(cache.c, states.c);
}

}  // namespace

std::string recurrent_lm_layer(CellKind cell, std::int64_t layer) {
  return str(cell == CellKind::kLstm ? "lstm" : "gru", layer);
}

LogitsOf recurrent_lm_logits(const GptConfig& c, CellKind cell) {
  return [c, cell](Builder& b, Tensor tokens) { return head(b, c, permute(hidden(b, c, cell, tokens, {}), {1, 0, 2})); };
}

BuiltModel build_recurrent_lm_generation(const GptConfig& c, CellKind cell, bool for_sampling) {
  BuiltModel model;
  {
    Graph g;
    Builder b(g, false);
    const Tensor tokens = input(g, "prefill.tokens", {1, c.context}, Role::kInput, DType::kI32);
    const Tensor last = input(g, "prefill.last", {1}, Role::kInput, DType::kI32);
    const Tensor h =
        hidden(b, c, cell, tokens, {.start = {}, .end = [&](const std::string& layer, const RecurrentState& states) {
                                      keep(g, cache_of(g, layer, c, cell), states, last);
                                    }});
    give_logits(g, "prefill", head(b, c, gather(reshape(h, {c.context, c.width}), last)), for_sampling);
    model.parameters = b.parameters();
    model.entries.push_back({"prefill", std::move(g)});
  }
  Graph g;
  Builder b(g, false);
  const Tensor token = input(g, "decode.token", {1, 1}, Role::kInput, DType::kI32);
  RecurrentState cache;
  const Tensor h = hidden(b, c, cell, token,
                          {.start = [&](const std::string& layer) { return cache = cache_of(g, layer, c, cell); },
                           .end = [&](const std::string&, const RecurrentState& states) { keep(g, cache, states, {}); }});
  give_logits(g, "decode", head(b, c, h), for_sampling);
  model.entries.push_back({"decode", std::move(g)});
  return model;
}

}  // namespace tabgrad
