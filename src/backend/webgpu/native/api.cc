#include "backend/webgpu/native/api.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <vector>

#include "base/error.h"

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

}  // namespace

const Api& open_api(const std::string& library) {
  static std::map<std::string, std::unique_ptr<Api>> opened;  // libraries stay open: their threads do too
  std::unique_ptr<Api>& api = opened[library];
  if (api) return *api;
  std::vector<std::string> names{library};
  const std::vector<std::string> dawn{"libwebgpu_dawn.so.0", "libwebgpu_dawn.so"}, wgpu{"libwgpu_native.so"};
  if (library == "dawn" || library.empty()) names = dawn;
  if (library == "wgpu") names = wgpu;
  if (library.empty()) names.insert(names.end(), wgpu.begin(), wgpu.end());
  std::string problems;
  for (const std::string& name : names) {
    void* handle = open_library(name, problems);
    if (!handle) continue;
    auto fresh = std::make_unique<Api>();
#define TG_WGPU(Name) load(handle, name, "wgpu" #Name, fresh->Name);
    TG_WGPU_FUNCTIONS(TG_WGPU)
#undef TG_WGPU
    fresh->DevicePoll = reinterpret_cast<decltype(fresh->DevicePoll)>(dlsym(handle, "wgpuDevicePoll"));
    fresh->dawn = !fresh->DevicePoll;
    fresh->library = name;
    api = std::move(fresh);
    return *api;
  }
  fail(
      "[webgpu] no WebGPU implementation was found; install Dawn (libwebgpu-dawn0) or wgpu-native, or name a library with "
      "--webgpu PATH. Tried:",
      problems);
}

}  // namespace tabgrad::webgpu
