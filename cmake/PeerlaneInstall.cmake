# Installing, and the folder that can be copied to another machine.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

option(PEERLANE_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT PEERLANE_INSTALL)
  return()
endif()

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/peerlane")
install(TARGETS peerlane_library EXPORT peerlane_targets COMPONENT development
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/peerlane" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT development)
install(EXPORT peerlane_targets NAMESPACE peerlane:: FILE peerlane-targets.cmake DESTINATION "${config_folder}"
        COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/peerlane-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/generated/peerlane-config.cmake"
                              INSTALL_DESTINATION "${config_folder}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/peerlane-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)  # 0.x: a minor number may break
install(FILES "${PROJECT_BINARY_DIR}/generated/peerlane-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/peerlane-config-version.cmake"
        DESTINATION "${config_folder}" COMPONENT development)

# What a person runs: the command, its helper, and the named machines.
set(programs "")
foreach(program peerlane peerlane-probe)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
endforeach()
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/machines" DESTINATION "${CMAKE_INSTALL_DATADIR}/peerlane" COMPONENT runtime
        FILES_MATCHING PATTERN "*.json")

include(PeerlanePackage)

# `dist`: one folder, <build>/dist, with all that a GPU machine needs: programs and tests beside each other, machines/.
# It holds the programs above and every target named in the global property PEERLANE_DIST_TARGETS.
get_property(dist_targets GLOBAL PROPERTY PEERLANE_DIST_TARGETS)
set(dist_targets ${programs} ${dist_targets})
set(dist "${PROJECT_BINARY_DIR}/dist")
set(dist_commands "")
foreach(target IN LISTS dist_targets)
  list(APPEND dist_commands COMMAND "${CMAKE_COMMAND}" -E copy "$<TARGET_FILE:${target}>" "${dist}/")
endforeach()
add_custom_target(dist
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${dist}"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${dist}"
  ${dist_commands}
  COMMAND "${CMAKE_COMMAND}" -E copy_directory "${PROJECT_SOURCE_DIR}/machines" "${dist}/machines"
  COMMENT "Collecting ${dist}" VERBATIM)
if(dist_targets)
  add_dependencies(dist ${dist_targets})
endif()

# The package as a user meets it: installed, found, compiled against header by header, linked, run.
if(PEERLANE_BUILD_TESTS)
  add_test(NAME package.consumer
           COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DCONSUMER=${PROJECT_SOURCE_DIR}/tests/package"
                   "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
                   "-DGENERATOR=${CMAKE_GENERATOR}" "-DSANITIZE=${PEERLANE_SANITIZE}"
                   -P "${PROJECT_SOURCE_DIR}/tests/package/run.cmake")
  set_tests_properties(package.consumer PROPERTIES TIMEOUT 600 LABELS package)
endif()
