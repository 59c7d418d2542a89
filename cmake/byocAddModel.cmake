# SPDX-License-Identifier: Apache-2.0
# byoc_add_model(name model.onnx [TARGETS "cutlass; c"] [OPTIONS ...]): compiles a model with the project and links it into
# what links with <name>. No dlopen: the model becomes a static library, whose header, <name>.h, is found by #include.
#
#   find_package(byoc REQUIRED)
#   byoc_add_model(mnist mnist.onnx)
#   target_link_libraries(program PRIVATE mnist)
#
# TARGETS are those of byoc build --target (default: what is installed), OPTIONS its further options: --dim batch=1. The
# model is compiled again when its file changes.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

function(byoc_add_model name model)
  cmake_parse_arguments(PARSE_ARGV 2 model "" "TARGETS" "OPTIONS")
  if(model_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "byoc_add_model(${name}): '${model_UNPARSED_ARGUMENTS}' is neither TARGETS nor OPTIONS")
  endif()
  get_filename_component(source ${model} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.model)
  set(library ${folder}/${name}.a)
  set(arguments ${source} -o ${library} --name ${name} ${model_OPTIONS})
  if(model_TARGETS)
    list(APPEND arguments --target "${model_TARGETS}" --plan greedy)
  endif()
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${library} ${folder}/${name}.h
    COMMAND ${BYOC_EXECUTABLE} build ${arguments}
    DEPENDS ${source}
    COMMENT "Compiling the model ${model}"
    VERBATIM)
  add_custom_target(${name}_model DEPENDS ${library} ${folder}/${name}.h)
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_model)
  target_include_directories(${name} INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE ${library} Threads::Threads m)
endfunction()
