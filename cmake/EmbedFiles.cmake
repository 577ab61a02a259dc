# Turns text files into a C table, so that a program needs no data folder at run time.
#
#   kernels_embed(<c file> ROOT <folder> TABLE <name> FILES <path below the folder>...)
#
# The C file defines kernels_embedded_file <name>[] and size_t <name>_count (build/embedded.h).
# Run as a script (-P) it does the work at build time.
function(kernels_embed output)
  cmake_parse_arguments(EMBED "" "ROOT;TABLE" "FILES" ${ARGN})
  list(TRANSFORM EMBED_FILES PREPEND ${EMBED_ROOT}/ OUTPUT_VARIABLE inputs)
  list(JOIN EMBED_FILES "|" joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DROOT=${EMBED_ROOT} -DTABLE=${EMBED_TABLE} "-DFILES=${joined}"
            -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    VERBATIM)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" files "${FILES}")
  set(arrays "")
  set(rows "")
  set(index 0)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${index}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${file}\", {(const char *)file_${index}, ${size}}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(WRITE ${OUTPUT} "/* Made by cmake/EmbedFiles.cmake. */\n#include \"build/embedded.h\"\n\n${arrays}\n"
    "const kernels_embedded_file ${TABLE}[] = {\n${rows}};\nconst size_t ${TABLE}_count = ${index};\n")
endif()
