#include "nn/transformer.h"

#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

Tensor last_token(Tensor x) { return slice(x, 1, x.dim(1) - 1, x.dim(1)); }  // (B,T,d) → (B,1,d)

}  // namespace

Tensor transformer_block(Builder& b, const std::string& name, Tensor x, const BlockOptions& options) {
  const std::int64_t width = x.dim(-1);
  {
    const Layer layer(b, name + ".attn");
    const Tensor qkv = b.linear(name + ".attn.qkv", b.layer_norm(name + ".ln1", x), 3 * width, options.init);
    Tensor mixed = attention(qkv, {.heads = options.heads, .kv_heads = options.heads, .causal = true});
    if (options.last_token_only) {
      mixed = last_token(mixed);
      x = last_token(x);
    }
    const Tensor added = b.linear(name + ".attn.proj", mixed, width, options.residual_init);
    x = x + b.dropout(added, options.dropout);
  }
  const Layer layer(b, name + ".mlp");
  const Tensor hidden = gelu(b.linear(name + ".mlp.fc", b.layer_norm(name + ".ln2", x), 4 * width, options.init));
  const Tensor added = b.linear(name + ".mlp.out", hidden, width, options.residual_init);
  return x + b.dropout(added, options.dropout);
}

}  // namespace tabgrad
