// What the emitters of parts share.
#pragma once

#include <algorithm>
#include <string>

#include "codegen/part.h"
#include "codegen/printer.h"

namespace tabgrad::codegen {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

inline bool shares_args(const std::vector<ArgInfo>& info) {
  return std::any_of(info.begin(), info.end(), [](const ArgInfo& a) { return a.same_as >= 0; });
}
// The buffer's first number among the arguments.
inline int arg_id(const std::vector<ArgInfo>& info, int arg) {
  const int same = info[static_cast<std::size_t>(arg)].same_as;
  return same >= 0 ? same : arg;
}

// Declares an argument of the part, named a0, a1, … after its first number; again: adds to what is known of it. A buffer that
// is read by fours somewhere is an array of vectors, from which single elements can be read too, but not written.
void use_arg(Part& part, const std::vector<ArgInfo>& info, int arg, bool written, bool vec4);
void use_body_args(Part& part, const Body& body, const std::vector<ArgInfo>& info, bool wide);
// Those of an epilogue that are not declared yet, but what it loads of `known`.
void use_epilogue_args(Part& part, const Body& body, const std::vector<ArgInfo>& info, int known, bool wide);
// Element (an i32 expression) of an argument, or the four from there on.
std::string load_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element, bool whole);
std::string store_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element,
                       const std::string& value, bool whole);
// The body's stores for the indices of `options`.
std::string print_stores(const Part& part, const std::vector<ArgInfo>& info, const Body& body, const PrintOptions& options);

// An epilogue: the body at (`row`, `column`), i32 expressions; the last dimension of its space is the columns'. What it loads of
// argument `known` is `value`, a name.
std::string print_epilogue(const Part& part, const std::vector<ArgInfo>& info, const Body& body, int known,
                           const std::string& value, const std::string& row, const std::string& column, int width);

// A part from a text of templates/: constants as `const $NAME = value;` lines, then what stands before the line `// body` as
// declarations, the rest as the body. Arguments take the names that are given, in order.
struct Constant {
  const char* name;
  std::string value;
};
Part template_part(const char* text, std::string name, const std::vector<Constant>& constants);
// Declares argument `arg` of the kernel under the name that the template uses.
void name_arg(Part& part, const std::vector<ArgInfo>& info, const char* name, int arg, bool written, bool vec4 = false);

Part map_part(const Kernel& kernel, const std::vector<ArgInfo>& info);
// `cut`: in chunks, with a second part for their sum, where there are few results.
Parts reduce_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, bool cut = true);
Part gather_part(const Kernel& kernel, const std::vector<ArgInfo>& info);
Part segment_sum_part(const Kernel& kernel, const std::vector<ArgInfo>& info);
Parts softmax_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Parts cross_entropy_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Parts attention_parts(const Kernel& kernel, const std::vector<ArgInfo>& info);
Parts recurrent_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Parts sum_squares_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Part optimizer_part(const Kernel& kernel, const std::vector<ArgInfo>& info, const std::vector<std::string>& uniforms);

}  // namespace tabgrad::codegen
