// SPDX-License-Identifier: Apache-2.0
// Opens the standard streams of a program that was started without some of them, as some daemons do.
#ifndef BYOC_CORE_BASE_STANDARD_STREAMS_H_
#define BYOC_CORE_BASE_STANDARD_STREAMS_H_

#include <stdbool.h>

// Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file or pipe would get that
// number, and receive the program's output. Standard output is opened for reading only, so that printing fails, as on a
// full disk, and is not lost silently. Call it first in main. False if /dev/null cannot be opened: then the program
// must end without a message.
bool byoc_standard_streams_open(void);

#endif // BYOC_CORE_BASE_STANDARD_STREAMS_H_
