# The install tree: bin/, include/byoc/, lib/byoc/plugins/, lib/cmake/byoc/, lib/pkgconfig/, share/byoc/. Libraries go to lib/ on
# every system, so that bin/byoc finds ../lib/byoc/plugins wherever the tree is moved. Programs and plugins install
# themselves where they are defined.
include(CMakePackageConfigHelpers)

set(BYOC_PLUGIN_INSTALL_DIR lib/byoc/plugins)
set(BYOC_EXECUTABLE_PATH bin/byoc)
set(byoc_package_dir lib/cmake/byoc)

install(DIRECTORY include/byoc DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY DESTINATION ${BYOC_PLUGIN_INSTALL_DIR})
install(DIRECTORY communicators DESTINATION share/byoc) # sources, compiled by users against their own libraries
install(DIRECTORY examples DESTINATION share/byoc)
install(TARGETS byoc_headers EXPORT byocTargets)
install(EXPORT byocTargets NAMESPACE byoc:: DESTINATION ${byoc_package_dir})
configure_package_config_file(
  cmake/byocConfig.cmake.in ${CMAKE_BINARY_DIR}/package/byocConfig.cmake
  INSTALL_DESTINATION ${byoc_package_dir}
  PATH_VARS BYOC_PLUGIN_INSTALL_DIR BYOC_EXECUTABLE_PATH)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/byocConfigVersion.cmake COMPATIBILITY SameMajorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/package/byocConfig.cmake ${CMAKE_BINARY_DIR}/package/byocConfigVersion.cmake
              cmake/byocAddPlugin.cmake DESTINATION ${byoc_package_dir})
# The prefix is known at install time only (cmake --install --prefix).
install(CODE "
  set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  get_filename_component(CMAKE_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
  configure_file(\"${CMAKE_SOURCE_DIR}/cmake/byoc.pc.in\"
                 \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/pkgconfig/byoc.pc\" @ONLY)
")
