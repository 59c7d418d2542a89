// SPDX-License-Identifier: Apache-2.0
// One error string per thread. It is not _Thread_local, because the dynamic linker ends the process if there is no
// memory for that.
#include "core/runtime/thread_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_key_t key;
static bool has_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static atomic_bool was_lost;

static void make_key(void) {
  has_key = pthread_key_create(&key, free) == 0;
}

// Unloading deletes the key, because a process has only a thousand of them.
__attribute__((destructor)) static void delete_key(void) {
  if (!has_key) return;
  free(pthread_getspecific(key));
  (void)pthread_key_delete(key);
}

char *byoc_thread_text(bool make) {
  (void)pthread_once(&key_once, make_key);
  char *text = has_key ? pthread_getspecific(key) : NULL;
  if (text != NULL || !make) return text;
  text = has_key ? calloc(1, BYOC_THREAD_TEXT_BYTES) : NULL;
  if (text != NULL && pthread_setspecific(key, text) != 0) {
    free(text);
    text = NULL;
  }
  if (text == NULL) atomic_store(&was_lost, true);
  return text;
}

bool byoc_thread_text_was_lost(void) {
  return atomic_load(&was_lost);
}
