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
