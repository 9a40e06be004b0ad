// Include before <hwy/foreach_target.h>: which instruction sets the kernels are compiled for.
//
// x86: SSE2 (Highway's baseline there), AVX2 and AVX-512 (AVX3). The sets between them would add compile time and size and
// change nothing that these kernels use. Everything below AVX3 in Highway's order (VNNI, BF16, FP16) does not concern f32.
#pragma once

#include <hwy/detect_compiler_arch.h>

#if HWY_ARCH_X86
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_AVX10_2)
#elif HWY_ARCH_WASM
#define HWY_DISABLED_TARGETS HWY_WASM_EMU256
#endif
