// Verifies host programs: walks the instructions in the order of the text.
#include "byoc/call.h"
#include "core/hostir/verify_internal.h"

// ---- buffers ----

static byoc_status_t check_buffer(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const char *what = NULL;
  if (buffer->is_parameter && !buffer->is_value) what = "is a parameter, but not a value";
  if (!buffer->is_value && !byoc_type_is_static(buffer->type)) what = "has no known size, but is not a value";
  if (buffer->kind == BYOC_HOST_BUFFER_VIEW) {
    const byoc_host_buffer_t *base = buffer->base;
    if (buffer->offset_bytes > base->size_bytes || buffer->size_bytes > base->size_bytes - buffer->offset_bytes) {
      what = "reaches beyond its base";
    }
    if (byoc_host_buffer_moves(buffer) && buffer->offset_bytes != 0) what = "has two offsets";
    if (buffer->is_value || byoc_host_buffer_in_cell(base)) what = "is a view, but its bytes are in a cell";
    if (base->kind == BYOC_HOST_BUFFER_VIEW) what = "is a view of a view";
  } else if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value &&
             buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
    const uint64_t workspace = v->program->workspace_size_bytes;
    if (buffer->offset_bytes > workspace || buffer->size_bytes > workspace - buffer->offset_bytes) {
      what = "reaches beyond the workspace";
    }
    if (buffer->offset_bytes % BYOC_BUFFER_ALIGNMENT != 0) what = "is planned at an offset that is not aligned";
  }
  if (what == NULL) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' %s", buffer->name, what);
}

// ---- symbols ----

typedef struct leaf_t {
  const byoc_host_verifier_t *v;
  byoc_dim_t missing;
} leaf_t;

static bool leaf_is_bound(void *self, byoc_dim_t leaf) {
  leaf_t *search = self;
  search->missing = leaf;
  if (byoc_dim_is_unknown(leaf)) return false;
  uintptr_t index = (uintptr_t)byoc_text_map_get(&search->v->program->symbol_indices, leaf.expr->symbol);
  return index != 0 && search->v->is_bound[index - 1];
}

static byoc_status_t check_dim(byoc_host_verifier_t *v, byoc_dim_t dim) {
  leaf_t search = {.v = v};
  if (byoc_dim_walk(dim, leaf_is_bound, &search)) return BYOC_OK;
  if (byoc_dim_is_unknown(search.missing)) return byoc_host_verify_refuse(v, "it needs a dimension that is not known");
  return byoc_host_verify_refuse(v, "the symbol %s is used before it is bound", search.missing.expr->symbol);
}

static byoc_status_t check_dims(byoc_host_verifier_t *v, const byoc_dim_t *dims, size_t count) {
  for (size_t k = 0; k < count; ++k) BYOC_RETURN_IF_ERROR(check_dim(v, dims[k]));
  return BYOC_OK;
}

// The shape of a cell that the instruction makes.
static byoc_status_t check_shape(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (byoc_type_is_tensor(buffer->type) && buffer->type->rank != BYOC_RANK_UNKNOWN) {
    return check_dims(v, buffer->type->dims, (size_t)buffer->type->rank);
  }
  return byoc_host_verify_refuse(v, "buffer '%s' is made, but is no tensor of a known rank", buffer->name);
}

