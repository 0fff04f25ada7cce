set(PEERLANE_COMPONENTS "" CACHE INTERNAL "")

# One set of warnings for all our code; the system's headers are not ours to mend.
add_library(peerlane_flags INTERFACE)
target_compile_options(peerlane_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PEERLANE_WERROR}>>:-Werror>)
target_include_directories(peerlane_flags INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
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

# The CUDA driver: only where nvcc was found.
function(peerlane_cuda_component)
endfunction()

# libpeerlane: the objects of every component in one archive, the target that users link.
function(peerlane_library)
endfunction()
