// Links to a library (see CMakeLists.txt).
#include "base.h"
