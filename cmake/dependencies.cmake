# SPDX-License-Identifier: Apache-2.0
# The libraries that the build needs. If one is missing, configuring stops and names the Debian package to install.

find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "byoc needs pkg-config: install the Debian package pkg-config")
endif()

# byoc_find_library(target pkg-config-name debian-package)
function(byoc_find_library target module package)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "byoc needs ${module}: install the Debian package ${package}")
  endif()
  add_library(byoc_dep::${target} ALIAS PkgConfig::${target})
endfunction()

# byoc_find_path(variable file debian-package [PATH_SUFFIXES ...])
function(byoc_find_path variable file package)
  find_path(${variable} ${file} ${ARGN})
  if(NOT ${variable})
    message(FATAL_ERROR "byoc needs ${file}: install the Debian package ${package}")
  endif()
  mark_as_advanced(${variable})
endfunction()

function(byoc_require variable what package)
  if(NOT ${variable})
    message(FATAL_ERROR "byoc needs ${what}: install the Debian package ${package}")
  endif()
  mark_as_advanced(${variable})
endfunction()

find_package(Threads REQUIRED)
byoc_find_library(ffi libffi libffi-dev)
byoc_find_library(jansson jansson libjansson-dev)
byoc_find_library(protobuf_c libprotobuf-c libprotobuf-c-dev)
byoc_find_library(xxhash libxxhash libxxhash-dev)
byoc_find_library(sqlite3 sqlite3 libsqlite3-dev)
byoc_find_library(png libpng libpng-dev)
byoc_find_library(jpeg libjpeg libjpeg62-turbo-dev)
byoc_find_library(zip libzip libzip-dev)
if(BYOC_BUILD_TESTS)
  byoc_find_library(cmocka cmocka libcmocka-dev)
endif()

byoc_find_path(BYOC_DNNL_INCLUDE_DIR dnnl.h libdnnl-dev)
find_library(BYOC_DNNL_LIBRARY dnnl)
byoc_require(BYOC_DNNL_LIBRARY "libdnnl.so" libdnnl-dev)
find_library(BYOC_OPENBLAS_ARCHIVE libopenblas.a)
byoc_require(BYOC_OPENBLAS_ARCHIVE "libopenblas.a" libopenblas-dev)

# onnx.proto (package onnx, hence names such as Onnx__ModelProto) as C, included as "onnx.pb-c.h".
find_program(BYOC_PROTOC_C protoc-c)
byoc_require(BYOC_PROTOC_C "protoc-c" protobuf-c-compiler)
byoc_find_path(BYOC_ONNX_PROTO_DIR onnx.proto libonnx-dev PATH_SUFFIXES onnx)
set(onnx_dir ${CMAKE_BINARY_DIR}/generated/onnx)
file(MAKE_DIRECTORY ${onnx_dir})
add_custom_command(
  OUTPUT ${onnx_dir}/onnx.pb-c.c ${onnx_dir}/onnx.pb-c.h
  COMMAND ${BYOC_PROTOC_C} --c_out=${onnx_dir} --proto_path=${BYOC_ONNX_PROTO_DIR} ${BYOC_ONNX_PROTO_DIR}/onnx.proto
  DEPENDS ${BYOC_ONNX_PROTO_DIR}/onnx.proto
  COMMENT "Generating onnx.pb-c.c"
  VERBATIM)
add_library(byoc_onnx_proto STATIC ${onnx_dir}/onnx.pb-c.c ${onnx_dir}/onnx.pb-c.h)
target_compile_options(byoc_onnx_proto PRIVATE -w)
target_include_directories(byoc_onnx_proto SYSTEM PUBLIC ${onnx_dir} ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(byoc_onnx_proto PUBLIC byoc_dep::protobuf_c)
