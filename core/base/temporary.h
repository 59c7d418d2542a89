// The files and folders that must not outlive this process. For the files of core/base only.
#ifndef BYOC_CORE_BASE_TEMPORARY_H_
#define BYOC_CORE_BASE_TEMPORARY_H_

#include <stdbool.h>

// Makes the file or folder by `make(argument)`, which gives -1 and errno where it cannot, and remembers `path`, which
// make may fill in. Gives what make gave; -1 with ENOMEM, and nothing left behind, when memory is out.
int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path);
void byoc_temporary_forget(const char *path);
// For the handler of a signal. Removes them all. Afterwards the calls above never return: nothing is made any more.
void byoc_temporaries_end(void);
// Removes a file, a link, or a folder with all that is in it; links are not followed. Gives errno, 0 where it is gone.
// Safe in the handler of a signal.
int byoc_remove_entry(const char *path);

#endif // BYOC_CORE_BASE_TEMPORARY_H_
