set(PEERLANE_COMPONENTS "" CACHE INTERNAL "")

# One set of warnings for all our code; the system's headers are not ours to mend.
add_library(peerlane_flags INTERFACE)
target_compile_options(peerlane_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-missing-field-initializers>
  # GCC 12 takes a moved-from std::optional for uninitialised at some levels of optimisation.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PEERLANE_WERROR}>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PEERLANE_WERROR}>>:-Werror=all-warnings>)
target_include_directories(peerlane_flags INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
if(PEERLANE_PORTABLE)
  # A C library of 2.34 (Enterprise Linux 9, Ubuntu 22.04) must do. So libgcc stays shared: every distribution has it, and
  # the static one of GCC 12 wants 2.35. And what nobody calls goes: the static libstdc++ of Debian 12 has arc4random of 2.36.
  add_link_options(-static-libstdc++ -Wl,--gc-sections)
endif()
if(PEERLANE_SANITIZE)
  # After enable_language(CUDA): the options then reach the host compiler of nvcc's link step once.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PEERLANE_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${PEERLANE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=function>)
  endif()
endif()

# peerlane_component(name DIR folder LINK targets...): the .cpp files of one folder (not of its sub-folders).
function(peerlane_component name)
  cmake_parse_arguments(arg "" "DIR" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${arg_DIR}/*.cpp")
  if(NOT sources)
    add_library(peerlane_${name} INTERFACE)
    target_link_libraries(peerlane_${name} INTERFACE peerlane_flags ${arg_LINK})
    return()
  endif()
  add_library(peerlane_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(peerlane_${name} PUBLIC peerlane_flags ${arg_LINK})
  set(PEERLANE_COMPONENTS ${PEERLANE_COMPONENTS} peerlane_${name} CACHE INTERNAL "")
endfunction()

# The real driver where nvcc was found, else a stand-in that says why there is none.
function(peerlane_cuda_component)
  set(folder "${PROJECT_SOURCE_DIR}/src/driver/cuda")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(PEERLANE_HAVE_CUDA)
    list(REMOVE_ITEM sources "${folder}/no_cuda.cpp")
    file(GLOB device_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/kernels/*.cu")
    _peerlane_device_code_table(table "${device_sources}")
    list(APPEND sources ${device_sources} "${table}")
  else()
    # The parts without a vendor header are built, and tested, everywhere.
    set(sources "${folder}/no_cuda.cpp" "${folder}/ledger.cpp" "${folder}/host_pages.cpp")
  endif()
  add_library(peerlane_cuda STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(peerlane_cuda PUBLIC peerlane_flags peerlane_kernels)
  if(PEERLANE_HAVE_CUDA)
    # cudart is static and libcuda is looked up when first needed: the binary starts on a machine without either.
    set_target_properties(peerlane_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CXX)
    target_link_libraries(peerlane_cuda PUBLIC CUDA::cudart_static Threads::Threads ${CMAKE_DL_LIBS})
  endif()
  set(PEERLANE_COMPONENTS ${PEERLANE_COMPONENTS} peerlane_cuda CACHE INTERNAL "")
endfunction()

# Writes the table of device code, one entry for each NAME.cu.
function(_peerlane_device_code_table result device_sources)
  set(declarations "")
  set(entries "")
  set(count 0)
  foreach(source IN LISTS device_sources)
    get_filename_component(name "${source}" NAME_WE)
    string(APPEND declarations "extern const DeviceCode device_code_${name};\n")
    string(APPEND entries "        device_code_${name},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  set(table "${PROJECT_BINARY_DIR}/generated/device_code_table.cpp")
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT [[// Written by CMake from the names of src/kernels/*.cu.
#include "kernels/device_code.hpp"

namespace peerlane::cuda {
@declarations@
DeviceCodeTable device_code_table() {
    static const DeviceCode table[] = {
@entries@    };
    return {table, @count@};
}

}  // namespace peerlane::cuda
]])
  set(${result} "${table}" PARENT_SCOPE)
endfunction()

# libpeerlane: the objects of every component in one archive, the target that users link (peerlane::peerlane). The plain
# name `peerlane` is the command's.
function(peerlane_library)
  include(GNUInstallDirs)
  set(objects "")
  foreach(component IN LISTS PEERLANE_COMPONENTS)
    list(APPEND objects $<TARGET_OBJECTS:${component}>)
  endforeach()
  add_library(peerlane_library STATIC ${objects})
  add_library(peerlane::peerlane ALIAS peerlane_library)
  set_target_properties(peerlane_library PROPERTIES OUTPUT_NAME peerlane EXPORT_NAME peerlane LINKER_LANGUAGE CXX)
  target_compile_features(peerlane_library PUBLIC cxx_std_20)
  target_include_directories(peerlane_library PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                     "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # What the archive leaves to be found at the final link. Headers-only dependencies are compiled in.
  target_link_libraries(peerlane_library PRIVATE pugixml::static Threads::Threads ${CMAKE_DL_LIBS})
  if(NOT PEERLANE_PORTABLE)
    target_link_libraries(peerlane_library PRIVATE ${PEERLANE_FMT})
  endif()
  if(PEERLANE_HAVE_CUDA)
    target_link_libraries(peerlane_library PRIVATE CUDA::cudart_static)
  endif()
endfunction()
