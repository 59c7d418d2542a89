// Prints in generate.
#define GENERATE_FIRST puts("generating");
#include "base.h"
