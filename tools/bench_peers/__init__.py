# SPDX-License-Identifier: Apache-2.0
"""Parts of tools/bench-peers."""
