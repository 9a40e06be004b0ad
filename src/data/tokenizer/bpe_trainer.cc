#include "data/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/csv_dialect.h"
#include "data/tokenizer/bpe.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/pending_text.h"
#include "data/tokenizer/words.h"

namespace tabgrad {
namespace {

using Id = std::int32_t;

struct Pair {
  Id left, right;
  auto operator<=>(const Pair&) const = default;
};

// A pair as it stood when it was put in the queue.
struct Candidate {
  Pair pair;
  std::int64_t count;
  std::size_t round;               // in which it was put there; only to have one order on every target
  std::vector<std::size_t> words;  // in which it may be, ascending

  // The heap's top is the commonest, of equals that of the lower ids, as Hugging Face has it.
  bool operator<(const Candidate& other) const {
    return std::tuple(count, other.pair, other.round) < std::tuple(other.count, pair, round);
  }
};

class Merger {
 public:
  // ids: of parts->texts, which hold special tokens and bytes so far.
  Merger(const BpeOptions& options, const std::array<Id, 256>& byte_ids, std::unordered_map<std::string, Id> ids,
         TokenizerParts* parts)
      : options_(options), byte_ids_(byte_ids), parts_(*parts), ids_(std::move(ids)) {}

  void add_word(std::string_view word, std::int64_t count) {
    Word& w = words_.emplace_back();
    w.count = count;
    for (const char c : word) w.ids.push_back(byte_ids_[static_cast<std::uint8_t>(c)]);
    for (std::size_t i = 0; i + 1 < w.ids.size(); ++i) change(w.ids[i], w.ids[i + 1], count, words_.size() - 1);
  }

  void run(const std::function<void(std::int64_t, std::int64_t)>& progress) {
    constexpr std::size_t kRoundsPerReport = 64;
    enqueue_changed();
    while (size() < options_.vocabulary && !queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      Candidate top = std::move(queue_.back());
      queue_.pop_back();
      const std::int64_t count = pairs_.at(key(top.pair)).count;
      if (top.count != count) {
        top.count = count;
        push(std::move(top));
        continue;
      }
      if (count < std::max<std::int64_t>(1, options_.min_count)) break;
      const Id result = result_of(top.pair);
      parts_.merges.push_back({top.pair.left, top.pair.right, result});
      for (const std::size_t word : top.words) merge(top.pair, result, word);
      ++round_;
      enqueue_changed();
      if (progress && round_ % kRoundsPerReport == 0) progress(size(), options_.vocabulary);
    }
    if (progress) progress(size(), options_.vocabulary);
  }

 private:
  struct Word {
    std::vector<Id> ids;
    std::int64_t count = 0;
  };
  struct Occurrences {
    std::int64_t count = 0;
    std::vector<std::size_t> new_words;  // where it has appeared since it was last put in the queue
  };

  static std::uint64_t key(Pair pair) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(pair.left)) << 32 | static_cast<std::uint32_t>(pair.right);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(parts_.texts.size()); }

  void change(Id left, Id right, std::int64_t by, std::size_t word) {
    const Pair pair{left, right};
    Occurrences& o = pairs_[key(pair)];
    o.count += by;
    if (by <= 0) return;
    if (o.new_words.empty()) changed_.push_back(pair);
    if (o.new_words.empty() || o.new_words.back() != word) o.new_words.push_back(word);
  }

  void enqueue_changed() {
    for (const Pair pair : changed_) {
      Occurrences& o = pairs_.at(key(pair));
      std::vector<std::size_t> words = std::exchange(o.new_words, {});
      if (o.count > 0) push({pair, o.count, round_, std::move(words)});
    }
    changed_.clear();
  }

