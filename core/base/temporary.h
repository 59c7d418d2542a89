// SPDX-License-Identifier: Apache-2.0
// The files and folders that must not outlive this process. For the files of core/base only.
//
// Their names hold BYOC_TEMPORARY_MARK, the number of the process and a unique suffix: "model.so.byoc-tmp-1234-0". A
// process that is killed by SIGKILL, or with its machine, leaves them behind; the next one that makes a temporary file
// or folder beside them removes them. It removes only entries that belong to its user, whose process no longer exists,
// and that are not locked. The lock (flock) of the maker protects them from processes of other containers and machines
// that share the folder. Children of the maker do not hold it.
#ifndef BYOC_CORE_BASE_TEMPORARY_H_
#define BYOC_CORE_BASE_TEMPORARY_H_

#define BYOC_TEMPORARY_MARK ".byoc-tmp-"

// Makes the file or folder by `make(argument)` and remembers `path`, which `make` may fill in. `make` returns -1 and
// sets errno if it fails. When SIGINT or SIGTERM ends the process, the files are removed first. Returns the result of
// `make`; -1 with ENOMEM, and no file, if out of memory.
int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path);
// Another file, open as `fd`, is about to get the remembered name `path`: locks it, too, so that no process sweeps it.
// Does nothing if it cannot be locked.
void byoc_temporary_follow(const char *path, int fd);
void byoc_temporary_forget(const char *path);
// Removes entries of dead processes in `folder`, once in a process; later calls do nothing.
void byoc_temporary_sweep(const char *folder);

#endif // BYOC_CORE_BASE_TEMPORARY_H_
