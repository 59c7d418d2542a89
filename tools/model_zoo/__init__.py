# SPDX-License-Identifier: Apache-2.0
"""The models of tools/model-zoo, and how they become cases of `byoc conform`."""
