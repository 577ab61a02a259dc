# A room is one folder below src/ and one static library. Its headers are reached as "<room>/<file>.h"
# through a folder that holds nothing but that room, and that folder is handed on only to rooms that
# name it in ROOMS: an include against the order does not compile.
#
#   kernels_room(hub SOURCES hub.c cache.c ROOMS base data LIBRARIES Threads::Threads)
function(kernels_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  set(include_root ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${include_root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_root}/${name} SYMBOLIC)
  add_library(room_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(room_${name} PUBLIC ${include_root} ${CMAKE_SOURCE_DIR}/include)
  foreach(lower IN LISTS ROOM_ROOMS)
    target_link_libraries(room_${name} PUBLIC room_${lower})
  endforeach()
  target_link_libraries(room_${name} PRIVATE ${ROOM_LIBRARIES})
endfunction()
