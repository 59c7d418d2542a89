// SPDX-License-Identifier: Apache-2.0
// The message of a thread's last create or check that failed. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_THREAD_TEXT_H_
#define BYOC_CORE_RUNTIME_THREAD_TEXT_H_

#include <stdbool.h>

enum { BYOC_THREAD_TEXT_BYTES = 1024 };

// The calling thread's message; NULL if it has none and `make` is false, or if there is no memory for it.
char *byoc_thread_text(bool make);
// Was there no memory for the message of some thread?
bool byoc_thread_text_was_lost(void);

#endif // BYOC_CORE_RUNTIME_THREAD_TEXT_H_
