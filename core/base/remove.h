// SPDX-License-Identifier: Apache-2.0
// Removes the file, link or folder of a given name. For the files of core/base; others call byoc_remove_tree of file.h.
#ifndef BYOC_CORE_BASE_REMOVE_H_
#define BYOC_CORE_BASE_REMOVE_H_

// Removes a file, a link, or a folder with all its contents; links are not followed. Returns an errno, 0 if it is gone.
// Safe in a signal handler.
int byoc_remove_entry(const char *path);
// The same for the entry `name` of an open folder.
int byoc_remove_entry_at(int folder, const char *name);

#endif // BYOC_CORE_BASE_REMOVE_H_
