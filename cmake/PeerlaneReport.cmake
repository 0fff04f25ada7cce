# The component `report`: src/report, and what the HTML page is drawn with (web/, and uPlot where it is found) turned into
# C++ at build time. uPlot is a folder as npm installs it: LICENSE, dist/uPlot.iife.min.js, dist/uPlot.min.css.
set(PEERLANE_UPLOT "" CACHE STRING "Folder of uPlot for the charts of the HTML report, or OFF; empty: web/node_modules/uplot, or Debian's folders")

function(peerlane_find_uplot result)
  set(${result} "" PARENT_SCOPE)
  if(PEERLANE_UPLOT STREQUAL "OFF")
    return()
  endif()
  foreach(folder IN ITEMS "${PEERLANE_UPLOT}" "${PROJECT_SOURCE_DIR}/web/node_modules/uplot"
                          /usr/share/nodejs/uplot /usr/share/javascript/uplot /usr/lib/node_modules/uplot)
    if(folder AND EXISTS "${folder}/dist/uPlot.iife.min.js" AND EXISTS "${folder}/dist/uPlot.min.css" AND EXISTS "${folder}/LICENSE")
      set(${result} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(peerlane_report_component)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  set(web "${PROJECT_SOURCE_DIR}/web")
  # Asked anew at every build, so that what npm brought in between is found.
  file(GLOB installed CONFIGURE_DEPENDS "${web}/node_modules/uplot/dist/*")
  peerlane_find_uplot(uplot)
  set(drawn_with "${web}/report.js" "${web}/report.css")
  if(uplot)
    message(STATUS "peerlane: charts of the HTML report by uPlot, ${uplot}")
    list(APPEND drawn_with "${uplot}/dist/uPlot.iife.min.js" "${uplot}/dist/uPlot.min.css" "${uplot}/LICENSE")
  else()
    message(STATUS "peerlane: uPlot not found: the HTML report will have tables and no charts. "
                   "scripts/setup.sh charts installs it with npm")
  endif()
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedReport.cmake")
  set(embedded "${PROJECT_BINARY_DIR}/generated/embedded_report.cpp")
  # With or without uPlot is not told by the files' dates.
  set(command "${CMAKE_COMMAND}" "-DOUTPUT=${embedded}" "-DWEB=${web}" "-DUPLOT=${uplot}" -P "${script}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/embedded_report.txt" CONTENT "${command}\n" @ONLY)
  add_custom_command(OUTPUT "${embedded}" COMMAND ${command}
    DEPENDS ${drawn_with} "${script}" "${PROJECT_BINARY_DIR}/generated/embedded_report.txt"
    COMMENT "Embedding the report's script and style" VERBATIM)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/report/*.cpp")
  add_library(peerlane_report STATIC EXCLUDE_FROM_ALL ${sources} "${embedded}")
  target_link_libraries(peerlane_report PUBLIC peerlane_flags ${arg_LINK})
  set(PEERLANE_COMPONENTS ${PEERLANE_COMPONENTS} peerlane_report CACHE INTERNAL "")
  set(PEERLANE_UPLOT_FOUND "${uplot}" PARENT_SCOPE)
endfunction()
