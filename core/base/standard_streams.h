// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error of a program that was started with some of them closed, as some daemons start
// theirs.
#ifndef BYOC_CORE_BASE_STANDARD_STREAMS_H_
#define BYOC_CORE_BASE_STANDARD_STREAMS_H_

#include <stdbool.h>

// Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file or pipe would get that
// number, and what the program prints would go into it. Standard output is opened for reading only, so that printing
// there fails, as it does on a full disk, and is not lost without a word. Call it first in main. False if /dev/null
// cannot be opened: the program must end then, without a word.
bool byoc_standard_streams_open(void);

#endif // BYOC_CORE_BASE_STANDARD_STREAMS_H_