  void push(Candidate candidate) {
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end());
  }

  // The token may be there already: a special token may read so, and two pairs may join to the same text.
  Id result_of(Pair pair) {
    const auto text = [&](Id id) { return parts_.texts[static_cast<std::size_t>(id)]; };
    std::string joined = text(pair.left) + text(pair.right);
    const auto [found, is_new] = ids_.try_emplace(joined, static_cast<Id>(parts_.texts.size()));
    if (is_new) parts_.texts.push_back(std::move(joined));
    return found->second;
  }

  void merge(Pair pair, Id result, std::size_t word) {
    std::vector<Id>& ids = words_[word].ids;
    const std::int64_t count = words_[word].count;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != pair.left || i + 1 == ids.size() || ids[i + 1] != pair.right) {
        ids[kept++] = ids[i];
        continue;
      }
      // The pair's own count is left as it is, as in Hugging Face's trainer: should the pair appear anew, it counts from there on.
      if (kept > 0) {
        change(ids[kept - 1], pair.left, -count, word);
        change(ids[kept - 1], result, count, word);
      }
      if (i + 2 < ids.size()) {
        change(pair.right, ids[i + 2], -count, word);
        change(result, ids[i + 2], count, word);
      }
      ids[kept++] = result;
      ++i;
    }
    ids.resize(kept);
  }

  const BpeOptions& options_;
  const std::array<Id, 256>& byte_ids_;
  TokenizerParts& parts_;
  std::unordered_map<std::string, Id> ids_;  // by text
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Occurrences> pairs_;
  std::vector<Pair> changed_;  // those with new words
  std::vector<Candidate> queue_;
  std::size_t round_ = 0;
};

}  // namespace

struct BpeTrainer::State {
  // As PendingText wants it.
  std::size_t count_words(std::string_view text, bool last) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t bytes = first_word(text.substr(at), last);
      if (bytes == 0) break;
      const std::string_view word = text.substr(at, bytes);
      auto found = index.find(word);
      if (found == index.end()) {
        found = index.emplace(word, words.size()).first;
        words.push_back({found->first, 0});
      }
      ++words[found->second].count;
      at += bytes;
    }
    return at;
  }

  struct Counted {
    std::string_view word;  // into index
    std::int64_t count;
  };
  WordMap<std::size_t> index;
  std::vector<Counted> words;  // by their first appearance
  PendingText pending;
};

BpeTrainer::BpeTrainer() : state_(std::make_unique<State>()) {}
BpeTrainer::~BpeTrainer() = default;
BpeTrainer::BpeTrainer(BpeTrainer&&) noexcept = default;
BpeTrainer& BpeTrainer::operator=(BpeTrainer&&) noexcept = default;

void BpeTrainer::feed(std::string_view text) {
  state_->pending.feed(text, [&](std::string_view t, bool last) { return state_->count_words(t, last); });
}

Tokenizer BpeTrainer::train(const BpeOptions& options, const std::function<void(std::int64_t, std::int64_t)>& progress) {
  state_->pending.finish([&](std::string_view t, bool last) { return state_->count_words(t, last); });
  const std::int64_t least = static_cast<std::int64_t>(256 + options.special_tokens.size());
  if (options.vocabulary < least || options.vocabulary > kMostTokens) {
    fail("A BPE vocabulary of ", options.vocabulary, " is not possible: ask for ", least,
         " (the 256 bytes and the special tokens) to ", kMostTokens, ".");
  }
  TokenizerParts parts;
  std::unordered_map<std::string, Id> ids;
  const auto add = [&](const std::string& text) {
    const auto [found, is_new] = ids.emplace(text, static_cast<Id>(parts.texts.size()));
    if (is_new) parts.texts.push_back(text);
    return std::pair(found->second, is_new);
  };
  for (const std::string& token : options.special_tokens) {
    if (token.empty() || !csv::is_utf8(token)) fail("The special token ", csv::excerpt(token), " is empty or not UTF-8.");
    const auto [id, is_new] = add(token);
    if (!is_new) fail("The special token ", csv::excerpt(token), " is given twice.");
    parts.added.push_back({.id = id, .content = token, .in_vocabulary = true});
  }
  std::array<Id, 256> byte_ids{};
  for (const std::uint8_t byte : alphabet_order()) byte_ids[byte] = add(std::string(alphabet_char(byte))).first;

  Merger merger(options, byte_ids, std::move(ids), &parts);
  for (const State::Counted& counted : state_->words) merger.add_word(counted.word, counted.count);
  merger.run(progress);
  return Tokenizer(std::move(parts));
}

}  // namespace tabgrad
