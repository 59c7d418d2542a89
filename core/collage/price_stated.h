// SPDX-License-Identifier: Apache-2.0
// The part of a price list that asks backends for stated costs. For core/collage/price_list.c.
#ifndef BYOC_CORE_COLLAGE_PRICE_STATED_H_
#define BYOC_CORE_COLLAGE_PRICE_STATED_H_

#include "core/collage/price_list.h"

// Makes room for the figures of `count` candidates, and asks for those of the candidates that have no cost entry yet.
// Several functions go into one question, and equal ones are asked for once.
byoc_status_t byoc_price_list_ask_stated(byoc_price_list_t *list, size_t count, byoc_diag_t *diag);
// The cost that is stated for a candidate. out_price->is_stated is false if none is.
byoc_status_t byoc_price_list_look_up_stated(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                                             const byoc_function_t *function, byoc_diag_t *diag,
                                             byoc_known_price_t *out_price);

#endif // BYOC_CORE_COLLAGE_PRICE_STATED_H_
