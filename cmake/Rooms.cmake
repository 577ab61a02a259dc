# A room is one folder below src/ and one static library. Its headers are reached as "<room>/<file>.h"
# through a folder that holds nothing but that room, and that folder is handed on only to rooms that
# name it in ROOMS: an include against the order does not compile.
#
#   kernels_room(hub SOURCES hub.c cache.c ROOMS base data LIBRARIES Threads::Threads)
#
# Which rooms there are and which way they may depend stands in rooms.txt:
#   KERNELS_ROOMS         all rooms, lowest first, without the programs (cli)
#   KERNELS_ROOMS_<room>  what that room may name in ROOMS
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt room_lines REGEX "^[a-z]+:")
foreach(line IN LISTS room_lines)
  string(REGEX MATCH "^[a-z]+" room "${line}")
  string(REGEX REPLACE "^[a-z]+: *" "" lower_rooms "${line}")
  string(REPLACE " " ";" KERNELS_ROOMS_${room} "${lower_rooms}")
  list(APPEND KERNELS_ROOMS ${room})
endforeach()
list(REMOVE_ITEM KERNELS_ROOMS cli)

function(kernels_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  set(include_root ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${include_root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_root}/${name} SYMBOLIC)
  add_library(room_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(room_${name} PUBLIC ${include_root} ${CMAKE_SOURCE_DIR}/include)
  foreach(lower IN LISTS ROOM_ROOMS)
    if(NOT lower IN_LIST KERNELS_ROOMS_${name})
      message(FATAL_ERROR "room ${name} must not depend on room ${lower}: see cmake/rooms.txt")
    endif()
    target_link_libraries(room_${name} PUBLIC room_${lower})
  endforeach()
  target_link_libraries(room_${name} PRIVATE ${ROOM_LIBRARIES})
endfunction()
