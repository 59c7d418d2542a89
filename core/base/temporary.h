// The files and folders that must not outlive this process. For the files of core/base only.
#ifndef BYOC_CORE_BASE_TEMPORARY_H_
#define BYOC_CORE_BASE_TEMPORARY_H_

#include <stdbool.h>

// Makes the file or folder by `make(argument)`, which returns -1 and sets errno if it cannot, and remembers `path`,
// which `make` may fill in. When SIGINT or SIGTERM ends the process, the files are removed first. Returns what `make`
// returned; -1 with ENOMEM, and nothing left behind, if out of memory.
int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path);
void byoc_temporary_forget(const char *path);

#endif // BYOC_CORE_BASE_TEMPORARY_H_
