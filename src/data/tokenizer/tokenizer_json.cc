// Tokenizer::from_json and to_json: Hugging Face's tokenizer.json.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "data/csv_dialect.h"
#include "data/strict_json.h"
#include "data/tokenizer/bpe.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

namespace tabgrad {
namespace {

using nlohmann::json;

constexpr int kMaxJsonDepth = 12;  // a sequence of pre-tokenizers in a post-processor's template has 6

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), root_(parse_strict_json(text, file + ": the tokenizer", kMaxJsonDepth)) {}

  TokenizerParts read() {
    check_steps();
    const json& model = object(root_, "model");
    check_model(model);
    read_vocabulary(object(model, "vocab"));
    read_added();
    order_texts();
    read_merges(model);
    parts_.ignore_merges = flag(model, "ignore_merges", false);
    return std::move(parts_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const { fail(file_, ": ", what, ". The file is damaged."); }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail(file_, ": ", what, " is not supported: only byte-level BPE tokenizers as GPT-2's are.");
  }

  const json& field(const json& of, const char* key) const {
    static const json none;
    const auto found = of.find(key);
    return found == of.end() ? none : *found;
  }
  const json& object(const json& of, const char* key) const {
    const json& value = field(of, key);
    if (!value.is_object()) damaged(str("'", key, "' is missing or no object"));
    return value;
  }
  bool flag(const json& of, const char* key, bool absent) const {
    const json& value = field(of, key);
    if (value.is_null()) return absent;
    if (!value.is_boolean()) damaged(str("'", key, "' is neither true nor false"));
    return value.get<bool>();
  }
  const std::string& text(const json& value, const char* what) const {
    if (!value.is_string()) damaged(str(what, " is no text"));
    return value.get_ref<const std::string&>();
  }
  std::int32_t id(const json& value, const std::string& token) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMostTokens)) {
      damaged(str("the id of token ", csv::excerpt(token), " is not a whole number below ", kMostTokens));
    }
    return value.get<std::int32_t>();
  }
  static std::string type_of(const json& step) {
    const auto found = step.is_object() ? step.find("type") : step.end();
    return step.is_object() && found != step.end() && found->is_string() ? csv::excerpt(found->get<std::string>())
                                                                         : "of no known type";
  }

  // The steps around the model must be GPT-2's.
  void check_steps() const {
    const json& normalizer = field(root_, "normalizer");
    if (!normalizer.is_null()) unsupported("the normalizer " + type_of(normalizer));
    const json& words = field(root_, "pre_tokenizer");
    if (!words.is_object() || field(words, "type") != "ByteLevel") unsupported("the pre-tokenizer " + type_of(words));
    if (flag(words, "add_prefix_space", true)) unsupported("the pre-tokenizer's add_prefix_space");
    if (!flag(words, "use_regex", true)) unsupported("a pre-tokenizer without a pattern (use_regex: false)");
    const json& decoder = field(root_, "decoder");
    if (!decoder.is_null() && (!decoder.is_object() || field(decoder, "type") != "ByteLevel")) {
      unsupported("the decoder " + type_of(decoder));
    }
  }

  // unk_token, fuse_unk and byte_fallback are for bytes without a token, of which there are none (Bpe sees to it).
  void check_model(const json& model) const {
    const json& type = field(model, "type");  // the oldest files have none
    if (!type.is_null() && type != "BPE") unsupported("the model " + type_of(model));
    const json& dropout = field(model, "dropout");
    if (!dropout.is_null() && dropout != 0) unsupported("dropout of merges");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (const json& affix = field(model, key); !affix.is_null() && affix != "") unsupported(str("the model's ", key));
    }
  }

  void read_vocabulary(const json& vocab) {
    for (const auto& [token, number] : vocab.items()) ids_.emplace(token, id(number, token));
  }

  void read_added() {
    const json& list = field(root_, "added_tokens");
    if (list.is_null()) return;
    if (!list.is_array()) damaged("'added_tokens' is no list");
    for (const json& entry : list) {
      if (!entry.is_object()) damaged("an added token is no object");
      AddedToken token;
      token.content = text(field(entry, "content"), "an added token's content");
      const std::string name = "the added token " + csv::excerpt(token.content);
      if (token.content.empty()) damaged("an added token is empty");
      token.id = id(field(entry, "id"), token.content);
      for (const char* key : {"lstrip", "rstrip", "single_word"}) {
        if (flag(entry, key, false)) unsupported(str(key, " of ", name));
      }
      token.special = flag(entry, "special", true);
      token.normalized = flag(entry, "normalized", !token.special);
      const auto [known, is_new] = ids_.emplace(token.content, token.id);
      if (known->second != token.id) damaged(str(name, " has two ids"));
      token.in_vocabulary = !is_new;
      if (!names_.emplace(token.content).second) damaged(str(name, " comes twice"));
      parts_.added.push_back(std::move(token));
    }
  }

  void order_texts() {
    parts_.texts.resize(ids_.size());
    std::vector<bool> used(ids_.size(), false);
    for (const auto& [token, number] : ids_) {
      const auto i = static_cast<std::size_t>(number);
      if (i >= used.size()) unsupported(str("an id of ", i, " among ", used.size(), " tokens (a vocabulary with holes)"));
      if (used[i]) damaged(str("two tokens have the id ", i, ", one is ", csv::excerpt(token)));
      used[i] = true;
      parts_.texts[i] = token;
    }
  }

  // "a b" in older files, ["a","b"] in newer ones.
  void read_merges(const json& model) {
    const json& list = field(model, "merges");
    if (!list.is_array()) damaged("'merges' is missing or no list");
    for (const json& entry : list) {
      std::string left, right;
      if (entry.is_array() && entry.size() == 2) {
        left = text(entry[0], "a merge's part"), right = text(entry[1], "a merge's part");
      } else {
        const std::string& both = text(entry, "a merge");
        const std::size_t space = both.find(' ');
        if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) {
          damaged(str("merge ", csv::excerpt(both), " is not two tokens"));
        }
        left = both.substr(0, space), right = both.substr(space + 1);
      }
      const std::int32_t left_id = merged(left, parts_.merges.size()), right_id = merged(right, parts_.merges.size());
      parts_.merges.push_back({left_id, right_id, merged(left + right, parts_.merges.size())});
    }
  }

  std::int32_t merged(const std::string& token, std::size_t rank) const {
    const auto found = ids_.find(token);
    if (token.empty() || found == ids_.end()) {
      damaged(str("merge ", rank + 1, " speaks of token ", csv::excerpt(token), ", which the vocabulary does not have"));
    }
    return found->second;
  }

  const std::string& file_;
  const json root_;
  TokenizerParts parts_;
  std::unordered_map<std::string, std::int32_t> ids_;  // by token as it is written
  std::unordered_set<std::string> names_;              // of added tokens
};

