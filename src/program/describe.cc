#include <sstream>

#include "program/program.h"

namespace tabgrad {
namespace {

const char* kind_name(const Kernel& k) {
  switch (k.kind) {
    case KernelKind::kMap: return "map";
    case KernelKind::kReduce: return k.reduce == ReduceOp::kSum ? "reduce sum" : "reduce max";
    case KernelKind::kContract: return "matmul";
    case KernelKind::kGather: return "gather";
    case KernelKind::kSegmentSum: return "segment_sum";
    case KernelKind::kComposite: return composite_name(k.composite);
    case KernelKind::kShader: return k.shader.name.c_str();
  }
  TG_CHECK(false);
}

}  // namespace

std::string describe(const Kernel& k, const Launch& launch) {
  std::ostringstream out;
  if (!launch.label.empty()) out << launch.label << ": ";
  out << kind_name(k) << (k.grad ? " gradient" : "");
  if (k.kind == KernelKind::kContract) {
    const Contract& c = k.contract;
    out << " ";
    if (c.batch > 1) out << c.batch << "×";
    out << c.m << "×" << c.n << "×" << c.k;
    if (!k.body.code.empty()) out << " + " << k.body.code.size() << " ops";
  } else if (!k.body.code.empty()) {
    out << " " << to_string(k.body.space) << " " << k.body.code.size() << " ops";
  }
  return out.str();
}

}  // namespace tabgrad
