// SPDX-License-Identifier: Apache-2.0
// Lies beside the source that includes it.
#define SIGN PORT_SIGN
