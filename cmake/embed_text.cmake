# cmake -DOUT=file.cc "-DFILES=a.wgsl;b.wgsl" -P embed_text.cmake: C++ source with each file's text as the string of its name.
set(text "// Made by cmake/embed_text.cmake.\n#include \"codegen/templates.h\"\n\nnamespace tabgrad::codegen::templates {\n")
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM name)
  file(READ "${file}" content)
  string(APPEND text "const char* const ${name} = R\"wgsl(${content})wgsl\";\n")
endforeach()
string(APPEND text "}  // namespace tabgrad::codegen::templates\n")
file(WRITE "${OUT}" "${text}")
