# What a WebAssembly build has in place of Debian's native packages: header-only libraries through an include folder of
# their own (-I/usr/include would bring glibc's headers in), GoogleTest from its sources, no threads in the single build.
# Also tabgrad_wasm_module(), which turns a target into an ES module for workers and Node.
#
# There is no WebAssembly build of Highway, and none is needed: with one instruction set per build its dispatch is static.

option(TABGRAD_WASM_THREADS "Build with pthreads: needs SharedArrayBuffer, in browsers a cross-origin isolated page" ON)
option(TABGRAD_WASM_RELAXED "Use relaxed SIMD's fused multiply-add in src/backend/cpu" OFF)

add_compile_options(-msimd128 -fwasm-exceptions)
add_link_options(-fwasm-exceptions)
if(TABGRAD_WASM_THREADS)
  add_compile_options(-pthread)
  add_link_options(-pthread)
endif()

set(wasm_include ${CMAKE_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${wasm_include})
foreach(library hwy flatbuffers nlohmann)
  file(CREATE_LINK /usr/include/${library} ${wasm_include}/${library} SYMBOLIC)
endforeach()
include_directories(SYSTEM ${wasm_include})

add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)
add_library(hwy::hwy INTERFACE IMPORTED GLOBAL)

if(TABGRAD_TESTS)
  set(googletest /usr/src/googletest)
  add_library(wasm_gtest STATIC ${googletest}/googletest/src/gtest-all.cc ${googletest}/googlemock/src/gmock-all.cc)
  target_include_directories(wasm_gtest PRIVATE ${googletest}/googletest ${googletest}/googlemock)
  target_include_directories(wasm_gtest SYSTEM PUBLIC ${googletest}/googletest/include ${googletest}/googlemock/include)
  target_compile_options(wasm_gtest PRIVATE -w)
  add_library(wasm_gtest_main STATIC ${googletest}/googlemock/src/gmock_main.cc)
  target_link_libraries(wasm_gtest_main PUBLIC wasm_gtest)
  add_library(GTest::gtest ALIAS wasm_gtest)
  add_library(GTest::gmock ALIAS wasm_gtest)
  add_library(GTest::gtest_main ALIAS wasm_gtest_main)
endif()

# tabgrad_wasm_module(TARGET POOL [link options...]): an ES module whose default export makes an instance; it runs in workers
# and in Node. POOL: how many threads beside the first, as a JavaScript expression over the options given to the export.
# Threads are made with the instance, never later: a new one starts only when its parent's event loop turns, which a
# training loop does not wait for. The policy of our pages forbids eval.
function(tabgrad_wasm_module target pool)
  set_target_properties(${target} PROPERTIES SUFFIX .mjs)
  target_link_options(${target} PRIVATE
    -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=worker,node -sDYNAMIC_EXECUTION=0 -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB
    -sSTACK_SIZE=1MB ${ARGN})
  if(TABGRAD_WASM_THREADS)
    target_link_options(${target} PRIVATE -Wno-pthreads-mem-growth "-sPTHREAD_POOL_SIZE=${pool}" -sPTHREAD_POOL_SIZE_STRICT=2
                                          -sDEFAULT_PTHREAD_STACK_SIZE=1MB)
  endif()
endfunction()
