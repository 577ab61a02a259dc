# libkernels.so: the rooms an engine embeds. The builder, the server and the CLIs are not in it.
set(library_rooms base data abi hub resolve load runtime)
add_library(kernels SHARED)
foreach(room IN LISTS library_rooms)
  target_sources(kernels PRIVATE $<TARGET_OBJECTS:room_${room}>)
endforeach()
target_link_libraries(kernels PRIVATE OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(kernels INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(kernels PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE CXX)
if(NOT KERNELS_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL Linux)
  target_link_options(kernels PRIVATE -static-libstdc++ -static-libgcc
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/libkernels.map -Wl,--no-undefined)
endif()
