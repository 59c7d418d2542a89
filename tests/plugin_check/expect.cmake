# SPDX-License-Identifier: Apache-2.0
# Runs CHECK on PLUGIN and expects that exactly RULE fails ("none": no rule), and that the exit code says so. ONLY: of
# this rule alone. OPTION: stands before PLUGIN (--driver). PRELOAD: a library that is loaded before.
#
# A bad plugin is not tried on the rules that compile most and take three quarters of the time (results, builds,
# load.thousand), unless RULE is one of them or BYOC_TEST_ALL_RULES is in the environment; the good one is.
set(rules "")
if(ONLY)
  set(rules --rule=${ONLY})
elseif(NOT RULE STREQUAL "none" AND "$ENV{BYOC_TEST_ALL_RULES}" STREQUAL "")
  execute_process(COMMAND ${CHECK} --list OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[a-z]+[.][a-z]+" rules "${list}")
  list(TRANSFORM rules STRIP)
  list(FILTER rules EXCLUDE REGEX "^(results|builds)[.]|^load.thousand$")
  list(APPEND rules ${RULE})
  list(TRANSFORM rules PREPEND --rule=)
endif()
if(PRELOAD)
  list(PREPEND CHECK ${CMAKE_COMMAND} -E env LD_PRELOAD=${PRELOAD})
endif()
execute_process(
  COMMAND ${CHECK} ${OPTION} ${PLUGIN} ${rules} --format=tap --cases=${CMAKE_CURRENT_LIST_DIR}/cases
          "--refuses=bad -refuse; c -O=0"
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
