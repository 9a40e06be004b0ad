// bench tokenizer: training byte-level BPE on Moby Dick, encoding it with nothing remembered and with its words known, decoding it.
// Usage: bench_tokenizer [TEXT]
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench/timing.h"
#include "data/tokenizer/bpe_trainer.h"
#include "data/tokenizer/stream.h"
#include "data/tokenizer/tokenizer.h"

namespace tabgrad::bench {
namespace {

int run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) {
    std::fprintf(stderr, "cannot read %s\n", path);
    return 1;
  }
  const auto row = [&](const std::string& name, const std::function<void()>& side) {
    const double ms = alternate({side})[0].median;
    std::printf("%-28s %9.2f ms %8.1f MB/s\n", name.c_str(), ms, 1e-3 * static_cast<double>(text.size()) / ms);
    std::fflush(stdout);
  };
  for (const std::int64_t vocabulary : {1024, 4096, 16384}) {
    const std::string of = str(" ", vocabulary);
    const auto train = [&] {
      BpeTrainer trainer;
      trainer.feed(text);
      return trainer.train({.vocabulary = vocabulary});
    };
    row("train" + of, [&] { train(); });
    const Tokenizer tokenizer = train();
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    row("encode" + of, [&] { tokenizer.encode(text); });
    Encoder encoder(tokenizer);
    std::vector<std::int32_t> again;
    row("encode, words known" + of, [&] {
      again.clear();
      encoder.feed(text, &again);
      encoder.finish(&again);
    });
    row("decode" + of, [&] { tokenizer.decode(ids); });
  }
  const Tokenizer bytes = Tokenizer::bytes();
  row("encode bytes", [&] { bytes.encode(text); });
  return 0;
}

}  // namespace
}  // namespace tabgrad::bench

int main(int argc, char** argv) { return tabgrad::bench::run(argc > 1 ? argv[1] : "examples/data/moby-dick.txt"); }
