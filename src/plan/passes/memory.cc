// Buffers and their places: from a kernel plan without copies to an entry of the Program.
//
// Activations share one arena a entry point. Each lives from the kernel that writes it to the last that reads it; the largest
// are placed first, each at the lowest place that no neighbour in time uses; where buffers are textures, each in one of its
// shape that is free meanwhile (what one pass draws into must have one shape). An elementwise kernel writes over an argument that dies
// with it (one lifetime, one place), where the target allows.
#include <algorithm>
#include <cstring>
#include <map>

#include "kernel/texture.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

class Emitter {
 public:
  Emitter(const KernelPlan& plan, const std::string& name, const Caps& caps, Program& program)
      : plan_(plan), graph_(plan.graph), caps_(caps), program_(program) {
    entry_.name = name;
  }

  void run() {
    for (const Node& n : graph_.nodes)
      if (n.op == Op::kInput) input_buffer(n);
    for (const KernelPlan::Copy& c : plan_.copies)
      buffers_[id(c.from)] = named_buffer(c.name, BufferRole::kOutput, graph_.type(c.from));
    for (const auto& [value, target] : plan_.in_place) buffers_[id(value)] = buffers_.at(id(target));
    for (const KernelPlan::Pack& p : plan_.packs) pack(p);
    for (const auto& [value, target] : plan_.swaps) buffers_[id(value)] = alone(value);
    lifetimes();
    share_in_place();
    if (caps_.max_texture_dim > 0) {
      place_textures();
    } else {
      place();
    }
    for (const PlanKernel& k : plan_.kernels) launch(k);
    for (const auto& [value, target] : plan_.swaps) entry_.swaps.push_back({buffers_.at(id(value)), buffers_.at(id(target))});
    program_.entries.push_back(std::move(entry_));
  }

 private:
  int add_buffer(Buffer b) {
    program_.buffers.push_back(std::move(b));
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  int named_buffer(const std::string& name, BufferRole role, const TensorType& type) {
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      if (b.name != name || b.role == BufferRole::kActivation) continue;
      if (b.role != role || b.dims != type.dims || b.dtype != type.dtype)
        fail("[compile] '", name, "' is ", to_string(b.dims), " in one entry point and ", to_string(type.dims), " in '",
             entry_.name, "', or has another role there");
      return static_cast<int>(i);
    }
    return add_buffer({name, role, type.dtype, type.dims, -1, {}, -1, 0});
  }

