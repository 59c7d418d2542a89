// Takes memory of the host for a file's text and ends the process where there is none.
#define GENERATE_FIRST                                                                                                 \
  void *text = host->resize(host, NULL, 100);                                                                          \
  if (text == NULL) __builtin_trap();                                                                                  \
  host->resize(host, text, 0);
#include "base.h"
