// Verifies host programs.
#include <string.h>

#include "core/hostir/program.h"
#include "core/module/c_call.h"

// What is known about each buffer while walking the program.
typedef struct buffer_state_t {
  bool alive, written;
} buffer_state_t;

typedef struct verifier_t {
  const byoc_host_program_t *program;
  const byoc_host_instruction_t *at;
  buffer_state_t *states; // by buffer index, roots only
  // The planned buffers that are alive and not empty, by offset; they do not overlap.
  const byoc_host_buffer_t **alive;
  size_t alive_count;
  byoc_diag_t *diag;
} verifier_t;

static byoc_status_t complain(verifier_t *v, const byoc_host_buffer_t *buffer, const char *what) {
  return byoc_diag_error(v->diag, BYOC_INTERNAL, "host program '%s': %s %s: buffer '%s' %s", v->program->name,
                         v->at ? byoc_host_op_name(v->at->op) : "end", v->at && v->at->symbol ? v->at->symbol : "",
                         buffer->name, what);
}

static byoc_status_t check_read(verifier_t *v, byoc_host_buffer_t *buffer) {
  const buffer_state_t *state = &v->states[byoc_host_buffer_root(buffer)->index];
  if (!state->alive) return complain(v, buffer, "is read outside its lifetime");
  if (!state->written) return complain(v, buffer, "is read before it is written");
  return BYOC_OK;
}

static byoc_status_t check_write(verifier_t *v, byoc_host_buffer_t *buffer) {
  byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  buffer_state_t *state = &v->states[root->index];
  if (root->kind == BYOC_HOST_BUFFER_INPUT || root->kind == BYOC_HOST_BUFFER_CONSTANT) {
    return complain(v, buffer, "is read-only, but is written");
  }
  if (!state->alive) return complain(v, buffer, "is written outside its lifetime");
  state->written = true;
  return BYOC_OK;
}

static bool is_planned(const byoc_host_buffer_t *buffer) {
  return !buffer->is_value && buffer->offset_bytes != BYOC_HOST_OFFSET_NONE;
}

// The position in `alive` of the first buffer that begins at `offset` or behind it.
static size_t find_alive(const verifier_t *v, uint64_t offset) {
  size_t low = 0, high = v->alive_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (v->alive[middle]->offset_bytes < offset) low = middle + 1;
    if (v->alive[middle]->offset_bytes >= offset) high = middle;
  }
  return low;
}

// A planned buffer must not overlap another one that is alive at the same time.
static byoc_status_t begin_planned(verifier_t *v, const byoc_host_buffer_t *buffer) {
  uint64_t end = buffer->offset_bytes + buffer->size_bytes;
  if (end > v->program->workspace_size_bytes) return complain(v, buffer, "reaches beyond the workspace");
  if (buffer->size_bytes == 0) return BYOC_OK;
  size_t at = find_alive(v, buffer->offset_bytes);
  const byoc_host_buffer_t *before = at > 0 ? v->alive[at - 1] : NULL;
  if ((before != NULL && before->offset_bytes + before->size_bytes > buffer->offset_bytes) ||
      (at < v->alive_count && v->alive[at]->offset_bytes < end)) {
    return complain(v, buffer, "overlaps another buffer that is alive");
  }
  memmove(&v->alive[at + 1], &v->alive[at], (v->alive_count - at) * sizeof(const byoc_host_buffer_t *));
  v->alive[at] = buffer;
  v->alive_count++;
  return BYOC_OK;
}

static void end_planned(verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (buffer->size_bytes == 0) return;
  size_t at = find_alive(v, buffer->offset_bytes);
  v->alive_count--;
  memmove(&v->alive[at], &v->alive[at + 1], (v->alive_count - at) * sizeof(const byoc_host_buffer_t *));
}

static byoc_status_t check_life(verifier_t *v, const byoc_host_instruction_t *i) {
  byoc_host_buffer_t *buffer = i->operands.data[0];
  buffer_state_t *state = &v->states[buffer->index];
  if (buffer->is_parameter) return complain(v, buffer, "belongs to its region");
  if (buffer->kind != BYOC_HOST_BUFFER_LOCAL) return complain(v, buffer, "is not local");
  bool begins = i->op == BYOC_HOST_ALLOCATE;
  if (state->alive == begins)
    return complain(v, buffer, begins ? "is allocated twice" : "is freed, but was not allocated");
  *state = (buffer_state_t){.alive = begins};
  if (!is_planned(buffer)) return BYOC_OK;
  if (begins) return begin_planned(v, buffer);
  end_planned(v, buffer);
  return BYOC_OK;
}

