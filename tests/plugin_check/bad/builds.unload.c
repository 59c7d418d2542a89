// Cannot be unloaded (see CMakeLists.txt).
#include "base.h"
