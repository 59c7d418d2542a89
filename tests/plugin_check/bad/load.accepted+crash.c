// Crashes in query.
#define QUERY_FIRST __builtin_trap();
#include "base.h"
