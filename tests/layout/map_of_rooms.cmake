# SPDX-License-Identifier: Apache-2.0
# Does the map of rooms in docs/architecture.md name each room of core, and nothing else? cmake -DROOMS=rooms.txt -DPAGE=docs/architecture.md -P
file(STRINGS ${ROOMS} rooms)
list(TRANSFORM rooms REPLACE "^(core/[a-z]+)/.*" "\\1") # shelves are told with their rooms
list(REMOVE_DUPLICATES rooms)
file(STRINGS ${PAGE} lines REGEX "^core/[a-z]+/ ")
list(TRANSFORM lines REPLACE "^(core/[a-z]+)/ .*" "\\1" OUTPUT_VARIABLE told)
list(SORT rooms)
list(SORT told)
if(NOT rooms STREQUAL told)
  message(FATAL_ERROR "the rooms are ${rooms}\n${PAGE} tells of ${told}")
endif()
