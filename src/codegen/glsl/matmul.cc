// Contract. A pass draws a texel of C, four neighbours along n, by a loop over k in fours, with the epilogue behind it.
//
// What costs is fetching texels: five for 16 multiply-adds. So large products are drawn four rows at once into four textures (row r
// into texture r mod 4), which is eight fetches for 64; a second pass puts them together and runs the epilogue.
#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {
namespace {

// A second pass costs about as much as so many fetches.
constexpr std::int64_t kPassFetches = 16000;

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) : k_(k), c_(k.contract), info_(info) {
    wide_ = c_.n % 4 == 0 && (k.body.code.empty() || draws_by_fours(k.body));
    const std::int64_t texels = c_.batch * c_.m * c_.n / 4;
    blocked_ = wide_ && c_.m % 4 == 0 && c_.k >= 16 && caps.max_outputs >= 4 && texels * (3 * c_.k / 4 - 5) > kPassFetches;
  }

  Passes run() {
    Passes result;
    if (!blocked_) {
      Fragment f(info_);
      product(f, 1);
      epilogue(f);
      result.passes.push_back(f.finish("matmul"));
    } else {
      std::vector<ArgInfo> more = info_;
      const int first = static_cast<int>(info_.size());
      const std::int64_t part = c_.batch * c_.m * c_.n / 4;
      for (int r = 0; r < 4; ++r) {
        result.scratch.push_back({part});
        more.push_back({part, false, -1});
      }
      Fragment f(more);
      product(f, 4);
      f.body = "int row = i / " + num(c_.n / 4) + ";\nvec4 r0, r1, r2, r3;\nproduct(row / " + num(c_.m / 4) + ", row % " +
               num(c_.m / 4) + " * 4, i % " + num(c_.n / 4) + " * 4, r0, r1, r2, r3);\n";
      for (int r = 0; r < 4; ++r) f.body += f.output(first + r) + " = r" + num(r) + ";\n";
      result.passes.push_back(f.finish("matmul 4 rows"));
      Fragment rest(more);
      const std::string n = num(c_.n / 4), at = "(row >> 2) * " + n + " + i % " + n;
      rest.functions = "void product(int b, int m, int n, out vec4 r0) {\nint row = b * " + num(c_.m) +
                       " + m, at = (row >> 2) * " + n + " + (n >> 2), part = row & 3;\n";
      for (int r = 0; r < 4; ++r)
        rest.functions += (r ? "else if (part == " : "if (part == ") + num(r) + ") r0 = " + rest.texel(first + r, "at") + ";\n";
      rest.functions += "}\n";
      epilogue(rest);
      result.passes.push_back(rest.finish("matmul epilogue"));
    }
    result.passes[0].flops = 2.0 * static_cast<double>(c_.batch * c_.m) * static_cast<double>(c_.n * c_.k);
    return result;
  }

 private:
  // void product(int b, int m, int n, out r0, …): rows m … m + rows − 1, of each the elements n … n + 3, or n alone.
  void product(Fragment& f, int rows) {
    const std::string type = wide_ ? "vec4" : "float";
    std::string& t = f.functions;
    t += "void product(int b, int m, int n";
    for (int j = 0; j < rows; ++j) t += ", out " + type + " r" + num(j);
    t += ") {\nint a = " + num(c_.a_offset) + " + b * " + num(c_.a_batch) + " + m * " + num(c_.a_m) +
         ";\nint w = " + num(c_.b_offset) + " + b * " + num(c_.b_batch) + " + n * " + num(c_.b_n) + ";\n";
    for (int j = 0; j < rows; ++j) t += "r" + num(j) + " = " + type + "(0.0);\n";
    const std::int64_t whole = c_.k / 4 * 4;
    if (whole > 0) {
      t += "for (int k = 0; k < " + num(whole) + "; k += 4) {\n";
      const bool across = left(f, rows), along = right(f);
      for (int j = 0; j < rows; ++j) multiply(t, j, across, along);
      t += "}\n";
    }
    for (std::int64_t k = whole; k < c_.k; ++k) {
      const std::string at = "w + " + num(k * c_.b_k);
      t += "{\n" + type +
           " b0 = " + (wide_ ? f.four(1, at, c_.b_n, aligned(c_.b_offset, c_.b_batch, k * c_.b_k)) : f.element(1, at)) + ";\n";
      for (int j = 0; j < rows; ++j)
        t += "r" + num(j) + " += " + f.element(0, "a + " + num(j * c_.a_m + k * c_.a_k)) + " * b0;\n";
      t += "}\n";
    }
    t += "}\n";
  }

  static bool aligned(std::int64_t offset, std::int64_t batch, std::int64_t stride) {
    return offset % 4 == 0 && batch % 4 == 0 && stride % 4 == 0;
  }

  // Row j of the step's four k. across: a0 … a3 are the k, each with four rows; otherwise the rows. along: b0 … b3 are the n, each with
  // four k, or there is one n; otherwise the k.
  void multiply(std::string& t, int j, bool across, bool along) const {
    auto a = [&](int q) { return across ? "a" + num(q) + "." + kLanes[j] : "a" + num(j) + "." + kLanes[q]; };
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

  bool left(Fragment& f, int rows) const {
    std::string& t = f.functions;
    const std::string k = c_.a_k == 1 ? "k" : "k * " + num(c_.a_k);
    const bool across = rows == 4 && c_.a_m == 1 && c_.a_k != 1 && aligned(c_.a_offset, c_.a_batch, c_.a_k);
    for (int j = 0; j < rows; ++j) {
      const std::string at = "a + " + num(j * (across ? c_.a_k : c_.a_m)) + " + " + k;
      t += "vec4 a" + num(j) + " = " + f.four(0, at, across ? 1 : c_.a_k, across || aligned(c_.a_offset, c_.a_batch, c_.a_m)) +
           ";\n";
    }
    return across;
  }

  bool right(Fragment& f) const {
    std::string& t = f.functions;
    const std::string k = c_.b_k == 1 ? "k" : "k * " + num(c_.b_k);
    const bool along = !wide_ || (c_.b_k == 1 && c_.b_n != 1);
    for (int q = 0; q < (wide_ ? 4 : 1); ++q) {
      const std::string at = "w + " + num(q * (along ? c_.b_n : c_.b_k)) + " + " + k;
      const bool whole = aligned(c_.b_offset, c_.b_batch, along ? c_.b_n : c_.b_k);
      t += "vec4 b" + num(q) + " = " + f.four(1, at, along ? c_.b_k : c_.b_n, whole) + ";\n";
    }
    return along;
  }

  // Draws C and what the epilogue makes of it, for a fragment that has a function product().
  void epilogue(Fragment& f) {
    const Body& body = k_.body;
    const bool stores_product = body.code.empty() || k_.store_product;
    PrintOptions o = print_options(f, wide_ ? 4 : 1);
    o.known = [](const Load& l) { return std::string(l.arg == 2 ? "r0" : ""); };
    const std::string n = num(wide_ ? c_.n / 4 : c_.n), type = wide_ ? "vec4" : "float";
    auto drawn = [&](const std::string& e) {
      std::string t = "int row = " + e + " / " + n + ";\n" + type + " r0;\nproduct(row / " + num(c_.m) + ", row % " +
                      num(c_.m) + ", " + e + " % " + n + (wide_ ? " * 4" : "") + ", r0);\n";
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
  bool wide_, blocked_;
};

}  // namespace

Passes contract_passes(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  return Emitter(k, info, caps).run();
}

}  // namespace tabgrad::codegen
