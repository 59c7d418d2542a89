// SPDX-License-Identifier: Apache-2.0
// Its claim has the name of another target's.
#define CLAIM return query->claim(query, "good.pair", 0, query->nodes, 1);
#include "base.h"
