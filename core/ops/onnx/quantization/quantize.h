// SPDX-License-Identifier: Apache-2.0
// Inference of QuantizeLinear and DequantizeLinear, and of operators with their operands and attributes.
#ifndef BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_H_
#define BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_H_

#include "core/op/op.h"

byoc_status_t byoc_infer_quantize(byoc_infer_t *infer);
byoc_status_t byoc_infer_dequantize(byoc_infer_t *infer);

#endif // BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_H_
