// SPDX-License-Identifier: Apache-2.0
// The list of files and folders that must not outlive this process.
#define _GNU_SOURCE
#include "core/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/interrupt.h"
#include "core/base/remove.h"

// A forked child inherits the list, but must not remove its files.
typedef struct temporary_t temporary_t;
struct temporary_t {
  temporary_t *next;
  pid_t owner;
  int lock_fd;   // held until it is forgotten; -1 if it cannot be locked
  int follow_fd; // the same, of the file that took its place
  char path[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held forever once a signal ended the list
static temporary_t *temporaries;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static void remove_list(const temporary_t *list) {
  for (; list != NULL; list = list->next) {
    if (list->owner == getpid()) (void)byoc_remove_entry(list->path);
  }
}

static void close_locks(temporary_t *temporary) {
  if (temporary->lock_fd >= 0) (void)close(temporary->lock_fd);
  if (temporary->follow_fd >= 0) (void)close(temporary->follow_fd);
  temporary->lock_fd = temporary->follow_fd = -1;
}

// For signal handlers: removes them all. No file is made after that.
static void end_temporaries(void) {
  byoc_interrupt_seize(&lock);
  remove_list(temporaries);
}

// A child shares the locks of its parent. If it outlived a killed parent, the parent's files would stay locked and
// would not be swept. So the child closes its copies.
static sigset_t mask_of_fork; // of the thread that forks and holds `lock`

static void before_fork(void) {
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask);
  mask_of_fork = mask;
}

static void after_fork_in_parent(void) {
  const sigset_t mask = mask_of_fork;
  byoc_interrupt_unlock(&lock, &mask);
}

static void after_fork_in_child(void) {
  for (temporary_t *temporary = temporaries; temporary != NULL; temporary = temporary->next) close_locks(temporary);
  after_fork_in_parent();
}

static void handle_exit_and_forks(void) {
  atexit(byoc_remove_temporaries);
  (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static int lock_entry(const char *path) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  (void)close(fd);
  return -1;
}

static void free_entry(temporary_t *temporary) {
  close_locks(temporary);
  free(temporary);
}

int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path) {
  pthread_once(&handlers_once, handle_exit_and_forks);
  byoc_interrupt_register(BYOC_INTERRUPT_FILES, end_temporaries);
  size_t size = strlen(path) + 1;
  temporary_t *temporary = malloc(sizeof(*temporary) + size);
  if (temporary == NULL) {
    errno = ENOMEM;
    return -1;
  }
  temporary->owner = getpid();
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask); // held during `make`, too, so that a signal cannot end the list in between
  int made = make(argument);
  int error = errno;
  if (made >= 0) {
    memcpy(temporary->path, path, size);
    temporary->lock_fd = lock_entry(path);
    temporary->follow_fd = -1;
    temporary->next = temporaries;
    temporaries = temporary;
  } else {
    free(temporary);
  }
  byoc_interrupt_unlock(&lock, &mask);
  errno = error;
  return made;
}

void byoc_temporary_follow(const char *path, int fd) {
  sigset_t mask;
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  byoc_interrupt_lock(&lock, &mask);
  temporary_t *found = temporaries;
  while (found != NULL && strcmp(found->path, path) != 0) found = found->next;
  if (found != NULL && flock(own, LOCK_EX | LOCK_NB) == 0) {
    const int former = found->follow_fd;
    found->follow_fd = own;
    own = former;
  }
  byoc_interrupt_unlock(&lock, &mask);
  if (own >= 0) (void)close(own);
}

void byoc_temporary_forget(const char *path) {
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask);
  for (temporary_t **link = &temporaries; *link != NULL; link = &(*link)->next) {
    if (strcmp((*link)->path, path) != 0) continue;
    temporary_t *found = *link;
    *link = found->next;
    free_entry(found);
    break;
  }
  byoc_interrupt_unlock(&lock, &mask);
}

void byoc_remove_temporaries(void) {
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask); // the handler of a signal waits until they are gone
  remove_list(temporaries);
  while (temporaries != NULL) {
    temporary_t *next = temporaries->next;
    free_entry(temporaries);
    temporaries = next;
  }
  byoc_interrupt_unlock(&lock, &mask);
}
