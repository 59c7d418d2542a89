// SPDX-License-Identifier: Apache-2.0
// Where the file of this artifact is.
#ifndef BYOC_CORE_RUNTIME_OWN_FILE_H_
#define BYOC_CORE_RUNTIME_OWN_FILE_H_

#include <dlfcn.h>
#include <stdbool.h>

// The artifact that this code stands in, as the linker knows it. False if it does not.
bool byoc_model_find_own(Dl_info *out_info);
// Its file: the name that the linker was given, if that is absolute (a relative one was meant for the folder of that
// time), else the one that the system has mapped. `path` holds PATH_MAX bytes. False if that cannot be told.
bool byoc_model_find_own_file(const Dl_info *info, char *path);

#endif // BYOC_CORE_RUNTIME_OWN_FILE_H_