std::string quoted(const std::string& text) { return json(text).dump(); }

// Items one a line, which people can read and which keeps the vocabulary in the order of its ids.
class Lines {
 public:
  Lines(std::string* out, const char* open, const char* close, int indent) : out_(*out), close_(close), indent_(indent) {
    out_ += open;
  }
  ~Lines() {
    if (any_) line(indent_);
    out_ += close_;
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  void add(const std::string& item) {
    if (any_) out_ += ',';
    any_ = true;
    line(indent_ + 2);
    out_ += item;
  }

 private:
  void line(int indent) { out_ += '\n' + std::string(static_cast<std::size_t>(indent), ' '); }
  std::string& out_;
  const char* close_;
  int indent_;
  bool any_ = false;
};

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  TokenizerParts parts = Reader(text, file).read();
  try {
    return Tokenizer(std::move(parts));
  } catch (const Error& e) {
    fail(file, ": ", e.what(), ".");
  }
}

std::string Tokenizer::to_json() const {
  const TokenizerParts& parts = model_->bpe.parts();
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string out = R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": )";
  {
    Lines lines(&out, "[", "]", 2);
    for (const AddedToken& token : parts.added) {
      lines.add(str(R"({"id": )", token.id, R"(, "content": )", quoted(token.content),
                    R"(, "single_word": false, "lstrip": false, "rstrip": false, "normalized": )", flag(token.normalized),
                    R"(, "special": )", flag(token.special), "}"));
    }
  }
  out += R"(,
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
  "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
  "model": {
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": )";
  out += flag(parts.ignore_merges);
  out += R"(,
    "vocab": )";
  std::vector<bool> outside(parts.texts.size(), false);  // added tokens that are none of the model's
  for (const AddedToken& token : parts.added) outside[static_cast<std::size_t>(token.id)] = !token.in_vocabulary;
  {
    Lines lines(&out, "{", "}", 4);
    for (std::size_t id = 0; id < parts.texts.size(); ++id) {
      if (!outside[id]) lines.add(str(quoted(parts.texts[id]), ": ", id));
    }
  }
  out += R"(,
    "merges": )";
  {
    // As "a b", which every version reads; parts with spaces of their own need the newer form.
    Lines lines(&out, "[", "]", 4);
    const auto text = [&](std::int32_t id) { return parts.texts[static_cast<std::size_t>(id)]; };
    const bool spaces = std::any_of(parts.merges.begin(), parts.merges.end(),
                                    [&](const Merge& m) { return text(m.result).find(' ') != std::string::npos; });
    for (const Merge& merge : parts.merges) {
      const std::string left = text(merge.left), right = text(merge.right);
      lines.add(spaces ? str("[", quoted(left), ", ", quoted(right), "]") : quoted(left + " " + right));
    }
  }
  return out + "\n  }\n}\n";
}

}  // namespace tabgrad
