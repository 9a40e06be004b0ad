// Any bytes as tokenizer.json, as what follows its vocabulary, and as text to train on and to encode whole and in pieces: an
// answer or tabgrad::Error; what was read, written and read again, is the same; the text comes back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/tokenizer/bpe_trainer.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/stream.h"
#include "data/tokenizer/tokenizer.h"

namespace {

using namespace tabgrad;

void require(bool condition) {
  if (!condition) std::abort();
}

void encode(const Tokenizer& tokenizer, std::string_view text, std::size_t piece) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  // An added token whose name is written in the bytes' alphabet stands for other bytes, in Hugging Face's files too.
  if (tokenizer.model().bpe.parts().added.empty()) require(tokenizer.decode(ids) == text);
  std::vector<std::int32_t> streamed;
  Encoder encoder(tokenizer);
  for (std::size_t i = 0; i < text.size(); i += piece) encoder.feed(text.substr(i, piece), &streamed);
  encoder.finish(&streamed);
  require(streamed == ids);
  Utf8Decoder decoder(tokenizer);
  for (const std::int32_t id : ids) decoder.feed(id);
  decoder.finish();
}

void read(const std::string& json, std::string_view text, std::size_t piece) {
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(json, "fuzz");
    const std::string written = tokenizer.to_json();
    require(Tokenizer::from_json(written, "written").to_json() == written);
    encode(tokenizer, text, piece);
  } catch (const Error&) {
  }
}

// A file up to the point where a vocabulary of all bytes has been given and more tokens may come.
std::string beginning() {
  std::string json = R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"model":{"vocab":{)";
  int id = 0;
  for (const std::uint8_t byte : alphabet_order()) {
    json += (id > 0 ? "," : "") + nlohmann::json(std::string(alphabet_char(byte))).dump() + ":" + std::to_string(id);
    ++id;
  }
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t piece = 1 + data[1] % 16;
  const std::string text(reinterpret_cast<const char*>(data) + 3, size - 3);
  switch (data[0] % 3) {
    case 0: read(text, text, piece); break;
    case 1: {
      static const std::string begin = beginning();
      read(begin + text, text, piece);
      break;
    }
    default: {
      BpeTrainer trainer;
      for (std::size_t i = 0; i < text.size(); i += piece) trainer.feed(std::string_view(text).substr(i, piece));
      encode(trainer.train({.vocabulary = 256 + data[2]}), text, piece);
    }
  }
  return 0;
}
