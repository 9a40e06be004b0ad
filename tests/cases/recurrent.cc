// LSTM and both GRU variants over sequences: sizes around vector widths, initial state given and absent, stacked layers.
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

using Dim = std::int64_t;
enum class Kind { kLstm, kGruAfter, kGruBefore };
constexpr const char* kNames[] = {"lstm", "gru_after", "gru_before"};

// The last h alone, every h, or both are used: the gradient of most h is then zero, or none is.
Case sequence(Kind kind, Dim t, Dim b, Dim h, bool state, bool last) {
  const Dim gates = kind == Kind::kLstm ? 4 : 3;
  Case c{.name = str(kNames[static_cast<int>(kind)], "_", t, "x", b, "x", h, state ? "_state" : "_zero", last ? "_last" : ""),
         .inputs = {{"xw", {t, b, gates * h}, -2, 2}, {"wh", {h, gates * h}}},
         .differences = t * b * h < 500,
         .large = t * b * h > 5000};
  if (kind != Kind::kLstm) c.inputs.push_back({"bh", {3 * h}});
  if (state) c.inputs.push_back({"h0", {b, h}});
  if (state && kind == Kind::kLstm) c.inputs.push_back({"c0", {b, h}});
  c.build = [kind, state, last, t](Graph&, const std::vector<Tensor>& in) {
    const Tensor none;
    const Tensor y = kind == Kind::kLstm ? lstm_sequence(in[0], in[1], state ? in[2] : none, state ? in[3] : none)
                                         : gru_sequence(in[0], in[1], in[2], kind == Kind::kGruAfter, state ? in[3] : none);
    return std::vector<Tensor>{last ? slice(y, 0, t - 1, t) : y};
  };
  return c;
}

std::vector<Case> sized_cases() {
  std::vector<Case> cases;
  for (Kind kind : {Kind::kLstm, Kind::kGruAfter, Kind::kGruBefore}) {
    cases.push_back(sequence(kind, 1, 1, 1, true, false));
    cases.push_back(sequence(kind, 1, 7, 7, false, false));
    cases.push_back(sequence(kind, 5, 1, 7, true, false));
    cases.push_back(sequence(kind, 5, 7, 7, true, true));
    cases.push_back(sequence(kind, 5, 7, 1, false, false));
    cases.push_back(sequence(kind, 5, 3, 32, true, false));
    cases.push_back(sequence(kind, 6, 8, 16, true, false));
    cases.push_back(sequence(kind, 24, 7, 7, false, true));
    cases.push_back(sequence(kind, 24, 33, 32, true, false));
    cases.push_back(sequence(kind, 5, 33, 33, false, false));
    cases.push_back(sequence(kind, 3, 2, 130, true, false));   // more weights than registers hold, inputs padded
    cases.push_back(sequence(kind, 2, 130, 68, false, false));  // several sequences a workgroup
    const Dim many = kind == Kind::kLstm ? 60 : 68;  // enough for products in passes of their own,
    cases.push_back(sequence(kind, 4, 16, many, true, false));  // by eights of sequences
    cases.push_back(sequence(kind, 3, 20, many, false, true));  // and by fours
    cases.push_back(sequence(kind, 2, 1, 260, false, true));   // more outputs than invocations
  }
  return cases;
}

const bool kAdded =
    add_cases(sized_cases()) &&
    add_cases({
        // Two layers with input projections and a head, batch-major outside, as forecasters use them.
        {.name = "lstm_two_layers",
         .inputs = {{"x", {3, 6, 2}},
                    {"w1", {2, 20}},
                    {"u1", {5, 20}},
                    {"b1", {20}},
                    {"w2", {5, 16}},
                    {"u2", {4, 16}},
                    {"b2", {16}},
                    {"head", {4, 3}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               const Tensor x = permute(in[0], {1, 0, 2});
               const Tensor y1 = lstm_sequence(linear(x, in[1], in[3]), in[2]);
               const Tensor y2 = lstm_sequence(linear(y1, in[4], in[6]), in[5]);
               return std::vector<Tensor>{matmul(reshape(slice(y2, 0, 5, 6), {3, 4}), in[7])};
             }},
        {.name = "gru_into_lstm",
         .inputs = {{"xw", {4, 3, 15}}, {"u1", {5, 15}}, {"b1", {15}}, {"w2", {5, 20}}, {"u2", {5, 20}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               const Tensor y1 = gru_sequence(in[0], in[1], in[2], true);
               const Tensor first = reshape(slice(y1, 0, 0, 1), {3, 5}), last = reshape(slice(y1, 0, 3, 4), {3, 5});
               return std::vector<Tensor>{lstm_sequence(matmul(y1, in[3]), in[4], last, first * 0.5)};
             }},
        // Saturated gates: large inputs must not give NaN.
        {.name = "lstm_saturated",
         .inputs = {{"xw", {5, 3, 28}, -300, 300}, {"wh", {7, 28}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{lstm_sequence(in[0], in[1])}; },
         .differences = false},
        {.name = "gru_saturated",
         .inputs = {{"xw", {5, 3, 21}, -300, 300}, {"wh", {7, 21}}, {"bh", {21}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{gru_sequence(in[0], in[1], in[2], true), gru_sequence(in[0], in[1], in[2], false)};
             },
         .differences = false},
    });

}  // namespace
}  // namespace tabgrad::optest