// A view that moves needs its symbols, and must have a place in its base.
static byoc_status_t check_place(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (buffer == NULL || !byoc_host_buffer_moves(buffer)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(check_dim(v, buffer->offset));
  const byoc_host_range_t range = byoc_host_range_of(&v->ranges, buffer->offset);
  if (range.most >= 0 && range.least <= (int64_t)(buffer->base->size_bytes - buffer->size_bytes)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' is nowhere in its base", buffer->name);
}

static byoc_status_t check_places(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->operands.count; ++k) BYOC_RETURN_IF_ERROR(check_place(v, i->operands.data[k]));
  for (size_t k = 0; k < i->results.count; ++k) BYOC_RETURN_IF_ERROR(check_place(v, i->results.data[k]));
  return BYOC_OK;
}

// A symbol that a LET or a loop gives its value gets it there only.
static byoc_status_t check_definition(byoc_host_verifier_t *v, uint32_t symbol) {
  if (symbol >= v->program->input_symbol_count && v->ranges.definition_counts[symbol] == 1) return BYOC_OK;
  return byoc_host_verify_refuse(v, "the symbol %s gets its value elsewhere, too", v->program->symbols.data[symbol]);
}

static byoc_status_t check_count(byoc_host_verifier_t *v, const byoc_host_count_t *count) {
  BYOC_RETURN_IF_ERROR(check_definition(v, count->symbol));
  BYOC_RETURN_IF_ERROR(check_dims(v, (const byoc_dim_t[]){count->start, count->stop, count->step}, 3));
  const byoc_host_range_t step = byoc_host_range_of(&v->ranges, count->step);
  if (step.least > 0 || step.most < 0) return BYOC_OK;
  return byoc_host_verify_refuse(v, "the step may be 0, or of either sign");
}

static byoc_status_t bind(byoc_host_verifier_t *v, uint32_t symbol) {
  if (v->is_bound[symbol]) return BYOC_OK;
  v->is_bound[symbol] = true;
  return byoc_vector_push(&v->bound, byoc_arena_allocator(&v->arena), symbol) ? BYOC_OK
                                                                              : byoc_diag_out_of_memory(v->diag);
}

static byoc_status_t check_symbols(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_KERNEL) BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, i->kernel->symbols.count));
  BYOC_RETURN_IF_ERROR(check_places(v, i));
  if (i->count != NULL) return check_count(v, i->count);
  if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, byoc_host_loop_dim_count(i)));
  if (i->op == BYOC_HOST_LET) BYOC_RETURN_IF_ERROR(check_definition(v, i->symbols[0]));
  if (i->op == BYOC_HOST_LET) BYOC_RETURN_IF_ERROR(check_dim(v, i->dims[0]));
  if (i->op == BYOC_HOST_STORE) {
    BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, (size_t)byoc_type_element_count(i->results.data[0]->type)));
  }
  if (i->op == BYOC_HOST_ALLOCATE && i->operands.data[0]->is_value) {
    BYOC_RETURN_IF_ERROR(check_shape(v, i->operands.data[0]));
  }
  if (i->op == BYOC_HOST_SHARE && byoc_type_is_tensor(i->results.data[0]->type) &&
      !byoc_type_equal(i->operands.data[0]->type, i->results.data[0]->type)) {
    BYOC_RETURN_IF_ERROR(check_shape(v, i->results.data[0]));
  }
  for (size_t k = 0; k < i->relations.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_dim(v, i->relations.data[k].left));
    BYOC_RETURN_IF_ERROR(check_dim(v, i->relations.data[k].right));
  }
  for (uint32_t k = 0; k < i->match_count; ++k) {
    const byoc_host_match_t *match = &i->matches[k];
    if (match->symbol != BYOC_HOST_SYMBOL_NONE) BYOC_RETURN_IF_ERROR(bind(v, match->symbol));
    if (match->symbol == BYOC_HOST_SYMBOL_NONE) BYOC_RETURN_IF_ERROR(check_dim(v, match->dim));
  }
  for (uint32_t k = 0; k < i->symbol_count; ++k) BYOC_RETURN_IF_ERROR(bind(v, i->symbols[k]));
  return BYOC_OK;
}

// ---- instructions ----

static byoc_status_t walk_region(byoc_host_verifier_t *v, const byoc_host_region_t *region);

// Walks a nested region; `out_scope` keeps what it does.
static byoc_status_t walk_nested(byoc_host_verifier_t *v, const byoc_host_instruction_t *owner, uint32_t index,
                                 byoc_host_scope_t *out_scope) {
  static const char *const names[] = {"then", "else"};
  const byoc_host_region_t *region = &owner->regions[index];
  const size_t number = v->number;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_enter(v, region, out_scope));
  if (owner->count != NULL) BYOC_RETURN_IF_ERROR(bind(v, owner->count->symbol));
  BYOC_RETURN_IF_ERROR(walk_region(v, region));
  v->at = owner;
  const bool takes_values = (owner->op == BYOC_HOST_LOOP && owner->count == NULL) || owner->results.count > 0;
  const byoc_host_instruction_t *last = region->last;
  while (last != NULL && last->op == BYOC_HOST_FREE) last = last->previous; // what the yield used last
  if (takes_values && (last == NULL || last->op != BYOC_HOST_YIELD)) {
    v->number = number;
    return byoc_host_verify_refuse(v, "%s does not end with a yield",
                                   owner->op == BYOC_HOST_LOOP ? "body" : names[index]);
  }
  return byoc_host_verify_leave(v, out_scope);
}

static byoc_status_t walk_branch(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  byoc_host_scope_t cases[2];
  const size_t number = v->number;
  BYOC_RETURN_IF_ERROR(walk_nested(v, i, 0, &cases[0]));
  BYOC_RETURN_IF_ERROR(walk_nested(v, i, 1, &cases[1]));
  const size_t behind = v->number;
  v->number = number;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_join(v, cases));
  v->number = behind;
  return BYOC_OK;
}

