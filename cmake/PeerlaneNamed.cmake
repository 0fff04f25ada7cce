# The component `named`: src/named, and machines/*.json turned into C++ at build time.
function(peerlane_named_component)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/machines")
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedMachines.cmake")
  set(table "${PROJECT_BINARY_DIR}/generated/embedded_machines.cpp")
  file(GLOB documents CONFIGURE_DEPENDS "${folder}/*.json")
  add_custom_command(OUTPUT "${table}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${table}" "-DFOLDER=${folder}" -P "${script}"
    DEPENDS ${documents} "${script}" COMMENT "Embedding the named machines" VERBATIM)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/named/*.cpp")
  add_library(peerlane_named STATIC EXCLUDE_FROM_ALL ${sources} "${table}")
  target_link_libraries(peerlane_named PUBLIC peerlane_flags ${arg_LINK})
  set(PEERLANE_COMPONENTS ${PEERLANE_COMPONENTS} peerlane_named CACHE INTERNAL "")
endfunction()
