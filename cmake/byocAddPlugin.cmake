# byoc_add_plugin(name sources...): builds the plugin <name>.so - a loadable module without prefix, with hidden
# visibility and every symbol defined. It links to no library of byoc: the host's table provides all it needs.
#
#   find_package(byoc REQUIRED)
#   byoc_add_plugin(my_backend my_backend.c)
#
# Install it into lib/byoc/plugins, or name its folder in BYOC_PLUGIN_PATH.
function(byoc_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE byoc::headers)
  # Sanitizers leave their own symbols to the program.
  if(NOT BYOC_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