static byoc_status_t walk_loop(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  byoc_host_scope_t body;
  const size_t number = v->number;
  BYOC_RETURN_IF_ERROR(walk_nested(v, i, 0, &body));
  const size_t behind = v->number;
  v->number = number;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_repeat(v, i, &body));
  v->number = behind;
  return BYOC_OK;
}

static bool makes_cells(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_SHARE || i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_BRANCH ||
         i->op == BYOC_HOST_LOOP;
}

static byoc_status_t check_instruction(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(byoc_host_verify_alone(v, i));
  BYOC_RETURN_IF_ERROR(check_symbols(v, i));
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_begin_or_end(v, i->operands.data[0], i->op == BYOC_HOST_ALLOCATE));
    if (i->allocation == BYOC_HOST_FRESH) return BYOC_OK;
    return byoc_host_verify_write(v, i->operands.data[0]); // zeros, or what was there
  }
  if (i->op == BYOC_HOST_YIELD) {
    const byoc_host_instruction_t *next = i->next;
    while (next != NULL && next->op == BYOC_HOST_FREE) next = next->next;
    if (next != NULL) return byoc_host_verify_refuse(v, "a yield is not the end of its region");
  }
  BYOC_RETURN_IF_ERROR(byoc_host_verify_overlaps(v, i));
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] != NULL) BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, i->operands.data[k]));
  }
  if (i->op == BYOC_HOST_C_CALL && i->c_call->result_from_operand >= 0) { // what it adds to is there already
    BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, i->results.data[0]));
  }
  if (i->op == BYOC_HOST_BRANCH) BYOC_RETURN_IF_ERROR(walk_branch(v, i));
  if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(walk_loop(v, i));
  v->at = i;
  if (i->workspace != NULL) BYOC_RETURN_IF_ERROR(byoc_host_verify_scratch(v, i->workspace));
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(makes_cells(i) ? byoc_host_verify_make(v, i->results.data[k])
                                        : byoc_host_verify_write(v, i->results.data[k]));
  }
  return BYOC_OK;
}

static byoc_status_t walk_region(byoc_host_verifier_t *v, const byoc_host_region_t *region) {
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    v->at = i;
    v->number++;
    BYOC_RETURN_IF_ERROR(check_instruction(v, i));
  }
  return BYOC_OK;
}

static byoc_status_t check_ports(byoc_host_verifier_t *v) {
  const byoc_host_program_t *program = v->program;
  for (size_t k = 0; k < program->inputs.count + program->outputs.count; ++k) {
    const byoc_host_buffer_t *buffer =
        k < program->inputs.count ? program->inputs.data[k] : program->outputs.data[k - program->inputs.count];
    if (buffer->is_value == program->is_dynamic) continue;
    return byoc_host_verify_refuse(v, "buffer '%s' is %s value in a %s program", buffer->name,
                                   buffer->is_value ? "a" : "no", program->is_dynamic ? "dynamic" : "static");
  }
  return BYOC_OK;
}

static byoc_status_t walk(byoc_host_verifier_t *v) {
  const byoc_host_program_t *program = v->program;
  BYOC_RETURN_IF_ERROR(check_ports(v));
  for (size_t k = 0; k < program->buffers.count; ++k) BYOC_RETURN_IF_ERROR(check_buffer(v, program->buffers.data[k]));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_start(v));
  BYOC_RETURN_IF_ERROR(walk_region(v, &program->body));
  v->at = NULL;
  for (size_t k = 0; k < program->outputs.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, program->outputs.data[k]));
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_LOCAL || !v->lives[k].alive) continue;
    return byoc_host_verify_refuse(v, "buffer '%s' is never freed", buffer->name);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_program_verify(const byoc_host_program_t *program, byoc_diag_t *diag) {
  byoc_host_verifier_t v = {.program = program, .diag = diag};
  const size_t count = program->buffers.count;
  byoc_arena_init(&v.arena, program->arena.allocator);
  v.lives = BYOC_ARENA_ARRAY(&v.arena, byoc_host_life_t, count);
  v.planned = BYOC_ARENA_ARRAY(&v.arena, const byoc_host_buffer_t *, count);
  v.slots = BYOC_ARENA_ARRAY(&v.arena, uint32_t, count);
  v.is_bound = BYOC_ARENA_ARRAY(&v.arena, bool, program->symbols.count);
  bool ok = byoc_host_ranges_init(&v.ranges, program, &v.arena) && v.lives != NULL && v.planned != NULL &&
            v.slots != NULL && v.is_bound != NULL;
  byoc_status_t status = ok ? walk(&v) : byoc_diag_out_of_memory(diag);
  byoc_arena_deinit(&v.arena);
  return status;
}
