# SPDX-License-Identifier: Apache-2.0
# byoc_add_plugin(name [NO_VERSION_SCRIPT] sources...): builds the plugin <name>.so - a loadable module without prefix,
# with every symbol defined, of which byoc_plugin_query is the only one exported (plugin.map). It links to no library of
# byoc: the host's table provides all it needs.
#
#   find_package(byoc REQUIRED)
#   byoc_add_plugin(my_backend my_backend.c)
#
# Install it into lib/byoc/plugins, or name its folder in BYOC_PLUGIN_PATH. NO_VERSION_SCRIPT is for linkers without
# version scripts: then every symbol of default visibility is exported.
function(byoc_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "NO_VERSION_SCRIPT" "" "")
  add_library(${name} MODULE ${plugin_UNPARSED_ARGUMENTS})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE byoc::headers)
  if(NOT plugin_NO_VERSION_SCRIPT)
    set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
    target_link_options(${name} PRIVATE -Wl,--version-script=${map})
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
  # Sanitizers leave their own symbols to the program.
  if(NOT BYOC_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# byoc_add_engine(plugin name sources... [PORTABLE module] [HEADERS headers...] [FLAGS flags...]): code that a plugin
# lets artifacts carry: a JSON engine (byoc/engine.h) or the driver of a device (byoc/device.h). Its archive is embedded
# in the plugin, between two symbols,
#
#   extern const unsigned char <name>_archive[], <name>_archive_end[];
#
# With PORTABLE, the sources and HEADERS, the files that they include, are embedded too. Artifacts for other machines
# then get them compiled with FLAGS, by the compiler for those. `module` is the name by which the plugin adds the engine
# or the driver. The backend announces the code:
#
#   extern const byoc_runtime_code_t <name>_code[1];
#
# and it is linked into the plugin, too: what stands in the archive also serves the evaluator (`in_process`). Symbols are
# hidden, and the code is optimised whatever the build type is, because its bytes become bytes of every artifact.
function(byoc_add_engine plugin name)
  cmake_parse_arguments(PARSE_ARGV 2 engine "" "PORTABLE" "HEADERS;FLAGS")
  add_library(${name} STATIC ${engine_UNPARSED_ARGUMENTS})
  set_target_properties(
    ${name}
    PROPERTIES POSITION_INDEPENDENT_CODE ON
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}$<0:>
               PREFIX lib
               SUFFIX .a)
  target_compile_options(${name} PRIVATE -O2 -g0 -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PRIVATE byoc::headers)
  target_link_libraries(${plugin} PRIVATE ${name})
  set(archive ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.a)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${name}_archive.c)
  if(NOT "C" IN_LIST languages)
    set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${name}_archive.cpp)
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/archive.c ${embedded} COPYONLY)
  set_source_files_properties(${embedded} PROPERTIES OBJECT_DEPENDS ${archive} COMPILE_DEFINITIONS
                              "BYOC_ARCHIVE_NAME=${name};BYOC_ARCHIVE_FILE=\"${archive}\"")
  target_sources(${plugin} PRIVATE ${embedded})
  if(engine_PORTABLE)
    string(REPLACE _archive.c _code.c code ${embedded})
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/runtime_code.sh)
    set(files ${engine_UNPARSED_ARGUMENTS} -- ${engine_HEADERS})
    add_custom_command(
      OUTPUT ${code}
      COMMAND sh ${script} ${name} ${engine_PORTABLE} ${files} -- ${engine_FLAGS} > ${code}
      DEPENDS ${script} ${engine_UNPARSED_ARGUMENTS} ${engine_HEADERS}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMENT "Embedding the sources of ${name}"
      VERBATIM)
    target_sources(${plugin} PRIVATE ${code})
  endif()
endfunction()
