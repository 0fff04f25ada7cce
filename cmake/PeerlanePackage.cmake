# cpack: a .deb and a .tar.gz with what a person runs (component `runtime`). To be run on other machines they are built
# with PEERLANE_PORTABLE=ON (preset `portable`), which needs nothing but the C library named here and libgcc.
set(PEERLANE_OLDEST_GLIBC 2.34)  # Enterprise Linux 9, Ubuntu 22.04, Debian 12; scripts/package.sh checks it
set(CPACK_PACKAGE_NAME peerlane)
set(CPACK_PACKAGE_VENDOR peerlane)
set(CPACK_PACKAGE_CONTACT "peerlane maintainers <noreply@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Which GPU of a machine can really reach which, in which direction and for which kind of access;
 how fast; and the fastest proven way to move data between them.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_FILE_NAME "peerlane-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)  # it would name the versions of the machine that builds
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${PEERLANE_OLDEST_GLIBC}), libgcc-s1")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libhwloc15, graphviz")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
if(PEERLANE_UPLOT_FOUND)  # it is in the command
  install(FILES "${PEERLANE_UPLOT_FOUND}/LICENSE" RENAME LICENSE.uPlot DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
endif()
include(CPack)
