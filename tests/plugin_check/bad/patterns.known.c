// One of its operators is misspelt.
#define PATTERN "op:{Relu|Neg|Tanhh}(%x)"
#include "base.h"
