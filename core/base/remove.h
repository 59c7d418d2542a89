// Removes the file, link or folder of a given name. For the files of core/base; others call byoc_remove_tree of file.h.
#ifndef BYOC_CORE_BASE_REMOVE_H_
#define BYOC_CORE_BASE_REMOVE_H_

// Removes a file, a link, or a folder with all its contents; links are not followed. Returns an errno, 0 if it is gone.
// Safe in a signal handler.
int byoc_remove_entry(const char *path);

#endif // BYOC_CORE_BASE_REMOVE_H_
