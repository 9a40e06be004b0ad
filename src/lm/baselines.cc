#include "lm/baselines.h"

#include <algorithm>
#include <cmath>

namespace tabgrad {
namespace {

constexpr std::size_t kMostCounted = 1 << 22, kMostJudged = 1 << 20;

// How often each token was followed by each other one.
class Pairs {
 public:
  explicit Pairs(std::span<const std::uint16_t> tokens) {
    for (std::size_t i = 1; i < tokens.size(); ++i) pairs_.push_back(pair(tokens[i - 1], tokens[i]));
    std::sort(pairs_.begin(), pairs_.end());
  }

  struct Row {
    double count = 0, kinds = 0;  // followers, and different ones
  };
  std::vector<Row> rows(std::size_t vocabulary) const {
    std::vector<Row> rows(vocabulary);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      Row& row = rows[pairs_[i] >> 16];
      ++row.count;
      row.kinds += i == 0 || pairs_[i] != pairs_[i - 1];
    }
    return rows;
  }
  double count(std::uint16_t before, std::uint16_t after) const {
    const auto [first, last] = std::equal_range(pairs_.begin(), pairs_.end(), pair(before, after));
    return static_cast<double>(last - first);
  }

 private:
  static std::uint32_t pair(std::uint16_t before, std::uint16_t after) {
    return static_cast<std::uint32_t>(before) << 16 | after;
  }
  std::vector<std::uint32_t> pairs_;
};

}  // namespace

TextBaselines text_baselines(const Corpus& corpus, std::int64_t vocabulary) {
  const auto tokens = corpus.tokens();
  auto counted = tokens.first(static_cast<std::size_t>(corpus.training_tokens()));
  auto judged = tokens.subspan(counted.size());
  if (judged.empty()) judged = counted;
  counted = counted.last(std::min(counted.size(), kMostCounted));
  judged = judged.first(std::min(judged.size(), kMostJudged));

  const auto size = static_cast<std::size_t>(vocabulary);
  std::vector<double> probability(size, 1.0);
  for (const std::uint16_t id : counted) ++probability[id];
  const double total = static_cast<double>(counted.size()) + static_cast<double>(vocabulary);
  for (double& p : probability) p /= total;

  const Pairs pairs(counted);
  const std::vector<Pairs::Row> rows = pairs.rows(size);
  TextBaselines losses{.uniform = std::log(static_cast<double>(vocabulary))};
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const double alone = probability[judged[i]];
    losses.unigram -= std::log(alone);
    double p = alone;
    if (i > 0) {
      const Pairs::Row& row = rows[judged[i - 1]];
      if (row.count > 0) p = (pairs.count(judged[i - 1], judged[i]) + row.kinds * alone) / (row.count + row.kinds);
    }
    losses.bigram -= std::log(p);
  }
  losses.unigram /= static_cast<double>(judged.size());
  losses.bigram /= static_cast<double>(judged.size());
  return losses;
}

}  // namespace tabgrad
