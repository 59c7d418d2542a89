# SPDX-License-Identifier: Apache-2.0
# What CHECK prints of GOOD, a good plugin, of BAD, which breaks the rule options.described, of IDLE, which takes nothing,
# of GROUPS, whose group rule takes operators for some regions only, of STATICS, whose kernels keep their input, of
# DRIVER, a good driver, and of STREAMS, a good driver without kernels; and its exit codes.

# run(code arguments...): expects the exit code; `output` and `errors` are what it printed.
function(run code)
  execute_process(
    COMMAND ${CHECK} ${ARGN}
    RESULT_VARIABLE got
    OUTPUT_VARIABLE printed
    ERROR_VARIABLE reported)
  if(NOT got EQUAL code)
    message(FATAL_ERROR "'${ARGN}' gave ${got}, not ${code}: ${printed}${reported}")
  endif()
  set(output
      "${printed}"
      PARENT_SCOPE)
  set(errors
      "${reported}"
      PARENT_SCOPE)
endfunction()
function(expect text pattern)
  if(NOT "${${text}}" MATCHES "${pattern}")
    message(FATAL_ERROR "'${pattern}' is not in: ${${text}}")
  endif()
endfunction()

run(0 ${GOOD} --rule=options)
expect(output "none.so: bad 1.0, built for ABI 1\\.[0-9]+\npassed +options.described +each option")
expect(output "\n1 rule: 1 passed, 0 failed\n$")
run(1 ${BAD} --rule=options)
expect(output "\nfailed +options.described [^\n]*\n +bad -level has no help\n +bad -level states no default\n")
run(0 ${BAD} --rule=options --waive=options.described:later)
expect(output "\nwaived +options.described .*\n1 rule: 0 passed, 0 failed, 1 waived\n$")
# A warning fails no rule, and is shown in each format.
set(warning "warning: Flatten: accept takes it, and generate gives back [0-9]+ of [0-9]+ regions with it, such as Flatten\\(")
run(0 ${GROUPS} --rule=rules.kept)
expect(output "\npassed +rules.kept [^\n]*\n( +warning: [^\n]*\n)* +${warning}")
run(0 ${GROUPS} --rule=rules.kept --format=tap)
expect(output "\nok 1 - rules.kept [^\n]*\n(# warning: [^\n]*\n)*# ${warning}")
run(0 ${STATICS} --rule=results.threads --cases=${CMAKE_CURRENT_LIST_DIR}/cases --case=bad.cases/relu)
expect(output "\npassed +results.threads [^\n]*\n +warning: bad.cases: a run changes [0-9]+ bytes of static variables, ")
run(0 ${GOOD} --rule=results.threads --cases=${CMAKE_CURRENT_LIST_DIR}/cases --case=bad.cases/relu)
expect(output "\npassed +results.threads [^\n]*\n1 rule: ")

run(1 ${BAD} --rule=options --rule=file.needs --format=tap)
expect(output "^TAP version 14\n1\\.\\.2\nok 1 - file.needs [^\n]*\nnot ok 2 - options.described ")
expect(output "\n  ---\n  rows: A22\n  findings: \\|\n    bad -level has no help\n    bad -level states no default\n  \\.\\.\\.\n$")

run(1 ${BAD} --rule=options --format=json)
foreach(row "1;failed" "0;passed" "bad;name" "failed;rules;0;verdict" "bad -level has no help;rules;0;findings;0")
  list(POP_FRONT row wanted)
  string(JSON value GET "${output}" ${row})
  if(NOT value STREQUAL wanted)
    message(FATAL_ERROR "${row} is '${value}', not '${wanted}': ${output}")
  endif()
endforeach()

# A target list that cannot be read, or that is not about the plugin, is no crash of the plugin and no pass.
run(1 ${GOOD} --rule=operators.values --target=c)
expect(output "\n +'c' begins with the host's target 'c', not with one of the plugin's\n")
run(1 ${GOOD} --rule=options --target=other)
expect(output "\nfailed +options.described [^\n]*\n +reading its target: unknown target 'other'")

# A rule that is about no case is no pass.
run(1 ${GOOD} --rule=place.cases --case=nowhere)
expect(output "\nfailed +place.cases [^\n]*\n +no case holds what --case says\n")
run(1 ${GOOD} --rule=place.cases --cases=${CMAKE_CURRENT_LIST_DIR}/bad)
expect(output "\nfailed +place.cases [^\n]*\n +'[^\n]*bad' holds no cases in files \\*.cases\n")

