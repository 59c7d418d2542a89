// SPDX-License-Identifier: Apache-2.0
// Raises a model to a newer operator set of ai.onnx. Internal to core/quantise.
#ifndef BYOC_CORE_QUANTISE_UPGRADE_H_
#define BYOC_CORE_QUANTISE_UPGRADE_H_

#include "core/frontend/onnx_edit.h"

// Rewrites the nodes whose meaning or form has changed. Does nothing if the model's operator set is new enough.
// BYOC_UNSUPPORTED, naming the node, for what cannot be rewritten; the model may then be changed in part.
byoc_status_t byoc_onnx_upgrade(byoc_onnx_model_t *model, int64_t opset, byoc_diag_t *diag);

#endif // BYOC_CORE_QUANTISE_UPGRADE_H_
