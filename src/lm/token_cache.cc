#include "lm/token_cache.h"

#include <charconv>

#include "base/error.h"
#include "data/safetensors.h"
#include "nn/parameters.h"

namespace tabgrad {
namespace {

std::optional<std::int64_t> count_of(const Safetensors& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool says(const Safetensors& file, const char* key, const std::string& text) {
  const auto found = file.metadata.find(key);
  return found != file.metadata.end() && found->second == text;
}

std::string hash_of(const Corpus& corpus) {
  Fnv1a hash;
  hash.number(corpus.hash(), 64);
  hash.number(static_cast<std::uint64_t>(corpus.bytes()), 64);
  return hash_text(hash.value());
}

}  // namespace

std::string CorpusKey::text() const { return hash_text(hash_.value()); }

std::string write_token_cache(const Corpus& corpus, const std::string& key) {
  const auto ids = corpus.tokens();
  std::vector<std::int32_t> pairs((ids.size() + 1) / 2);  // two ids of 16 bits in each
  for (std::size_t i = 0; i < ids.size(); ++i)
    pairs[i / 2] = static_cast<std::int32_t>(static_cast<std::uint32_t>(pairs[i / 2]) | std::uint32_t{ids[i]} << (i % 2 * 16));
  const auto size = static_cast<std::int64_t>(pairs.size());
  return write_safetensors({{"pairs", HostTensor::of_ids({size}, std::move(pairs))}},
                           {{"key", key},
                            {"hash", hash_of(corpus)},
                            {"tokens", std::to_string(corpus.size())},
                            {"bytes", std::to_string(corpus.bytes())}});
}

std::optional<Corpus> read_token_cache(std::string_view bytes, const std::string& key, double validation) {
  Safetensors file;
  try {
    file = read_safetensors(bytes, "token cache");
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> tokens = count_of(file, "tokens"), text = count_of(file, "bytes");
  if (!says(file, "key", key) || !tokens || !text || *tokens == 0 || file.tensors.size() != 1) return std::nullopt;
  const HostTensor& pairs = file.tensors[0].second;
  if (pairs.dtype != DType::kI32 || pairs.size() != (*tokens + 1) / 2) return std::nullopt;
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(*tokens));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::uint16_t>(static_cast<std::uint32_t>(pairs.i32[i / 2]) >> (i % 2 * 16));
  Corpus corpus(std::move(ids), *text, validation);
  if (!says(file, "hash", hash_of(corpus))) return std::nullopt;
  return corpus;
}

}  // namespace tabgrad
