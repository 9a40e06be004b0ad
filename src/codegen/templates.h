// The texts of templates/, put into the program by CMake.
#pragma once

namespace tabgrad::codegen::templates {

extern const char* const math;    // own functions, for a type
extern const char* const random;  // Philox
extern const char* const library;    // all of glsl/
extern const char* const workgroup;  // sums and maxima over a workgroup
extern const char* const subgroup;   // the same with subgroups

extern const char* const attention_forward;
extern const char* const attention_dkv;
extern const char* const attention_dq;
extern const char* const cross_entropy;
extern const char* const cross_entropy_grad;
extern const char* const norm;
extern const char* const norm_grad;
extern const char* const softmax;
extern const char* const softmax_grad;
extern const char* const sum_chunks;
extern const char* const sum_squares;

}  // namespace tabgrad::codegen::templates
