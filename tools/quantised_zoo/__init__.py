# SPDX-License-Identifier: Apache-2.0
"""The models of tools/quantised-zoo, and how byoc is held against ONNX Runtime on them."""
