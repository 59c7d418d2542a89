// The list of files and folders that must not outlive this process. For the files of core/base only.
#ifndef BYOC_CORE_BASE_TEMPORARY_H_
#define BYOC_CORE_BASE_TEMPORARY_H_

#include <stdbool.h>

// False when memory is out.
bool byoc_temporary_remember(const char *path);
void byoc_temporary_forget(const char *path);

#endif // BYOC_CORE_BASE_TEMPORARY_H_
