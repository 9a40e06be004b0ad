// A Program as text, for people.
#include <iomanip>
#include <sstream>

#include "plan/plan.h"

namespace tabgrad {
namespace {

void write_access(std::ostream& out, const FlatAccess& a) {
  out << "[" << a.offset;
  for (std::size_t i = 0; i < a.strides.size(); ++i)
    if (a.strides[i]) out << " + " << a.strides[i] << "·i" << i;
  for (const DimRange& r : a.ranges) out << ", " << r.low << " ≤ i" << r.dim << " < " << r.high;
  out << "]";
}

void write_body(std::ostream& out, const Body& body, const std::vector<std::string>& uniforms) {
  for (std::size_t i = 0; i < body.code.size(); ++i) {
    const Instr& in = body.code[i];
    out << "      %" << i << " = ";
    switch (in.kind) {
      case InstrKind::kLoad: {
        const Load& l = body.loads[static_cast<std::size_t>(in.index)];
        out << "load a" << l.arg;
        write_access(out, l.at);
        break;
      }
      case InstrKind::kConst: out << in.value; break;
      case InstrKind::kUniform: out << "uniform " << uniforms[static_cast<std::size_t>(in.index)]; break;
      case InstrKind::kIndex:
        out << "index";
        write_access(out, {in.affine.coef, in.affine.offset, {}});
        break;
      case InstrKind::kRandom:
        out << "random stream " << in.index << " ";
        write_access(out, {in.affine.coef, in.affine.offset, {}});
        break;
      case InstrKind::kScalar: {
        out << scalar_info(in.scalar).name;
        for (int operand : {in.a, in.b, in.c})
          if (operand >= 0) out << " %" << operand;
        break;
      }
    }
    out << "\n";
  }
  for (const Store& s : body.stores) {
    out << "      a" << s.arg;
    write_access(out, s.at);
    out << " = %" << s.value << "\n";
  }
}

}  // namespace

std::string dump(const Program& program) {
  std::ostringstream out;
  out << std::fixed;
  for (const Entry& e : program.entries) {
    out << e.name << ": " << e.launches.size() << " launches, arena " << std::setprecision(2)
        << static_cast<double>(e.arena_elements) * 4e-6 << " MB\n";
    for (std::size_t i = 0; i < e.launches.size(); ++i) {
      const Launch& l = e.launches[i];
      const Kernel& k = program.kernels[static_cast<std::size_t>(l.kernel)];
      out << "  " << std::setw(3) << i << "  " << describe(k, l) << "   " << std::setprecision(3) << l.flops * 1e-6
          << " MFLOP, " << l.bytes * 1e-6 << " MB\n";
      for (std::size_t a = 0; a < l.args.size(); ++a) {
        if (l.args[a] < 0) continue;
        const Buffer& b = program.buffers[static_cast<std::size_t>(l.args[a])];
        out << "      a" << a << " = " << b.name << " " << to_string(b.dims);
        if (b.role == BufferRole::kActivation) out << " @" << b.arena_offset;
        out << "\n";
      }
      write_body(out, k.body, program.uniforms);
    }
  }
  return out.str();
}

}  // namespace tabgrad
