// A library that says it is wgpu-native 27.0.4.0, which the engine does not know.
extern "C" unsigned wgpuGetVersion() { return 27u << 24 | 4u << 8; }
