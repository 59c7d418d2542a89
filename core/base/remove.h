// Removing whatever stands under a name. For the files of core/base; others call byoc_remove_tree of file.h.
#ifndef BYOC_CORE_BASE_REMOVE_H_
#define BYOC_CORE_BASE_REMOVE_H_

// Removes a file, a link, or a folder with all that is in it; links are not followed. Gives errno, 0 where it is gone.
// Safe in the handler of a signal.
int byoc_remove_entry(const char *path);

#endif // BYOC_CORE_BASE_REMOVE_H_
