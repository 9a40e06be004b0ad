// The texts of templates/, put into the program by CMake.
#pragma once

namespace tabgrad::codegen::templates {

extern const char* const math;    // own functions, for a type
extern const char* const random;  // Philox

}  // namespace tabgrad::codegen::templates
