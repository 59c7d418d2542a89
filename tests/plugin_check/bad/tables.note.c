// Its backend has no description.
#define DESCRIPTION ""
#include "base.h"
