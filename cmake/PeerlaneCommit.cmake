# Writes OUTPUT, a header with the commit that is being built, where it changed. Run at every build: a commit alone does
# not configure anew. In a tree without git (an archive of the sources) PEERLANE_COMMIT in the environment may tell it.
cmake_minimum_required(VERSION 3.25)
set(commit "$ENV{PEERLANE_COMMIT}")
find_program(git git)
if(NOT commit AND git)
  execute_process(COMMAND "${git}" -C "${SOURCE}" rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND "${git}" -C "${SOURCE}" status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(commit AND changes)
    set(commit "${commit}, changed")
  endif()
endif()
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#pragma once\n#define PEERLANE_COMMIT \"@commit@\"\n" @ONLY)
