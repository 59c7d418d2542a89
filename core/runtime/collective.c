// SPDX-License-Identifier: Apache-2.0
// Collectives of a host program: turns the tensors of a call into a request to the communicator.
#include "core/runtime/collective.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static int32_t refuse(const byoc_call_t *call, int32_t status, const char *format,
                                                            ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  call->runtime->set_error(call->runtime->self, message);
  return status;
}

static uint64_t count_of(const DLTensor *tensor) {
  uint64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= (uint64_t)tensor->shape[d];
  return count;
}

// The element type that the communicator is given for a DLPack type.
static uint32_t dtype_of(const DLTensor *tensor) {
  for (uint32_t dtype = 1; dtype < BYOC_DTYPE_COUNT; dtype++) {
    if (byoc_dtype_dlpack_code(dtype) == tensor->dtype.code && byoc_dtype_bits(dtype) == tensor->dtype.bits) {
      return dtype;
    }
  }
  return BYOC_DTYPE_NONE;
}

// Does this member of the group receive something?
static bool is_receiver(const byoc_collective_call_t *what, int32_t members, int32_t position) {
  if (what->kind == BYOC_GATHER || what->kind == BYOC_REDUCE) return position == what->root;
  for (int32_t m = 0; what->kind == BYOC_PERMUTE && m < members; m++) {
    if (what->targets[m] == position) return true;
  }
  return what->kind != BYOC_PERMUTE;
}

// A single rank receives what it sends.
static void run_alone(const byoc_collective_call_t *what, const byoc_collective_t *c, size_t bytes) {
  if (what->phase == BYOC_COLLECTIVE_BEGINS || c->send == NULL || c->receive == NULL || bytes == 0) return;
  if (c->kind != BYOC_PERMUTE || c->targets[0] == 0) memcpy(c->receive, c->send, bytes);
}

static int32_t run(const byoc_communicator_t *communicator, const byoc_collective_call_t *what,
                   const byoc_collective_t *c) {
  if (what->phase == BYOC_COLLECTIVE_WHOLE) return communicator->run(communicator->self, c);
  return what->phase == BYOC_COLLECTIVE_BEGINS ? communicator->begin(communicator->self, c)
                                               : communicator->end(communicator->self, c);
}

static int32_t (*ending_of(const byoc_runtime_t *runtime))(void *) {
  const size_t known = offsetof(byoc_runtime_t, is_ending) + sizeof(runtime->is_ending);
  return runtime->struct_size >= known ? runtime->is_ending : NULL;
}

int32_t byoc_collective_call(const byoc_collective_call_t *what, const byoc_call_t *call) {
  const byoc_communicator_t *communicator = call->runtime->communicator;
  const int32_t rank = communicator != NULL ? communicator->rank : 0,
                size = communicator != NULL ? communicator->size : 1;
  const int32_t members = what->members > 0 ? what->members : size, stride = what->members > 0 ? what->stride : 1;
  const char *name = byoc_collective_name(what->kind);
  if (size % (members * stride) != 0) {
    return refuse(call, BYOC_INVALID_ARGUMENT, "%s among %d ranks, %d apart, does not fit %d rank%s%s", name, members,
                  stride, size, size == 1 ? "" : "s",
                  communicator == NULL ? ": give the context a communicator, as byoc run --ranks does" : "");
  }
  const DLTensor *in = call->input_count > 0 ? &call->tensors[0] : NULL;
  const DLTensor *out = call->output_count > 0 ? &call->tensors[call->input_count] : NULL;
  const int32_t sent = byoc_collective_sent_blocks(what->kind, members);
  const int32_t received = byoc_collective_received_blocks(what->kind, members);
  const uint64_t count = in != NULL ? count_of(in) / (uint64_t)sent : count_of(out) / (uint64_t)received;
  const uint64_t in_count = in != NULL ? count_of(in) : count, out_count = out != NULL ? count_of(out) : count;
  if (in_count != count * (uint64_t)sent || out_count != count * (uint64_t)received) {
    return refuse(call, BYOC_INVALID_ARGUMENT, "%s: %llu elements become %llu among %d ranks", name,
                  (unsigned long long)in_count, (unsigned long long)out_count, members);
  }
  const int32_t position = rank / stride % members;
  const bool receives = out != NULL && is_receiver(what, members, position);
  const byoc_collective_t c = {.struct_size = sizeof(c),
                               .kind = what->kind,
                               .dtype = dtype_of(in != NULL ? in : out),
                               .reduction = what->reduction,
                               .count = count,
                               .first = rank - position * stride,
                               .stride = stride,
                               .members = members,
                               .root = what->root,
                               .targets = what->targets,
                               .send = in != NULL ? in->data : NULL,
                               .receive = receives ? out->data : NULL,
                               .is_ending = ending_of(call->runtime),
                               .waiter = call->runtime->self};
  const size_t bytes = (size_t)out_count * (byoc_dtype_bits(c.dtype) / 8);
  int32_t status = BYOC_OK;
  if (communicator == NULL) run_alone(what, &c, bytes);
  if (communicator != NULL) status = run(communicator, what, &c);
  if (status != BYOC_OK) return refuse(call, status, "%s", communicator->last_error(communicator->self));
  if (out != NULL && !receives && what->phase != BYOC_COLLECTIVE_BEGINS) memset(out->data, 0, bytes);
  return BYOC_OK;
}

// ---- the collectives of a context ----

static int32_t pass_on(void *self, const byoc_collective_t *collective) {
  const byoc_communicator_t *transport = ((byoc_collectives_t *)self)->transport;
  return transport->run(transport->self, collective);
}

