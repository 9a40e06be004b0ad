// Fragment: the text of one pass under construction, and the emitters of passes.
//
// In the body `i` is the texel of the outputs that is drawn. Reading text and output names come from texel(), element() and output(),
// which also declare what they name.
#pragma once

#include <string>
#include <vector>

#include "codegen/glsl/glsl.h"
#include "codegen/printer.h"

namespace tabgrad::codegen {

inline std::string num(std::int64_t n) { return std::to_string(n); }
// A pass more costs about as much as so many reads of texels: 90 µs of a core in SwiftShader, which reads one in 2.9 ns. GPUs read
// far more in the time of a launch, so this errs towards few reads.
inline constexpr std::int64_t kPassReads = 30000;

inline constexpr const char* kLanes[] = {"x", "y", "z", "w"};

class Fragment {
 public:
  explicit Fragment(const std::vector<ArgInfo>& info) : info_(info) {}

  std::string texel(int arg, const std::string& i);  // four elements
  std::string element(int arg, const std::string& e);  // one
  // Elements e, e + stride, e + 2·stride, e + 3·stride. aligned: e is a multiple of 4.
  std::string four(int arg, const std::string& e, std::int64_t stride, bool aligned);
  // The vector to assign to. Outputs of a pass have one number of elements.
  std::string output(int arg);

  // Set while what is written is run by all invocations alike: no branch or loop on what differs between them. Then texel() is read by
  // a sampler, which needs that in the language's letter, and which some drivers' compilers insist on. SwiftShader takes 2.9 ns for it
  // and 5.3 for texelFetch.
  bool uniform_flow = false;

  std::string functions, body;

  // Draws all texels of the outputs.
  Pass finish(const std::string& name) const;
  // Draws texels index·count … (index+1)·count − 1 alone.
  Pass finish_part(const std::string& name, int index, std::int64_t count) const;

 private:
  struct Binding {
    int arg;
    std::int64_t elements;
  };
  std::size_t input(int arg);
  Pass made(const std::string& name, const std::string& guard) const;

  const std::vector<ArgInfo>& info_;
  std::vector<Binding> inputs_, outputs_;
};

// Whether four neighbours along the last dimension can be computed at once.
bool draws_by_fours(const Body& body);
// Whether all invocations run the body alike, as Fragment::uniform_flow says: nothing is loaded on a condition.
bool flows_alike(const Body& body);
// Options whose loads read from the fragment.
PrintOptions print_options(Fragment& f, int width);
// Reads of a load whose four neighbours are wanted.
bool is_aligned(const FlatAccess& at);
// The kernel with one load of all of `from`, stored to `to`: the start of small kernels that emitters need.
Kernel copy_of(const Dims& space, const FlatAccess& from);

Passes map_passes(const Kernel& kernel, const std::vector<ArgInfo>& info);
Passes reduce_passes(const Kernel& kernel, const std::vector<ArgInfo>& info);
Passes contract_passes(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);
Passes gather_passes(const Kernel& kernel, const std::vector<ArgInfo>& info);
Passes segment_sum_passes(const Kernel& kernel, const std::vector<ArgInfo>& info);
Passes recurrent_passes(const Kernel& kernel, const std::vector<ArgInfo>& info, const Caps& caps);

}  // namespace tabgrad::codegen
