#define _GNU_SOURCE
#include "core/base/temporary.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"

// A child after fork inherits the list but must not remove what is on it.
typedef struct temporary_t temporary_t;
struct temporary_t {
  temporary_t *next;
  pid_t owner;
  char path[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held for ever once byoc_temporaries_end was called
static temporary_t *temporaries;
static pthread_once_t at_exit_once = PTHREAD_ONCE_INIT;

static void remove_at_exit(void) {
  atexit(byoc_remove_temporaries);
}

int byoc_temporary_make(int (*make)(void *argument), void *argument, const char *path) {
  pthread_once(&at_exit_once, remove_at_exit);
  size_t size = strlen(path) + 1;
  temporary_t *temporary = malloc(sizeof(*temporary) + size);
  if (temporary == NULL) {
    errno = ENOMEM;
    return -1;
  }
  temporary->owner = getpid();
  pthread_mutex_lock(&lock); // around the making too: nobody ends the list between the two
  int made = make(argument);
  int error = errno;
  if (made >= 0) {
    memcpy(temporary->path, path, size);
    temporary->next = temporaries;
    temporaries = temporary;
  } else {
    free(temporary);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return made;
}

void byoc_temporary_forget(const char *path) {
  pthread_mutex_lock(&lock);
  for (temporary_t **link = &temporaries; *link != NULL; link = &(*link)->next) {
    if (strcmp((*link)->path, path) != 0) continue;
    temporary_t *found = *link;
    *link = found->next;
    free(found);
    break;
  }
  pthread_mutex_unlock(&lock);
}

static void remove_list(temporary_t *list) {
  while (list != NULL) {
    temporary_t *next = list->next;
    if (list->owner == getpid()) (void)byoc_remove_entry(list->path);
    free(list);
    list = next;
  }
}

void byoc_remove_temporaries(void) {
  pthread_mutex_lock(&lock);
  temporary_t *list = temporaries;
  temporaries = NULL;
  pthread_mutex_unlock(&lock);
  remove_list(list);
}

void byoc_temporaries_end(void) {
  pthread_mutex_lock(&lock);
  remove_list(temporaries);
  temporaries = NULL;
}
