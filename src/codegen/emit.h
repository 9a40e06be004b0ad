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
// Element (an i32 expression) of an argument, or the four from there on.
std::string load_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element, bool whole);
std::string store_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element,
                       const std::string& value, bool whole);
// The body's stores for the indices of `options`.
std::string print_stores(const Part& part, const std::vector<ArgInfo>& info, const Body& body, const PrintOptions& options);
// Coordinates of element `linear` of a space as lets named prefix0, prefix1, …; the last one steps by `width`.
std::string coordinates(const Dims& space, const std::string& linear, const std::string& prefix, int width,
                        std::vector<std::string>& names);

Part map_part(const Kernel& kernel, const std::vector<ArgInfo>& info);
Parts reduce_parts(const Kernel& kernel, const std::vector<ArgInfo>& info);
Parts contract_parts(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Part gather_part(const Kernel& kernel, const std::vector<ArgInfo>& info);
Part segment_sum_part(const Kernel& kernel, const std::vector<ArgInfo>& info);

}  // namespace tabgrad::codegen