# A rule for which nothing was taken is no pass.
run(0 ${IDLE} --rule=memory --rule=operators.empty --rule=hygiene --rule=results --rule=builds --rule=threads)
expect(output "\nskipped +memory.inputs [^\n]*\n +nothing of the specimens calls a function of 'bad [^\n]*\n")
expect(output "\nskipped +operators.empty [^\n]*\n +nothing of the specimens is taken by a rule of 'bad [^\n]*\n")
expect(output "\n18 rules: 0 passed, 0 failed, 18 skipped\n$")
run(0 ${GOOD} --rule=place.cases)
expect(output "\nskipped +place.cases [^\n]*\n")
expect(output "\n +no case names one of its targets, so nothing was checked: ")

# The tables of --cases: types, domains, and what is wrong with them.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wrong_cases/a.cases "a | - | x[2]:i3 | y = Relu(x)\n")
run(1 ${GOOD} --rule=memory.inputs --cases=${CMAKE_CURRENT_BINARY_DIR}/wrong_cases)
expect(output "\n +a.cases:1: not a type of whole bytes, such as f32, f16, i8, u8 or i64, at ':i3'\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wrong_cases/a.cases "a | - | x[2] | y = nobody::Relu(x)\n")
run(1 ${GOOD} --rule=memory.inputs --cases=${CMAKE_CURRENT_BINARY_DIR}/wrong_cases)
expect(output "\n +a.cases/a: [^\n]*nobody")
file(REMOVE_RECURSE ${CMAKE_CURRENT_BINARY_DIR}/wrong_cases)

# Of what is no plugin, the rules that failed are told, and not each rule that could not run.
run(1 ${CMAKE_CURRENT_LIST_FILE})
expect(output "\nfailed +file.needs ")
expect(output ", [0-9][0-9] blocked, because a rule in front of them failed\n$")
if(output MATCHES "\nblocked ")
  message(FATAL_ERROR "rules that could not run are told one by one: ${output}")
endif()

run(0 --list)
expect(output "\noptions.described +A22 +each option")
run(2 ${GOOD} --rule=options.descibed)
expect(errors "there is no rule 'options.descibed'.*did you mean 'options.described'")
run(2 ${GOOD} --format=xml)
expect(errors "--format is text, json or tap, not 'xml'")
# A driver needs no plugin, and a plugin no driver.
run(0 --driver ${DRIVER} --verbose)
expect(output "^[^\n]*driver_sim.so: the driver of a device\npassed +driver.device ")
expect(output "\n +driver sim: a device of threads, sim_1, version 1\n")
expect(output "\n +import is skipped: the device imports nothing\n")
expect(output "\n5 rules: 5 passed, 0 failed\n$")
run(0 --driver ${DRIVER} --rule=driver.memory --case=driver.memory/copy --format=json)
string(JSON value GET "${output}" driver)
if(NOT value MATCHES "driver_sim.so$")
  message(FATAL_ERROR "'driver' is '${value}': ${output}")
endif()
# A driver of command streams has no kernels: what needs one is skipped, and a rule that has nothing else, too.
run(0 --driver ${STREAMS} --verbose)
expect(output "\npassed +driver.device [^\n]*\n")
expect(output "\nskipped +driver.launch [^\n]*\n +launch is skipped: byoc_driver_kernels has no kernel for it\n")
expect(output "\n5 rules: 3 passed, 0 failed, 2 skipped\n$")
run(1 --driver ${DRIVER} --rule=driver.memory --case=driver.memory/nothing)
expect(output "\n +no check of this rule holds what --case says\n")
run(0 ${GOOD} --driver ${DRIVER} --rule=options --rule=driver.launch)
expect(output "\n2 rules: 2 passed, 0 failed\n$")
run(0 ${GOOD} --rule=driver)
expect(output "\nskipped +driver.queue [^\n]*\n +it is about a driver, and --driver names none\n")
run(0 --driver ${DRIVER} --ordinal=7)
expect(output "\n +the device 'sim' cannot start: the driver 'sim' has devices 0 to 1, none of number 7\n")
run(1 --driver ${GOOD})
expect(output "\n +it does not export 'byoc_driver', which byoc/driver_check.h declares\n")
expect(output "\n5 rules: 0 passed, 1 failed, 4 blocked, because a rule in front of them failed\n$")
run(1 --driver ${GOOD}.missing)
expect(errors "cannot find the driver '[^\n]*none.so.missing'")

run(2)
expect(errors "needs one plugin, or --driver")
run(1 ${GOOD}.missing)
expect(errors "cannot find the plugin")
