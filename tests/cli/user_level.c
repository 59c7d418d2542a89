// SPDX-License-Identifier: Apache-2.0
// A user's program: says which level of an artifact runs here, or why none does.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "byoc/artifact.h"

int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void *symbol = library != NULL ? dlsym(library, BYOC_ARTIFACT_ENTRY) : NULL;
  byoc_artifact_entry_t entry = NULL;
  if (symbol == NULL) return 2;
  memcpy(&entry, &symbol, sizeof(entry));
  const byoc_artifact_t *table = entry(BYOC_ARTIFACT_ABI);
  char message[512];
  byoc_context_t *context = NULL;
  if (table->check(message, sizeof(message)) != 0) {
    printf("%s\n", message);
    return table->create(NULL, &context) != 0 && strcmp(table->last_error(NULL), message) == 0 ? 1 : 2;
  }
  const char *level = strstr(table->metadata, "\"level\":\"");
  if (level == NULL) return 2;
  level += strlen("\"level\":\"");
  printf("%.*s\n", (int)strcspn(level, "\""), level);
  return 0;
}