  void input_buffer(const Node& n) {
    const Value v{static_cast<int>(&n - graph_.nodes.data()), 0};
    int buffer = -1;
    switch (n.role) {
      case Role::kParameter: buffer = named_buffer(n.name, BufferRole::kParameter, n.outputs[0]); break;
      case Role::kState: buffer = named_buffer(n.name, BufferRole::kState, n.outputs[0]); break;
      case Role::kInput: buffer = named_buffer(n.name, BufferRole::kInput, n.outputs[0]); break;
      case Role::kConstant: {
        buffer = named_buffer(n.name, BufferRole::kConstant, n.outputs[0]);
        const HostTensor& t = graph_.literals[static_cast<std::size_t>(n.literal)];
        const void* data = t.dtype == DType::kF32 ? static_cast<const void*>(t.f32.data()) : t.i32.data();
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(t.size()) * 4);
        std::memcpy(bytes.data(), data, bytes.size());
        Buffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
        if (!b.data.empty() && b.data != bytes) fail("[compile] two constants are named '", n.name, "'");
        b.data = std::move(bytes);
        break;
      }
    }
    buffers_[id(v)] = buffer;
  }

  // Members that are packed already, by another entry, must lie as they do here.
  void pack(const KernelPlan::Pack& p) {
    int number = -1;
    if (!p.gradients) number = program_.buffers[static_cast<std::size_t>(buffers_.at(id(p.values[0])))].pack;
    if (number < 0) {
      number = static_cast<int>(program_.packs.size());
      program_.packs.push_back(p.elements);
    }
    for (std::size_t i = 0; i < p.values.size(); ++i) {
      const Value v = p.values[i];
      if (p.gradients) {
        buffers_[id(v)] = add_buffer(
            {activation_name(v), BufferRole::kActivation, DType::kF32, graph_.dims(v), -1, {}, number, p.offsets[i]});
        continue;
      }
      Buffer& b = program_.buffers[static_cast<std::size_t>(buffers_.at(id(v)))];
      if (b.pack >= 0 && (b.pack != number || b.pack_offset != p.offsets[i]))
        fail("[compile] '", b.name, "' is updated together with other parameters in one entry point than in '", entry_.name,
             "'");
      b.pack = number;
      b.pack_offset = p.offsets[i];
    }
  }

  // An activation in an allocation of its own, which outlives the run.
  int alone(Value v) {
    program_.packs.push_back(num_elements(graph_.dims(v)));
    const TensorType& type = graph_.type(v);
    return add_buffer({activation_name(v),
                       BufferRole::kActivation,
                       type.dtype,
                       type.dims,
                       -1,
                       {},
                       static_cast<int>(program_.packs.size()) - 1,
                       0});
  }

  std::string activation_name(Value v) const {
    return entry_.name + "/" + std::to_string(v.node) + "." + std::to_string(v.out);
  }

  struct Life {
    Value value;
    std::int64_t elements = 0;  // of 4 bytes
    int first = 0, last = 0;
    int same_as = -1;  // shares the place of that life
    std::int64_t offset = -1;
  };

  void lifetimes() {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      for (Value v : plan_.kernels[k].args) {
        if (!v.valid() || buffers_.count(id(v))) continue;
        const auto [at, fresh] = life_of_.try_emplace(id(v), lives_.size());
        if (fresh) {
          const std::int64_t words = storage_words(graph_.type(v).dtype, num_elements(graph_.dims(v)));
          const std::int64_t n = (words + caps_.alignment - 1) / caps_.alignment * caps_.alignment;
          lives_.push_back({v, n, static_cast<int>(k), static_cast<int>(k), -1, -1});
        }
        lives_[at->second].last = static_cast<int>(k);
      }
    }
  }

  std::size_t root(std::size_t life) const {
    while (lives_[life].same_as >= 0) life = static_cast<std::size_t>(lives_[life].same_as);
    return life;
  }

  void share_in_place() {
    if (!caps_.in_place || !caps_.arena) return;
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      const PlanKernel& p = plan_.kernels[k];
      if (p.kernel.kind != KernelKind::kMap) continue;
      const Body& body = p.kernel.body;
      for (const Store& s : body.stores) {
        const auto out = life_of_.find(id(p.args[static_cast<std::size_t>(s.arg)]));
        if (out == life_of_.end() || !is_dense(s.at, body.space) || s.at.offset != 0) continue;
        for (std::size_t a = 0; a < p.args.size(); ++a) {
          const auto in = life_of_.find(id(p.args[a]));
          if (p.writes[a] || in == life_of_.end()) continue;
          const Life& dying = lives_[root(in->second)];
          if (dying.last != static_cast<int>(k) || dying.elements != lives_[out->second].elements) continue;
          if (dying.first == static_cast<int>(k)) continue;
          bool same_element = true;
          for (const Load& l : body.loads)
            if (l.arg == static_cast<int>(a)) same_element = same_element && is_dense(l.at, body.space) && l.at.offset == 0;
          if (!same_element) continue;
          const std::size_t r = root(in->second);
          lives_[r].last = lives_[out->second].last;
          lives_[out->second].same_as = static_cast<int>(r);
          break;
        }
      }
    }
  }

  void place() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lives_.size(); ++i)
      if (lives_[i].same_as < 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lives_[a].elements > lives_[b].elements; });
    std::vector<std::size_t> placed;  // by offset
    for (std::size_t i : order) {
      Life& life = lives_[i];
      std::int64_t at = 0;
      for (std::size_t p : placed) {
        const Life& other = lives_[p];
        const bool together = !caps_.arena || (other.first <= life.last && life.first <= other.last);
        if (!together || other.offset + other.elements <= at) continue;
        if (at + life.elements <= other.offset) break;
        at = other.offset + other.elements;
      }
      life.offset = at;
      entry_.arena_elements = std::max(entry_.arena_elements, at + life.elements);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                     [&](std::size_t a, std::size_t b) { return lives_[a].offset < lives_[b].offset; }),
                    i);
    }
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      const Life& life = lives_[i];
      const TensorType& type = graph_.type(life.value);
      buffers_[id(life.value)] = add_buffer(
          {activation_name(life.value), BufferRole::kActivation, type.dtype, type.dims, lives_[root(i)].offset, {}, -1, 0});
    }
  }

  // Packs that activations of other entries share already: all but those that keep something from run to run.
  std::vector<int> shared_packs() const {
    std::vector<bool> shared(program_.packs.size(), true);
    auto keep = [&](int buffer) {
      const int pack = program_.buffers[static_cast<std::size_t>(buffer)].pack;
      if (pack >= 0) shared[static_cast<std::size_t>(pack)] = false;
    };
    for (const Entry& e : program_.entries)
      for (const auto& [x, y] : e.swaps) {
        keep(x);
        keep(y);
      }
    for (const auto& [value, target] : plan_.swaps) keep(buffers_.at(id(value)));
    std::vector<int> packs;
    for (std::size_t p = 0; p < shared.size(); ++p)
      if (shared[p]) packs.push_back(static_cast<int>(p));
    return packs;
  }

  void place_textures() {
    std::vector<int> packs = shared_packs();
    std::map<int, std::vector<std::size_t>> members;  // of this entry
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      const Life& life = lives_[i];
      const TextureShape shape = texture_shape(life.elements);
      const auto found = std::find_if(packs.begin(), packs.end(), [&](int p) {
        return texture_shape(program_.packs[static_cast<std::size_t>(p)]) == shape &&
               std::none_of(members[p].begin(), members[p].end(), [&](std::size_t other) {
                 return !caps_.arena || (lives_[other].first <= life.last && life.first <= lives_[other].last);
               });
      });
      int pack = found == packs.end() ? -1 : *found;
      if (pack < 0) {
        pack = static_cast<int>(program_.packs.size());
        program_.packs.push_back(4 * shape.width * shape.height);
        packs.push_back(pack);
      }
      members[pack].push_back(i);
      const TensorType& type = graph_.type(life.value);
      buffers_[id(life.value)] =
          add_buffer({activation_name(life.value), BufferRole::kActivation, type.dtype, type.dims, -1, {}, pack, 0});
    }
  }

  int kernel_index(const Kernel& kernel) {
    const auto found = std::find(program_.kernels.begin(), program_.kernels.end(), kernel);
    if (found != program_.kernels.end()) return static_cast<int>(found - program_.kernels.begin());
    program_.kernels.push_back(kernel);
    return static_cast<int>(program_.kernels.size()) - 1;
  }

  void launch(const PlanKernel& k) {
    Launch l;
    l.kernel = kernel_index(k.kernel);
    l.label = k.label;
    l.flops = k.flops;
    l.grid = k.grid;
    l.first_row = k.first_row;
    l.index = k.index;
    for (std::size_t a = 0; a < k.args.size(); ++a) {
      l.args.push_back(k.args[a].valid() ? buffers_.at(id(k.args[a])) : -1);
      if (k.args[a].valid()) l.bytes += 4.0 * static_cast<double>(num_elements(graph_.dims(k.args[a])));
    }
    if (k.bytes > 0) l.bytes = k.bytes;
    entry_.launches.push_back(std::move(l));
  }

  const KernelPlan& plan_;
  const Graph& graph_;
  const Caps& caps_;
  Program& program_;
  Entry entry_;
  std::map<ValueId, int> buffers_;
  std::map<ValueId, std::size_t> life_of_;
  std::vector<Life> lives_;
};

}  // namespace

void emit_entry(const KernelPlan& plan, const std::string& name, const Caps& caps, Program& program) {
  Emitter(plan, name, caps, program).run();
}

MemoryUse memory_use(const Program& program) {
  MemoryUse use;
  for (const Buffer& b : program.buffers) {
    const std::int64_t bytes = num_elements(b.dims) * 4;
    switch (b.role) {
      case BufferRole::kParameter: use.parameters += bytes; break;
      case BufferRole::kState: use.state += bytes; break;
      case BufferRole::kInput:
      case BufferRole::kOutput: use.inputs_outputs += bytes; break;
      case BufferRole::kConstant: use.constants += bytes; break;
      case BufferRole::kActivation: break;
    }
  }
  std::vector<bool> gradients(program.packs.size(), false);
  for (const Buffer& b : program.buffers)
    if (b.role == BufferRole::kActivation && b.pack >= 0) gradients[static_cast<std::size_t>(b.pack)] = true;
  for (const Entry& e : program.entries) use.arena = std::max(use.arena, e.arena_elements * 4);
  for (std::size_t p = 0; p < gradients.size(); ++p)
    if (gradients[p]) use.arena += program.packs[p] * 4;
  return use;
}

}  // namespace tabgrad
