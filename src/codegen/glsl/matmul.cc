// Contract. A pass draws a texel of C, four neighbours along n, by a loop over k in fours, with the epilogue behind it.
//
// What costs is reading texels: five for 16 multiply-adds. So large products are drawn eight (or four) rows at once into as many
// textures (row r into texture r mod 8), which is twelve (eight) reads for 128 (64); a second pass puts them together and runs
// the epilogue. Where k is long it is cut into chunks, which the second pass adds: few results alone do not fill a GPU, and
// caches do not hold what a long loop walks over.
#include <set>

#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {
namespace {

// Putting rows together costs about as much as so many reads a texel.
constexpr std::int64_t kReadsTogether = 8;
// Chunks of k are not longer than this, and not shorter than that to have so many invocations.
constexpr std::int64_t kLongChunk = 256, kShortChunk = 64, kManyInvocations = 16384;

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) : k_(k), c_(k.contract), info_(info) {
    wide_ = c_.n % 4 == 0 && (k.body.code.empty() || draws_by_fours(k.body));
    if (wide_) choose_rows(caps);
  }

  Passes run() {
    Passes result;
    if (rows_ == 1) {
      Fragment f(info_);
      product(f);
      epilogue(f);
      result.passes.push_back(f.finish("matmul"));
    } else {
      std::vector<ArgInfo> more = info_;
      const int first = static_cast<int>(info_.size());
      const std::int64_t part = chunks_ * c_.batch * c_.m * c_.n / rows_;
      for (int r = 0; r < rows_; ++r) {
        result.scratch.push_back({part});
        more.push_back({part, false, -1});
      }
      Fragment f(more);
      product(f);
      const std::string groups = num(c_.m / rows_);
      f.body = "int row = i / " + num(c_.n / 4) + ";\nvec4 " + list("r") + ";\nproduct(row / " + groups + " % " +
               num(c_.batch) + ", row % " + groups + " * " + num(rows_) + ", i % " + num(c_.n / 4) + " * 4, row / " +
               num(c_.m / rows_ * c_.batch) + ", " + list("r") + ");\n";
      for (int r = 0; r < rows_; ++r) f.body += f.output(first + r) + " = r" + num(r) + ";\n";
      result.passes.push_back(f.finish("matmul " + num(rows_) + " rows"));
      Fragment rest(more);
      together(rest, first);
      epilogue(rest);
      result.passes.push_back(rest.finish("matmul epilogue"));
    }
    result.passes[0].flops = 2.0 * static_cast<double>(c_.batch * c_.m) * static_cast<double>(c_.n * c_.k);
    return result;
  }

 private:
  // The rows of an invocation, and the chunks of k, with the fewest reads.
  void choose_rows(const Caps& caps) {
    const std::int64_t texels = c_.batch * c_.m * c_.n / 4;
    std::int64_t fewest = texels * 5 * c_.k / 4;
    std::set<int> read;
    for (const Load& l : k_.body.loads) read.insert(l.arg);
    for (const int rows : {8, 4}) {
      if (c_.m % rows != 0 || rows > caps.max_outputs || rows + static_cast<int>(read.size()) > caps.max_inputs) continue;
      const std::int64_t chunks = chunks_for(texels / rows);
      const std::int64_t reads = texels * ((rows + 4) * c_.k / 4 / rows + chunks + kReadsTogether) + kPassReads;
      if (reads >= fewest) continue;
      fewest = reads;
      rows_ = rows;
      chunks_ = chunks;
    }
  }

  // They have one length, so that their loops are of a known one.
  std::int64_t chunks_for(std::int64_t invocations) const {
    if (c_.k % 4 != 0) return 1;
    const std::int64_t fours = c_.k / 4;
    for (std::int64_t chunks = 1; chunks <= c_.k / kShortChunk; ++chunks)
      if (fours % chunks == 0 && c_.k / chunks <= kLongChunk && invocations * chunks >= kManyInvocations) return chunks;
    // None has enough invocations: the most that there are.
    for (std::int64_t chunks = c_.k / kShortChunk; chunks > 1; --chunks)
      if (fours % chunks == 0) return chunks;
    return 1;
  }

  std::string list(const std::string& name) const {
    std::string text;
    for (int r = 0; r < rows_; ++r) text += (r ? ", " : "") + name + num(r);
    return text;
  }

  // A function product() that reads what product() of the first pass drew.
  void together(Fragment& f, int first) const {
    const std::string n = num(c_.n / 4), shift = rows_ == 8 ? "3" : "2";
    f.functions = "void product(int b, int m, int n, int chunk, out vec4 r0) {\nint row = b * " + num(c_.m) +
                  " + m, at = (row >> " + shift + ") * " + n + " + (n >> 2), part = row & " + num(rows_ - 1) +
                  ";\nr0 = vec4(0.0);\nfor (int c = 0; c < " + num(chunks_) + "; c++) {\n";
    for (int r = 0; r < rows_; ++r)
      f.functions += (r ? "else if (part == " : "if (part == ") + num(r) + ") r0 += " + f.texel(first + r, "at") + ";\n";
    f.functions += "at += " + num(c_.batch * c_.m / rows_ * c_.n / 4) + ";\n}\n}\n";
  }

  // void product(int b, int m, int n, int chunk, out r0, …): rows m … m + rows − 1, of each the elements n … n + 3, or n alone.
  void product(Fragment& f) const {
    f.uniform_flow = wide_;  // otherwise it is called for elements within the bounds
    const std::string type = wide_ ? "vec4" : "float";
    std::string& t = f.functions;
    t += "void product(int b, int m, int n, int chunk";
    for (int j = 0; j < rows_; ++j) t += ", out " + type + " r" + num(j);
    const std::int64_t whole = c_.k / 4 / chunks_ * 4;
    t += ") {\nint a = " + num(c_.a_offset) + " + b * " + num(c_.a_batch) + " + m * " + num(c_.a_m) + " + chunk * " +
         num(whole * c_.a_k) + ";\nint w = " + num(c_.b_offset) + " + b * " + num(c_.b_batch) + " + n * " + num(c_.b_n) +
         " + chunk * " + num(whole * c_.b_k) + ";\nint a_texel = a >> 2, w_texel = w >> 2;\n";
    for (int j = 0; j < rows_; ++j) t += "r" + num(j) + " = " + type + "(0.0);\n";
    if (whole > 0) {
      t += "for (int j = 0; j < " + num(whole / 4) + "; j++) {\n";
      const bool across = left(f), along = right(f);
      for (int j = 0; j < rows_; ++j) multiply(t, j, across, along);
      t += "}\n";
    }
    for (std::int64_t k = whole; chunks_ == 1 && k < c_.k; ++k) {
      const std::string at = "w + " + num(k * c_.b_k);
      t += "{\n" + type +
           " b0 = " + (wide_ ? f.four(1, at, c_.b_n, aligned(c_.b_offset, c_.b_batch, k * c_.b_k)) : f.element(1, at)) + ";\n";
      for (int j = 0; j < rows_; ++j)
        t += "r" + num(j) + " += " + f.element(0, "a + " + num(j * c_.a_m + k * c_.a_k)) + " * b0;\n";
      t += "}\n";
    }
    t += "}\n";
  }

  static bool aligned(std::int64_t offset, std::int64_t batch, std::int64_t stride) {
    return offset % 4 == 0 && batch % 4 == 0 && stride % 4 == 0;
  }

  // Row j of the step's four k. across: a0 … a3 are the k, each with four rows (a4 … a7: with the next four); otherwise the rows.
  // along: b0 … b3 are the n, each with four k, or there is one n; otherwise the k.
  void multiply(std::string& t, int j, bool across, bool along) const {
    auto a = [&](int q) { return across ? "a" + num(j / 4 * 4 + q) + "." + kLanes[j % 4] : "a" + num(j) + "." + kLanes[q]; };
    const std::string row = across ? "vec4(" + a(0) + ", " + a(1) + ", " + a(2) + ", " + a(3) + ")" : "a" + num(j);
    t += "r" + num(j) + " += ";
    if (!wide_) {
      t += "dot(" + row + ", b0);\n";
    } else if (along) {
      t += "vec4(";
      for (int q = 0; q < 4; ++q) t += "dot(" + row + ", b" + num(q) + (q < 3 ? "), " : "));\n");
    } else {
      for (int q = 0; q < 4; ++q) t += a(q) + " * b" + num(q) + (q < 3 ? " + " : ";\n");
    }
  }

  bool left(Fragment& f) const {
    const bool across = rows_ > 1 && c_.a_m == 1 && aligned(c_.a_offset, c_.a_batch, c_.a_k);
    const bool whole = across || (c_.a_k == 1 && aligned(c_.a_offset, c_.a_batch, c_.a_m));
    for (int j = 0; j < rows_; ++j) {
      const std::int64_t at = across ? j % 4 * c_.a_k + j / 4 * 4 : j * c_.a_m;
      f.functions += "vec4 a" + num(j) + " = " + four(f, 0, "a", at, c_.a_k, c_.a_k, whole) + ";\n";
    }
    return across;
  }

  bool right(Fragment& f) const {
    const bool along = !wide_ || (c_.b_k == 1 && c_.b_n != 1);
    const bool whole = (along ? c_.b_k : c_.b_n) == 1 && aligned(c_.b_offset, c_.b_batch, along ? c_.b_n : c_.b_k);
    for (int q = 0; q < (wide_ ? 4 : 1); ++q) {
      const std::int64_t at = q * (along ? c_.b_n : c_.b_k);
      f.functions += "vec4 b" + num(q) + " = " + four(f, 1, "w", at, c_.b_k, along ? c_.b_k : c_.b_n, whole) + ";\n";
    }
    return along;
  }

  // Four elements of an operand in step j of the loop over k in fours, `offset` behind `base`: a texel, or as far apart as `stride`.
  // Texels are counted as such: a shift of every index takes SwiftShader as long as half a read.
  static std::string four(Fragment& f, int arg, const std::string& base, std::int64_t offset, std::int64_t k,
                          std::int64_t stride, bool whole) {
    if (whole) return f.texel(arg, base + "_texel + " + num(offset / 4) + " + j * " + num(k));
    return f.four(arg, base + " + " + num(offset) + " + j * " + num(4 * k), stride, false);
  }

  // Draws C and what the epilogue makes of it, for a fragment that has a function product().
  void epilogue(Fragment& f) {
    const Body& body = k_.body;
    const bool stores_product = body.code.empty() || k_.store_product;
    f.uniform_flow = wide_ && flows_alike(body);
    PrintOptions o = print_options(f, wide_ ? 4 : 1);
    o.known = [](const Load& l) { return std::string(l.arg == 2 ? "r0" : ""); };
    const std::string n = num(wide_ ? c_.n / 4 : c_.n), type = wide_ ? "vec4" : "float";
    auto drawn = [&](const std::string& e) {
      const std::string m = num(c_.m), place = c_.batch == 1 ? "0, row" : "row / " + m + ", row % " + m;
      std::string t = "int row = " + e + " / " + n + ";\n" + type + " r0;\nproduct(" + place + ", (" + e + " - row * " + n +
                      ")" + (wide_ ? " * 4" : "") + ", 0, r0);\n";
      if (!body.code.empty())
        t += coordinates(body.space, e, "i", wide_ ? 4 : 1, o.index, Language::kGlsl) + print_code(body, o);
      return t;
    };
    std::vector<std::pair<int, std::string>> results;
    if (stores_product) results.emplace_back(2, "r0");
    for (const Store& s : body.stores) {
      TG_CHECK(is_dense(s.at, body.space) && s.at.offset == 0);
      results.emplace_back(s.arg, "v" + num(s.value));
    }
    if (wide_) {
      f.body += drawn("i");
      for (const auto& [arg, value] : results) f.body += f.output(arg) + " = " + value + ";\n";
      return;
    }
    std::string parameters, assignments, arguments;
    for (std::size_t s = 0; s < results.size(); ++s) {
      const std::string q = "q" + num(static_cast<std::int64_t>(s));
      parameters += ", out float " + q;
      assignments += q + " = " + results[s].second + ";\n";
      arguments += ", " + q + "[lane]";
      f.body += "vec4 " + q + " = vec4(0.0);\n";
    }
    f.functions += "void at(int e" + parameters + ") {\n" + drawn("e") + assignments + "}\n";
    f.body += "for (int lane = 0; lane < 4; lane++) {\nif (4 * i + lane < " + num(c_.batch * c_.m * c_.n) +
              ") at(4 * i + lane" + arguments + ");\n}\n";
    for (std::size_t s = 0; s < results.size(); ++s)
      f.body += f.output(results[s].first) + " = q" + num(static_cast<std::int64_t>(s)) + ";\n";
  }

  const Kernel& k_;
  const Contract& c_;
  const std::vector<ArgInfo>& info_;
  bool wide_;
  int rows_ = 1;
  std::int64_t chunks_ = 1;
};

}  // namespace

Passes contract_passes(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  return Emitter(k, info, caps).run();
}

}  // namespace tabgrad::codegen
