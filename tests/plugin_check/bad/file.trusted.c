// Its file may be written by the group (see CMakeLists.txt).
#include "base.h"
