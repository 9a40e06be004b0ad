# tabgrad_library(NAME [SMALL] [DEPS other folders...] [LIBS libraries from outside...])
#
# One static library, target tabgrad_NAME, from all *.cc of the calling folder and of those below it that are no
# library of their own. A folder without sources yet is a
# library of headers only. DEPS are checked against the layers by tools/check_layers. Every library is also collected
# in the global property TABGRAD_LIBRARIES, for the tests and benchmarks, which see all of them. SMALL: nothing hot is in it, so for
# WebAssembly it is compiled for size alone.
function(tabgrad_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SMALL" "" "DEPS;LIBS")
  file(GLOB sources CONFIGURE_DEPENDS *.cc */*.cc)
  file(GLOB nested */CMakeLists.txt)
  foreach(file IN LISTS nested)
    cmake_path(GET file PARENT_PATH folder)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(target tabgrad_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPS PREPEND tabgrad_)
  target_link_libraries(${target} ${scope} ${arg_DEPS} ${arg_LIBS})
  if(arg_SMALL AND EMSCRIPTEN AND sources)
    target_compile_options(${target} PRIVATE -Oz)
  endif()
  set_property(GLOBAL APPEND PROPERTY TABGRAD_LIBRARIES ${target})
endfunction()
