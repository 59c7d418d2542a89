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

# byoc_add_engine(plugin name sources...): code that a plugin lets artifacts carry: a JSON engine (byoc/engine.h) or the
# driver of a device (byoc/device.h). Its archive is embedded in the plugin, between two symbols,
#
#   extern const unsigned char <name>_archive[], <name>_archive_end[];
#
# and it is linked into the plugin, too: what stands in the archive also serves the evaluator (`in_process`). Symbols are
# hidden, and the code is optimised whatever the build type is, because its bytes become bytes of every artifact.
function(byoc_add_engine plugin name)
  add_library(${name} STATIC ${ARGN})
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
endfunction()
