// SPDX-License-Identifier: Apache-2.0
// What the files of the mistaken plugin share.
#ifndef BYOC_TESTS_MISTAKES_MISTAKEN_H_
#define BYOC_TESTS_MISTAKES_MISTAKEN_H_

#include <stdbool.h>

#include "byoc/plugin.h"

const byoc_host_t *mistaken_host(void);
// Is this the mistake to make?
bool mistaken_is(const char *where, const char *what);
// What no hook may do, if that is to be done in this one: "accept:crash".
void mistaken_deed(const char *where);
// What query announces, but for one mistake in it.
void mistaken_spoil(byoc_backend_t *backend, byoc_plugin_t *plugin);
// Answers a function of one Relu by C source, but for one mistake in it.
int32_t mistaken_answer(byoc_codegen_t *codegen, byoc_function_t *function);

#endif // BYOC_TESTS_MISTAKES_MISTAKEN_H_
