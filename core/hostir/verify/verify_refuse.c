// SPDX-License-Identifier: Apache-2.0
// How the verifier of host programs refuses: with the instruction and the reason.
#include <stdarg.h>
#include <stdio.h>

#include "core/hostir/verify/verify_internal.h"

byoc_status_t byoc_host_verify_refuse(byoc_host_verifier_t *v, const char *format, ...) {
  char reason[512], place[256] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof(reason), format, arguments);
  va_end(arguments);
  const byoc_host_instruction_t *i = v->at;
  if (i != NULL) {
    bool has_origin = i->origin != NULL && i->origin[0] != '\0';
    snprintf(place, sizeof(place), "instruction %zu (%s%s%s%s%s): ", v->number, byoc_host_op_name(i->op),
             i->symbol != NULL ? " " : "", i->symbol != NULL ? i->symbol : "", has_origin ? ", " : "",
             has_origin ? i->origin : "");
  }
  return byoc_diag_error(v->diag, BYOC_INTERNAL, "host program '%s': %s%s", v->program->name, place, reason);
}
