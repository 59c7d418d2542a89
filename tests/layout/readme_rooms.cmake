# Does the README's map of rooms name each room of core, and nothing else? cmake -DROOMS=rooms.txt -DREADME=README.md -P
file(STRINGS ${ROOMS} rooms)
list(REMOVE_ITEM rooms core/runtime/artifact) # told with core/runtime
file(STRINGS ${README} lines REGEX "^core/[a-z]+/ ")
list(TRANSFORM lines REPLACE "^(core/[a-z]+)/ .*" "\\1" OUTPUT_VARIABLE told)
list(SORT rooms)
list(SORT told)
if(NOT rooms STREQUAL told)
  message(FATAL_ERROR "the rooms are ${rooms}\nREADME.md tells of ${told}")
endif()