// Result cells that the instruction makes begin their lifetime with it.
static bool makes_cells(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_SHARE || i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_BRANCH ||
         i->op == BYOC_HOST_LOOP;
}

static byoc_status_t check_cells(verifier_t *v, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->results.count; ++k) {
    if (!i->results.data[k]->is_value) return complain(v, i->results.data[k], "is not a value");
    v->states[i->results.data[k]->index] = (buffer_state_t){.alive = true, .written = true};
  }
  for (uint32_t r = 0; r < i->region_count; ++r) {
    const byoc_host_region_t *region = &i->regions[r];
    for (size_t k = 0; k < region->parameters.count; ++k) {
      v->states[region->parameters.data[k]->index] = (buffer_state_t){.alive = true, .written = true};
    }
  }
  return BYOC_OK;
}

// A yield must give as many values as its owner takes.
static byoc_status_t check_yield(verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_instruction_t *owner = i->region->owner;
  size_t wanted = owner == NULL ? 0 : owner->results.count + (owner->op == BYOC_HOST_LOOP);
  if (owner != NULL && i->operands.count == wanted) return BYOC_OK;
  return byoc_diag_error(v->diag, BYOC_INTERNAL, "host program '%s': a yield of %zu values where %zu are taken",
                         v->program->name, i->operands.count, wanted);
}

static byoc_status_t check_instruction(verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) return check_life(v, i);
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] != NULL) BYOC_RETURN_IF_ERROR(check_read(v, i->operands.data[k]));
  }
  if (i->op == BYOC_HOST_YIELD) BYOC_RETURN_IF_ERROR(check_yield(v, i));
  if (makes_cells(i)) return check_cells(v, i);
  if (i->workspace != NULL) BYOC_RETURN_IF_ERROR(check_write(v, i->workspace));
  for (size_t k = 0; k < i->results.count; ++k) BYOC_RETURN_IF_ERROR(check_write(v, i->results.data[k]));
  if (i->op == BYOC_HOST_COPY && i->operands.data[0]->size_bytes != i->results.data[0]->size_bytes) {
    return complain(v, i->results.data[0], "is copied from a buffer of another size");
  }
  if (i->op == BYOC_HOST_C_CALL) {
    return byoc_c_call_verify(i->c_call, (uint32_t)i->operands.count, (uint32_t)i->results.count, v->diag);
  }
  return BYOC_OK;
}

static byoc_status_t walk(verifier_t *v) {
  for (size_t k = 0; k < v->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = v->program->buffers.data[k];
    bool given = buffer->kind == BYOC_HOST_BUFFER_INPUT || buffer->kind == BYOC_HOST_BUFFER_CONSTANT;
    v->states[k] = (buffer_state_t){.alive = buffer->kind != BYOC_HOST_BUFFER_LOCAL, .written = given};
    if (buffer->kind != BYOC_HOST_BUFFER_VIEW) continue;
    if (buffer->base->kind == BYOC_HOST_BUFFER_VIEW) return complain(v, buffer, "is a view of a view");
    if (buffer->offset_bytes + buffer->size_bytes > buffer->base->size_bytes) {
      return complain(v, buffer, "reaches beyond its base");
    }
  }
  for (v->at = v->program->body.first; v->at != NULL; v->at = byoc_host_instruction_following(v->at)) {
    BYOC_RETURN_IF_ERROR(check_instruction(v, v->at));
  }
  for (size_t k = 0; k < v->program->outputs.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_read(v, v->program->outputs.data[k]));
  }
  for (size_t k = 0; k < v->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = v->program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_LOCAL || buffer->is_parameter) continue;
    if (v->states[k].alive) return complain(v, buffer, "is never freed");
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_program_verify(const byoc_host_program_t *program, byoc_diag_t *diag) {
  byoc_allocator_t allocator = program->arena.allocator;
  verifier_t v = {.program = program, .diag = diag};
  v.states = byoc_allocate(allocator, program->buffers.count, sizeof(*v.states));
  v.alive = byoc_allocate(allocator, program->buffers.count, sizeof(*v.alive));
  byoc_status_t status = v.states != NULL && v.alive != NULL ? walk(&v) : byoc_diag_out_of_memory(diag);
  byoc_free(allocator, v.states);
  byoc_free(allocator, v.alive);
  return status;
}
