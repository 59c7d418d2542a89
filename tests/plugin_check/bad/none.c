// Nothing is bad about this one: no rule fails.
#include "base.h"
