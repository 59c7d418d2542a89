# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers for everything we compile, and the flags of code that artifacts carry.

set(byoc_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wold-style-definition
    -Wvla
    -Wpointer-arith
    -Wundef
    -Wwrite-strings
    -Wformat=2
    -Wno-format-nonliteral
    -Wno-missing-field-initializers)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # snprintf cuts many texts on purpose; tests find wrong cuts.
  list(APPEND byoc_warnings -Wno-format-truncation)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND byoc_warnings -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(BYOC_WERROR)
  list(APPEND byoc_warnings -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${byoc_warnings}>")

# Hardening of programs, plugins and the archives that artifacts carry (core/compose/cc/link.c hardens the artifacts
# themselves). Generated code is compiled with flags of its own and gets none of it: kernels stay as fast as they are.
# tests/cli/test_hardening.c reads it back.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C) # CMAKE_POSITION_INDEPENDENT_CODE then means -pie for programs
set(byoc_hardening -fstack-clash-protection -fcf-protection)
if(NOT BYOC_SANITIZE)
  # The address sanitizer checks stacks itself; with both, gcc 12 lays down 64-byte vectors unaligned.
  list(APPEND byoc_hardening -fstack-protector-strong)
endif()
foreach(flag ${byoc_hardening})
  string(MAKE_C_IDENTIFIER "byoc_has${flag}" has)
  check_c_compiler_flag(${flag} ${has})
  if(${has})
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:${flag}>")
  endif()
endforeach()
if(NOT BYOC_SANITIZE)
  # It needs an optimised build, and sanitizers have checks of their own.
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--build-id=sha1)

if(BYOC_ARENA_MALLOC)
  add_compile_definitions(BYOC_ARENA_MALLOC)
endif()

if(BYOC_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=${BYOC_SANITIZE};-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${BYOC_SANITIZE})
  if(BYOC_SANITIZE MATCHES "undefined")
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fno-sanitize-recover=undefined>")
  endif()
  add_compile_definitions(BYOC_SANITIZED)
endif()

# Edges are counted in everything that a fuzz target links; only the targets themselves link libFuzzer (tests/fuzz).
if(BYOC_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BYOC_FUZZ needs clang: libFuzzer is a part of it")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>")
endif()

# byoc_add_artifact_library(name sources...): a static archive that is linked into artifacts. Always optimised,
# position-independent and hidden; never sanitized, and without debug information or paths, because its bytes become
# bytes of every artifact.
function(byoc_add_artifact_library name)
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden
                                           INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_options(
    ${name}
    PRIVATE -O2
            -g0
            -fno-lto
            -fomit-frame-pointer
            -ffunction-sections
            -fdata-sections
            -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
            -ffile-prefix-map=${CMAKE_BINARY_DIR}=.)
  if(byoc_has_fcf_protection)
    # Its marks count only if all of a file's objects carry them, and the kernels do not.
    target_compile_options(${name} PRIVATE -fcf-protection=none)
  endif()
  if(BYOC_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
  target_compile_definitions(${name} PRIVATE NDEBUG)
  target_link_libraries(${name} PRIVATE byoc::headers)
endfunction()
