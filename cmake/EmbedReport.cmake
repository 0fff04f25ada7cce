# cmake -DOUTPUT=file.cpp -DWEB=web -DUPLOT=folder-or-empty -P EmbedReport.cmake: what the HTML report is drawn with, as
# strings in C++.
cmake_minimum_required(VERSION 3.25)
set(pieces "")
set(members "")
# Compilers promise string literals of 65536 bytes: longer files are several, one after the other.
function(embed name file)
  set(text "")
  if(file)
    file(READ "${file}" text)
  endif()
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 16000 piece)
    string(APPEND literal "\n    R\"peerlane(${piece})peerlane\"")
    math(EXPR at "${at} + 16000")
  endwhile()
  if(NOT literal)
    set(literal " \"\"")
  endif()
  set(pieces "${pieces}constexpr char ${name}[] =${literal};\n" PARENT_SCOPE)
  set(members "${members}{${name}, sizeof ${name} - 1}, " PARENT_SCOPE)
endfunction()

set(uplot_script "")
set(uplot_style "")
set(uplot_licence "")
if(UPLOT)
  set(uplot_script "${UPLOT}/dist/uPlot.iife.min.js")
  set(uplot_style "${UPLOT}/dist/uPlot.min.css")
  set(uplot_licence "${UPLOT}/LICENSE")
endif()
embed(script "${WEB}/report.js")
embed(style "${WEB}/report.css")
embed(charts_script "${uplot_script}")
embed(charts_style "${uplot_style}")
embed(charts_licence "${uplot_licence}")
file(WRITE "${OUTPUT}" "// Written by CMake from web/.
#include \"report/embedded.hpp\"

namespace peerlane::report {
namespace {

${pieces}
}  // namespace

const Embedded& embedded() {
    static constexpr Embedded files{${members}};
    return files;
}

}  // namespace peerlane::report
")
