# SPDX-License-Identifier: Apache-2.0
# The install tree: bin/, include/byoc/, lib/libbyoc.so, lib/byoc/plugins/, lib/cmake/byoc/, lib/pkgconfig/, share/byoc/. Libraries go to lib/ on
# every system, so that bin/byoc and lib/libbyoc.so find lib/byoc/plugins wherever the tree is moved. Programs and plugins install
# themselves where they are defined.
include(CMakePackageConfigHelpers)

set(BYOC_PLUGIN_INSTALL_DIR lib/byoc/plugins)
set(BYOC_EXECUTABLE_PATH bin/byoc)
set(byoc_package_dir lib/cmake/byoc)

install(DIRECTORY include/byoc DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY DESTINATION ${BYOC_PLUGIN_INSTALL_DIR})
install(DIRECTORY communicators DESTINATION share/byoc) # sources, compiled by users against their own libraries
install(DIRECTORY docs/ DESTINATION share/doc/byoc)
install(FILES completions/byoc.bash DESTINATION share/bash-completion/completions RENAME byoc)
install(FILES completions/_byoc DESTINATION share/zsh/site-functions)
install(FILES completions/byoc.fish DESTINATION share/fish/vendor_completions.d)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE THIRD-PARTY.md DESTINATION share/doc/byoc)
install(DIRECTORY examples DESTINATION share/byoc USE_SOURCE_PERMISSIONS)
# pip install PREFIX/share/byoc/python
install(DIRECTORY python DESTINATION share/byoc PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN *.egg-info EXCLUDE)
install(TARGETS byoc_headers EXPORT byocTargets)
install(EXPORT byocTargets NAMESPACE byoc:: DESTINATION ${byoc_package_dir})
configure_package_config_file(
  cmake/byocConfig.cmake.in ${CMAKE_BINARY_DIR}/package/byocConfig.cmake
  INSTALL_DESTINATION ${byoc_package_dir}
  PATH_VARS BYOC_PLUGIN_INSTALL_DIR BYOC_EXECUTABLE_PATH)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/byocConfigVersion.cmake COMPATIBILITY SameMajorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/package/byocConfig.cmake ${CMAKE_BINARY_DIR}/package/byocConfigVersion.cmake
              cmake/byocAddPlugin.cmake cmake/byocAddModel.cmake cmake/plugin.map cmake/archive.c cmake/runtime_code.sh DESTINATION ${byoc_package_dir})
# They find the tree by their own place (pcfiledir), wherever it is moved.
foreach(package byoc byoc-plugin byoc-compiler)
  configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${package}.pc DESTINATION lib/pkgconfig)
endforeach()
# Behind all pages: their links lead through the installed tree.
install(CODE "set(BYOC_SOURCE \"${CMAKE_SOURCE_DIR}\")")
install(SCRIPT cmake/install_pages.cmake)
