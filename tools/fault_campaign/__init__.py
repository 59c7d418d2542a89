# SPDX-License-Identifier: Apache-2.0
"""What tools/faults is made of."""
