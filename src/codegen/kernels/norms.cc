// Claimed layer norm and RMS norm, forward and backward.
#include "codegen/kernels/rows.h"
#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

constexpr std::int64_t kMostChunks = 512;  // of rows, for the sums of dgamma and dbeta

std::string num(std::int64_t n) { return std::to_string(n); }

// Sums over the middle of a scratch (chunks, columns), argument `scratch`, into argument `to`.
Part sum_chunks(const std::vector<ArgInfo>& info, int scratch, std::int64_t offset, std::int64_t chunks, std::int64_t columns,
                int to) {
  Kernel k;
  k.kind = KernelKind::kReduce;
  k.reduced = 1;
  k.keep_last = true;
  k.body.space = {chunks, columns};
  k.body.loads = {{scratch, {{columns, 1}, offset, {}}, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  k.body.code = {load};
  k.body.stores = {{to, 0, {{1}, 0, {}}}};
  Parts parts = reduce_parts(k, info, false);
  TG_CHECK(parts.parts.size() == 1);
  return std::move(parts.parts[0]);
}

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps, const RowSource* source)
      : k_(k), info_(info), source_(source), layer_(k.composite == Composite::kLayerNorm) {
    const bool epilogue = !k.body.code.empty();
    const std::int64_t cols = k.arg_dims[0][1];
    const bool wide =
        cols % 4 == 0 && (!epilogue || widens(k.body)) && (!source || source->body.code.empty() || widens(source->body));
    teams_ = row_teams(k.arg_dims[0][0], cols, wide, caps.subgroups, !k.grad);
  }

  Parts forward() {
    part_ = row_part(templates::norm, layer_ ? "layer norm" : "rms norm", teams_, {is_layer(), {"EPS", number(k_.attrs.eps)}});
    replace(part_.body, "#beta", layer_ ? " + $beta[c@]" : "");
    replace(part_.body, "#mean", layer_ ? "\n  $mean_out[row] = mean;" : "");
    const int y = layer_ ? 3 : 2;
    name("gamma", 1, false);
    if (layer_) name("beta", 2, false);
    name("y", y, true);
    if (layer_) name_arg(part_, info_, "mean_out", 4, true);
    name_arg(part_, info_, "rstd_out", y + (layer_ ? 2 : 1), true);
    row_function(0, "x");
    part_.body = row_text(part_.body, teams_);
    return {{std::move(part_)}, {}};
  }

  Parts backward() {
    const int rstd = layer_ ? 5 : 3, dy = rstd + 1, dx = dy + 1, scratch = static_cast<int>(info_.size());
    const std::int64_t each = ceil_div(teams_.rows, kMostChunks * teams_.teams);
    const std::int64_t chunks = ceil_div(teams_.rows, each * teams_.teams), outputs = layer_ ? 2 : 1;
    Parts result;
    result.scratch = {{outputs * chunks * teams_.cols}};
    std::vector<ArgInfo> more = info_;
    more.push_back({result.scratch[0][0], false, -1});
    part_ = row_part(templates::norm_grad, layer_ ? "layer norm gradient" : "rms norm gradient", teams_,
                     {is_layer(), {"EACH", num(each)}});
    part_.workgroups = chunks;
    part_.shared.push_back({"add", teams_.wide ? "vec4f" : "f32", teams_.threads()});
    replace(part_.body, "#mean", layer_ ? "$mean[min(row, $R - 1)]" : "0.0");
    team_sums("dgamma", 0);
    if (layer_) team_sums("dbeta", chunks * teams_.units);
    name("x", 0, false);
    name("gamma", 1, false);
    if (layer_) name_arg(part_, info_, "mean", 4, false);
    name_arg(part_, info_, "rstd", rstd, false);
    name_arg(part_, more, "partial", scratch, true, teams_.wide);
    row_function(dy, "dy");
    put_function(dx);
    part_.body = unrolled(part_.body, teams_.own);  // they keep sums of their columns
    result.parts.push_back(std::move(part_));
    for (int i = 0; i < outputs; ++i)
      result.parts.push_back(sum_chunks(more, scratch, i * chunks * teams_.cols, chunks, teams_.cols, dx + 1 + i));
    return result;
  }

 private:
  Constant is_layer() const { return {"LAYER", layer_ ? "true" : "false"}; }
  void name(const char* as, int arg, bool written) { name_arg(part_, info_, as, arg, written, teams_.wide); }

  // The teams' sums of a variable, added up and stored at partial[first …].
  void team_sums(const std::string& variable, std::int64_t first) {
    part_.body += "@d $add[lid] = " + variable +
                  "@; workgroupBarrier(); if (team == 0 && c@ < $U) { var v = $add[lane]; for (var t = 1; " +
                  "t < $ROWS; t++) { v += $add[lane + t * $T]; } $partial[" + num(first) +
                  " + i32(wg) * $U + c@] = v; } workgroupBarrier();\n";
  }

  // fn load_row(row, c): unit c of a row of argument `arg`, or of what makes it up.
  void row_function(int arg, const char* name_of_arg) {
    std::string text;
    if (!source_) {
      name(name_of_arg, arg, false);
      text = std::string("return $") + name_of_arg + "[row * $U + c];\n";
    } else {
      const RowSource& s = *source_;
      part_.args.push_back(
          {"products", s.partial, false, false, teams_.wide, info_[static_cast<std::size_t>(s.partial)].elements});
      if (s.store_product) use_arg(part_, info_, s.product, true, teams_.wide);
      use(s.body, s.product);
      text = "let e = row * $U + c;\nvar sum = $products[e];\n";
      for (std::int64_t i = 1; i < s.split; ++i) text += "sum += $products[e + " + num(i * teams_.rows * teams_.units) + "];\n";
      if (s.store_product) text += store_text(part_, info_, s.product, teams_.wide ? "e * 4" : "e", "sum", teams_.wide);
      text += body_text(s.body, s.product, "sum") + "return " + (s.value < 0 ? "sum" : "v" + std::to_string(s.value)) + ";\n";
    }
    part_.declarations += "fn $load_row(row: i32, c: i32) -> $V {\n" + text + "}\n";
  }

  // fn store_row(row, c, dx): stores a unit of dx, and what the epilogue makes of it.
  void put_function(int dx) {
    const bool epilogue = !k_.body.code.empty(), store = !epilogue || k_.store_product;
    if (store) name("dx", dx, true);
    if (epilogue) use(k_.body, dx);
    part_.declarations += "fn $store_row(row: i32, c: i32, dx: $V) {\n" +
                          std::string(store ? "$dx[row * $U + c] = dx;\n" : "") +
                          (epilogue ? body_text(k_.body, dx, "dx") : "") + "}\n";
  }

  void use(const Body& body, int known) { use_epilogue_args(part_, body, info_, known, teams_.wide); }
  // The body at unit c of a row; what it loads of argument `known` is at hand.
  std::string body_text(const Body& body, int known, const std::string& value) const {
    const std::string step = teams_.wide ? "4" : "1";
    return "let column = c * " + step + ";\n" +
           print_epilogue(part_, info_, body, known, value, "row", "column", teams_.wide ? 4 : 1);
  }

  const Kernel& k_;
  const std::vector<ArgInfo>& info_;
  const RowSource* source_;
  const bool layer_;
  RowTeams teams_;
  Part part_;
};

}  // namespace

// Arguments: x, gamma, [beta] → y, [mean], rstd; gradient: those, dy → dx, dgamma, [dbeta].
Parts norm_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps, const RowSource* source) {
  Emitter e(k, info, caps, source);
  return k.grad ? e.backward() : e.forward();
}

}  // namespace tabgrad::codegen
