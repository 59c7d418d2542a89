# Runs CHECK on PLUGIN and expects that exactly RULE fails ("none": no rule), and that the exit code says so. If ONLY is
# given, it runs this rule only. OPTION: stands before PLUGIN (--driver).
if(ONLY)
  set(only --rule=${ONLY})
endif()
execute_process(
  COMMAND ${CHECK} ${OPTION} ${PLUGIN} ${only} --format=tap --cases=${CMAKE_CURRENT_LIST_DIR}/cases "--refuses=bad -refuse; c -O=0"
  RESULT_VARIABLE code
  OUTPUT_VARIABLE output)
string(REGEX MATCHALL "\nnot ok [0-9]+ - [^ \n]+" failures "${output}")
string(REGEX REPLACE "\nnot ok [0-9]+ - " "" failures "${failures}")
if(RULE STREQUAL "none")
  set(wanted_code 0)
  set(wanted "")
else()
  set(wanted_code 1)
  set(wanted ${RULE})
endif()
message(STATUS "${output}")
if(NOT "${failures}" STREQUAL "${wanted}" OR NOT code EQUAL wanted_code)
  message(FATAL_ERROR "failed: '${failures}', exit code ${code}; expected: '${wanted}', exit code ${wanted_code}")
endif()
