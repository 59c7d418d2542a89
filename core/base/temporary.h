// SPDX-License-Identifier: Apache-2.0
// The files and folders that must not outlive this process. For the files of core/base only.
//
// Their names hold BYOC_TEMPORARY_MARK, the number of the process and a text that makes them unique:
// "model.so.byoc-tmp-1234-0". A process that is killed by SIGKILL, or with its machine, leaves them behind; the next
// one that makes a temporary file or folder beside them removes them. It removes only what belongs to its user, was
// made by a process that no longer exists, and is not locked: the maker holds a lock (flock), which tells the processes
// of other containers and machines that share a folder. Children of the maker do not hold it.
#ifndef BYOC_CORE_BASE_TEMPORARY_H_
#define BYOC_CORE_BASE_TEMPORARY_H_

#define BYOC_TEMPORARY_MARK ".byoc-tmp-"

// Makes the file or folder by `make(argument)`, which returns -1 and sets errno if it cannot, and remembers `path`,
// which `make` may fill in. When SIGINT or SIGTERM ends the process, the files are removed first. Returns what `make`
// returned; -1 with ENOMEM, and nothing left behind, if out of memory.
int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path);
// Another file is about to get the name `path`, which is remembered: locks that one, too, which is open as `fd`, so
// that nobody takes it for left over. Does nothing if it cannot be locked.
void byoc_temporary_follow(const char *path, int fd);
void byoc_temporary_forget(const char *path);
// Removes what dead processes left in `folder`. Does so once per folder in a process; later calls do nothing.
void byoc_temporary_sweep(const char *folder);

#endif // BYOC_CORE_BASE_TEMPORARY_H_
