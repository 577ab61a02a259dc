# What `cmake --install` puts where. The tree may be moved as a whole: nothing in it knows its prefix.
#   lib/       libkernels.so, pkg-config file, CMake package
#   include/   public headers
#   bin/       kernels, kernel-builder          (src/cli/CMakeLists.txt)
#   libexec/   kernels/kernels-{serve,mirror}   (likewise)
#   share/     man page and completions, printed by the programs themselves
# Templates and environment locks are compiled into the programs.
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

# What a program prints about itself becomes a file of the installation.
function(install_printed program destination name)
  set(file ${CMAKE_BINARY_DIR}/printed/${destination}/${name})
  add_custom_command(OUTPUT ${file} DEPENDS ${program} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/printed/${destination}
    COMMAND ${program} ${ARGN} > ${file})
  set_property(GLOBAL APPEND PROPERTY KERNELS_PRINTED ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination})
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
  install_printed(kernels_cli man/man1 kernels.1 man)
  install_printed(kernels_cli bash-completion/completions kernels completions bash)
  install_printed(kernels_cli zsh/site-functions _kernels completions zsh)
  install_printed(kernels_cli fish/vendor_completions.d kernels.fish completions fish)
  install_printed(kernel_builder man/man1 kernel-builder.1 man)
  install_printed(kernel_builder bash-completion/completions kernel-builder completions bash)
  install_printed(kernel_builder zsh/site-functions _kernel-builder completions zsh)
  install_printed(kernel_builder fish/vendor_completions.d kernel-builder.fish completions fish)
  install_printed(kernel_abi_check man/man1 kernel-abi-check.1 --man)
  install_printed(kernel_abi_check bash-completion/completions kernel-abi-check --completions bash)
  install_printed(kernel_abi_check zsh/site-functions _kernel-abi-check --completions zsh)
  install_printed(kernel_abi_check fish/vendor_completions.d kernel-abi-check.fish --completions fish)
  get_property(printed GLOBAL PROPERTY KERNELS_PRINTED)
  add_custom_target(printed ALL DEPENDS ${printed})
endif()
