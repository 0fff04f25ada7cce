# cmake -DOUTPUT=file.cpp -DFOLDER=machines -P EmbedMachines.cmake: the named machines as a table in C++.
file(GLOB documents "${FOLDER}/*.json")
list(SORT documents)
set(entries "")
set(count 0)
foreach(document IN LISTS documents)
  get_filename_component(name "${document}" NAME_WE)
  file(READ "${document}" text)
  string(APPEND entries "    {\"${name}\", R\"peerlane(${text})peerlane\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Written by CMake from machines/*.json.
#include \"named/embedded.hpp\"

namespace peerlane::named {
namespace {

const Embedded table[] = {
${entries}};

}  // namespace

EmbeddedTable embedded_machines() {
    return {table, ${count}};
}

}  // namespace peerlane::named
")
