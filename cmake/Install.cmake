# What `cmake --install` puts where. The tree may be moved as a whole: nothing in it knows its prefix.
#   lib/       libkernels.so, pkg-config file, CMake package
#   include/   public headers
#   bin/       kernels, kernel-builder          (src/cli/CMakeLists.txt)
#   libexec/   kernels/kernels-serve            (likewise)
#   share/     data files, man pages, completions
include(CMakePackageConfigHelpers)

install(TARGETS kernels EXPORT libkernelsTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

file(RELATIVE_PATH KERNELS_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" KERNELS_PC_PREFIX ${KERNELS_PC_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/packaging/libkernels.pc.in ${CMAKE_BINARY_DIR}/libkernels.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/libkernels.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/libkernels)
install(EXPORT libkernelsTargets NAMESPACE libkernels:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/packaging/libkernelsConfig.cmake.in
  ${CMAKE_BINARY_DIR}/libkernelsConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/libkernelsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/libkernelsConfig.cmake ${CMAKE_BINARY_DIR}/libkernelsConfigVersion.cmake
  DESTINATION ${package_dir})
