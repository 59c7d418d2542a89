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
  if(BYOC_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
  target_compile_definitions(${name} PRIVATE NDEBUG)
  target_link_libraries(${name} PRIVATE byoc::headers)
endfunction()
