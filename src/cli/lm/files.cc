#include "cli/lm/files.h"

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "data/atomic_file.h"
#include "data/tokenizer/bpe_trainer.h"
#include "lm/token_cache.h"

namespace tabgrad::cli {
namespace {

namespace fs = std::filesystem;

std::string join(const std::string& folder, const char* file) { return (fs::path(folder) / file).string(); }

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

constexpr std::int64_t kMinVocabulary = 257, kMaxVocabulary = 1 << 16;

}  // namespace

LmModel read_lm_folder(const std::string& folder) {
  if (!exists(folder)) fail(folder, ": there is no such folder.");
  Files files;
  for (const char* name : {kConfigFile, kModelWeightsFile, kTokenizerFile})
    if (exists(join(folder, name))) files[name] = read_file(join(folder, name));
  return model_from_files(files, folder);
}

void write_lm_folder(const std::string& folder, const LmModel& model) {
  for (const auto& [name, bytes] : model_files(model)) write_file_atomically(join(folder, name.c_str()), bytes);
}

std::string lm_checkpoint_path(const std::string& folder) { return join(folder, kCheckpointFile); }

std::optional<LmCheckpoint> read_lm_checkpoint(const std::string& folder) {
  const std::string path = lm_checkpoint_path(folder);
  if (!exists(path)) return std::nullopt;
  return parse_lm_checkpoint(read_file(path), path);
}

Tokenizer read_tokenizer(const std::string& path) { return Tokenizer::from_json(read_file(path), path); }

Tokenizer train_tokenizer(const std::string& vocabulary, const std::vector<std::string>& texts,
                          const std::function<void(std::int64_t, std::int64_t)>& progress) {
  BpeOptions options;
  const auto [end, error] = std::from_chars(vocabulary.data(), vocabulary.data() + vocabulary.size(), options.vocabulary);
  if (error != std::errc{} || end != vocabulary.data() + vocabulary.size() || options.vocabulary < kMinVocabulary ||
      options.vocabulary > kMaxVocabulary)
    fail("--tokenizer bpe:", vocabulary, " is not possible: give a number of tokens from ", kMinVocabulary, " to ",
         kMaxVocabulary, ", such as bpe:4096.");
  options.special_tokens = {kEndOfText};
  BpeTrainer trainer;
  for (const std::string& path : texts) read_file_in_chunks(path, [&](std::string_view chunk) { trainer.feed(chunk); });
  return trainer.train(options, progress);
}

Corpus read_corpus(const Tokenizer& tokenizer, const std::vector<std::string>& texts, double validation,
                   const std::string& cache, const std::function<void(const std::string&)>& note) {
  const auto feed = [&](auto& taker) {
    for (const std::string& path : texts) {
      read_file_in_chunks(path, [&](std::string_view chunk) { taker.feed(chunk); });
      taker.end_text();
    }
  };
  std::string key;
  if (!cache.empty()) {
    CorpusKey whole(tokenizer);
    feed(whole);
    key = whole.text();
    std::optional<Corpus> kept;
    try {
      if (exists(cache)) kept = read_token_cache(read_file(cache), key, validation);
    } catch (const Error&) {  // it cannot be read: as if there were none
    }
    if (kept) {
      note("The tokens are taken from " + cache + ".");
      return std::move(*kept);
    }
  }
  CorpusBuilder builder(tokenizer);
  feed(builder);
  Corpus corpus = builder.finish(validation);
  try {
    if (!cache.empty()) write_file_atomically(cache, write_token_cache(corpus, key));
  } catch (const Error& e) {
    note(str("note: the tokens could not be kept: ", e.what()));
  }
  return corpus;
}

std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      out += "\uFFFD";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace tabgrad::cli
