// SPDX-License-Identifier: Apache-2.0
// The path of the file of this artifact.
#ifndef BYOC_CORE_RUNTIME_OWN_FILE_H_
#define BYOC_CORE_RUNTIME_OWN_FILE_H_

#include <dlfcn.h>
#include <stdbool.h>

// The artifact with this code, as the dynamic linker has loaded it. False if it does not know it.
bool byoc_model_find_own(Dl_info *out_info);
// Its file: the name that the linker was given, if that is absolute; otherwise the file that the system has mapped,
// because the working folder may have changed. `path` holds PATH_MAX bytes. False if neither is known.
bool byoc_model_find_own_file(const Dl_info *info, char *path);

#endif // BYOC_CORE_RUNTIME_OWN_FILE_H_
