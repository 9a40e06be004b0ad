#include "backend/webgpu/native/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/flags.h"

namespace tabgrad::webgpu {
namespace {

void* open_library(const std::string& path, std::string& problems) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) problems += str("\n  ", path, ": ", dlerror());
  return handle;
}

template <typename F>
void load(void* handle, const std::string& library, const char* name, F& function) {
  void* symbol = dlsym(handle, name);
  if (!symbol) fail("[webgpu] ", library, " has no ", name, ": it is too old or too new for this build");
  function = reinterpret_cast<F>(symbol);
}

// wgpu-native's major versions whose webgpu.h has, field for field and value for value, what Dawn's has.
constexpr unsigned kWgpuVersions[] = {29};

// wgpu-native says its version; Dawn does not, but has functions that others do not have.
std::string checked_name(void* handle, const std::string& library) {
  std::uint32_t (*get_version)() = nullptr;
  get_version = reinterpret_cast<decltype(get_version)>(dlsym(handle, "wgpuGetVersion"));
  if (!get_version) {
    if (dlsym(handle, "wgpuDeviceTick")) return "Dawn (" + library + ")";
    fail("[webgpu] ", library, " is neither Dawn nor wgpu-native: others are not known to this build");
  }
  const std::uint32_t v = get_version();
  const std::string version = str(v >> 24, ".", v >> 16 & 255, ".", v >> 8 & 255, ".", v & 255);
  if (std::ranges::find(kWgpuVersions, v >> 24) == std::end(kWgpuVersions)) {
    std::string known;
    for (unsigned major : kWgpuVersions) known += str(known.empty() ? "" : ", ", major);
    fail("[webgpu] ", library, " is wgpu-native ", version, ", and this build knows version ", known,
         " alone: another may lay out its structures otherwise");
  }
  return "wgpu-native " + version + " (" + library + ")";
}

}  // namespace

const Api& open_api(const std::string& asked) {
  const std::string library = asked.empty() ? flags::webgpu() : asked;
  static std::map<std::string, std::unique_ptr<Api>> opened;  // libraries stay open: their threads do too
  std::unique_ptr<Api>& api = opened[library];
  if (api) return *api;
  std::vector<std::string> names{library};
  const std::vector<std::string> dawn{"libwebgpu_dawn.so.0", "libwebgpu_dawn.so"},
      wgpu{"libwgpu_native.so", "libwgpu_native-release.so"};
  if (library == "dawn" || library.empty()) names = dawn;
  if (library == "wgpu") names = wgpu;
  if (library.empty()) names.insert(names.end(), wgpu.begin(), wgpu.end());
  std::string problems;
  for (const std::string& name : names) {
    void* handle = open_library(name, problems);
    if (!handle) continue;
    auto fresh = std::make_unique<Api>();
    fresh->library = checked_name(handle, name);
#define TG_WGPU(Name) load(handle, name, "wgpu" #Name, fresh->Name);
    TG_WGPU_FUNCTIONS(TG_WGPU)
#undef TG_WGPU
    fresh->DevicePoll = reinterpret_cast<decltype(fresh->DevicePoll)>(dlsym(handle, "wgpuDevicePoll"));
    fresh->dawn = !fresh->DevicePoll;
    api = std::move(fresh);
    return *api;
  }
  fail(
      "[webgpu] no WebGPU implementation was found; install Dawn (libwebgpu-dawn0) or wgpu-native, or name a library with "
      "--webgpu PATH or TABGRAD_WEBGPU. Tried:",
      problems);
}

}  // namespace tabgrad::webgpu