static int32_t pass_on_begin(void *self, const byoc_collective_t *collective) {
  byoc_collectives_t *collectives = self;
  const byoc_communicator_t *transport = collectives->transport;
  const bool has_steps = transport->struct_size >= offsetof(byoc_communicator_t, end) + sizeof(transport->end) &&
                         transport->begin != NULL && transport->end != NULL;
  if (!has_steps) return BYOC_OK; // the whole collective runs at its end
  const int32_t status = transport->begin(transport->self, collective);
  collectives->begun = *collective;
  collectives->has_begun = status == BYOC_OK;
  return status;
}

static int32_t pass_on_end(void *self, const byoc_collective_t *collective) {
  byoc_collectives_t *collectives = self;
  const byoc_communicator_t *transport = collectives->transport;
  if (!collectives->has_begun) return transport->run(transport->self, collective);
  collectives->has_begun = 0;
  return transport->end(transport->self, collective);
}

static const char *pass_on_error(void *self) {
  const byoc_communicator_t *transport = ((byoc_collectives_t *)self)->transport;
  return transport->last_error(transport->self);
}

void byoc_collectives_settle(byoc_collectives_t *collectives) {
  if (collectives->has_begun) (void)pass_on_end(collectives, &collectives->begun);
}

void byoc_collectives_abandon(byoc_collectives_t *collectives) {
  const byoc_communicator_t *transport = collectives->transport;
  if (transport == NULL) return;
  const bool can = transport->struct_size >= offsetof(byoc_communicator_t, abandon) + sizeof(transport->abandon);
  if (can && transport->abandon != NULL) transport->abandon(transport->self);
}

// ---- builds ----

static int32_t out_of_memory(char *message, size_t size) {
  (void)snprintf(message, size, "out of memory");
  return BYOC_OUT_OF_MEMORY;
}

int32_t byoc_collectives_compare_builds(byoc_collectives_t *collectives, uint64_t build, char *message, size_t size) {
  const byoc_communicator_t *transport = collectives->transport;
  if (transport == NULL || transport->size < 2) return BYOC_OK;
  uint64_t *builds = calloc((size_t)transport->size, sizeof(*builds));
  if (builds == NULL) return out_of_memory(message, size);
  const byoc_collective_t c = {.struct_size = sizeof(c),
                               .kind = BYOC_ALL_GATHER,
                               .dtype = BYOC_DTYPE_U64,
                               .count = 1,
                               .stride = 1,
                               .members = transport->size,
                               .send = &build,
                               .receive = builds};
  int32_t status = transport->run(transport->self, &c);
  if (status != BYOC_OK) {
    (void)snprintf(message, size, "comparing the builds of the ranks: %s", transport->last_error(transport->self));
  }
  for (int32_t r = 1; r < transport->size && status == BYOC_OK; r++) {
    if (builds[r] == builds[0]) continue;
    (void)snprintf(
        message, size,
        "rank 0 (build %016llx) and rank %d (build %016llx) are of different builds: build all ranks from one "
        "model, with the same --shard and --ranks",
        (unsigned long long)builds[0], (int)r, (unsigned long long)builds[r]);
    status = BYOC_INVALID_ARGUMENT;
  }
  free(builds);
  return status;
}

// ---- a context's communicator ----

static int32_t check(const byoc_communicator_t *communicator, uint32_t rank_count, int32_t rank, char *message,
                     size_t size) {
  if (communicator == NULL) {
    if (rank_count < 2) return BYOC_OK;
    (void)snprintf(message, size,
                   "this is rank %d of %u: the context needs a communicator (byoc_context_options_t.communicator; byoc "
                   "run --ranks %u)",
                   rank, rank_count, rank_count);
    return BYOC_INVALID_ARGUMENT;
  }
  if (communicator->struct_size < offsetof(byoc_communicator_t, begin) ||
      communicator->abi_version != BYOC_COMMUNICATOR_ABI || communicator->run == NULL ||
      communicator->last_error == NULL) {
    (void)snprintf(message, size, "the communicator has version %u and %u bytes, or lacks run or last_error",
                   communicator->abi_version, communicator->struct_size);
    return BYOC_INVALID_ARGUMENT;
  }
  if (communicator->size < 1 || communicator->rank < 0 || communicator->rank >= communicator->size) {
    (void)snprintf(message, size, "the communicator says that it is rank %d of %d", communicator->rank,
                   communicator->size);
    return BYOC_INVALID_ARGUMENT;
  }
  if (rank_count == 0 || (communicator->size == (int32_t)rank_count && communicator->rank == rank)) return BYOC_OK;
  (void)snprintf(message, size, "this was built for rank %d of %u, and is run as rank %d of %d", rank, rank_count,
                 communicator->rank, communicator->size);
  return BYOC_INVALID_ARGUMENT;
}

int32_t byoc_collectives_init(byoc_collectives_t *collectives, const byoc_communicator_t *transport,
                              uint32_t rank_count, int32_t rank, const byoc_communicator_t **out_communicator,
                              char *message, size_t size) {
  *out_communicator = NULL;
  const int32_t status = check(transport, rank_count, rank, message, size);
  if (status != BYOC_OK || transport == NULL) return status;
  collectives->transport = transport;
  collectives->communicator = (byoc_communicator_t){.struct_size = sizeof(collectives->communicator),
                                                    .abi_version = BYOC_COMMUNICATOR_ABI,
                                                    .rank = transport->rank,
                                                    .size = transport->size,
                                                    .self = collectives,
                                                    .run = pass_on,
                                                    .last_error = pass_on_error,
                                                    .begin = pass_on_begin,
                                                    .end = pass_on_end};
  *out_communicator = &collectives->communicator;
  return BYOC_OK;
}
