# cmake -DBUILD=... -DCONSUMER=... -DCOMPILER=... -P run.cmake: installs into the build folder and builds the consumer there.
set(prefix "${BUILD}/package/prefix")
set(binary "${BUILD}/package/build")
file(REMOVE_RECURSE "${BUILD}/package")

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD}" --component development --prefix "${prefix}")
step("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${binary}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
     "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DSANITIZE=${SANITIZE}")
step("${CMAKE_COMMAND}" --build "${binary}")
step("${binary}/consumer")
step("${binary}/consumer_c")
