// SPDX-License-Identifier: Apache-2.0
// Verifies host programs: walks the instructions in the order of the text.
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/verify/in_place.h"
#include "core/hostir/verify/verify_internal.h"

// ---- buffers ----

static byoc_status_t check_buffer(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const char *what = NULL;
  if (buffer->is_parameter && !buffer->is_value) what = "is a parameter, but not a value";
  if (!buffer->is_value && !byoc_type_is_static(buffer->type)) what = "has no known size, but is not a value";
  if (byoc_host_buffer_in_cell(buffer) && !v->program->is_dynamic) what = "is a value in a static program";
  if (buffer->kind == BYOC_HOST_BUFFER_VIEW) {
    const byoc_host_buffer_t *base = buffer->base;
    if (buffer->offset_bytes > base->size_bytes || buffer->size_bytes > base->size_bytes - buffer->offset_bytes) {
      what = "reaches beyond its base";
    }
    if (byoc_host_buffer_moves(buffer) && buffer->offset_bytes != 0) what = "has two offsets";
    if (buffer->is_value || byoc_host_buffer_in_cell(base)) what = "is a view, but its bytes are in a cell";
    if (base->kind == BYOC_HOST_BUFFER_VIEW) what = "is a view of a view";
    if (byoc_host_verify_holds_strings(buffer) != byoc_host_verify_holds_strings(base)) {
      what = "is a view that reads strings as numbers, or numbers as strings";
    }
  } else if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value && buffer->device == NULL &&
             buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
    const uint64_t workspace = v->program->workspace_size_bytes;
    if (buffer->offset_bytes > workspace || buffer->size_bytes > workspace - buffer->offset_bytes) {
      what = "reaches beyond the workspace";
    }
    if (buffer->offset_bytes % BYOC_BUFFER_ALIGNMENT != 0) what = "is planned at an offset that is not aligned";
  }
  if (what == NULL) what = byoc_host_verify_place(v, buffer);
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
  uintptr_t index = (uintptr_t)byoc_string_map_get(&search->v->program->symbol_indices, leaf.expr->symbol);
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

// Checks of a symbol's value would not hold for another one, so a symbol has one value for as long as it is bound.
static byoc_status_t bind(byoc_host_verifier_t *v, uint32_t symbol) {
  if (v->is_bound[symbol]) {
    return byoc_host_verify_refuse(v, "the symbol %s is bound twice", v->program->symbols.data[symbol]);
  }
  v->is_bound[symbol] = true;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_forget(v, symbol));
  return byoc_vector_push(&v->bound, byoc_arena_allocator(&v->arena), symbol) ? BYOC_OK
                                                                              : byoc_diag_out_of_memory(v->diag);
}

static bool is_of_inputs(void *self, byoc_dim_t leaf) {
  const byoc_host_verifier_t *v = self;
  if (byoc_dim_is_unknown(leaf)) return false;
  uintptr_t index = (uintptr_t)byoc_string_map_get(&v->program->symbol_indices, leaf.expr->symbol);
  return index != 0 && index <= v->program->input_symbol_count;
}

// An artifact skips the relations of inputs as long as the inputs' symbols are those of the last run.
static byoc_status_t check_of_inputs(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_program_t *program = v->program;
  if (v->has_input_checks) return byoc_host_verify_refuse(v, "relations of inputs are checked by two instructions");
  if (i->region != &program->body) return byoc_host_verify_refuse(v, "relations of inputs stand in a region");
  v->has_input_checks = true;
  for (uint32_t k = 0; k < program->input_symbol_count; ++k) {
    if (v->is_bound[k]) continue;
    return byoc_host_verify_refuse(v, "the symbol %s is used before it is bound", program->symbols.data[k]);
  }
  for (size_t k = 0; k < i->relations.count; ++k) {
    const byoc_host_relation_t *relation = &i->relations.data[k];
    if (byoc_dim_walk(relation->left, is_of_inputs, v) && byoc_dim_walk(relation->right, is_of_inputs, v)) continue;
    return byoc_host_verify_refuse(v, "relation %zu has symbols that are not the inputs'", k);
  }
  return BYOC_OK;
}

static byoc_status_t check_relations(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->relations.count; ++k) {
    const byoc_host_relation_t *relation = &i->relations.data[k];
    BYOC_RETURN_IF_ERROR(check_dim(v, relation->left));
    BYOC_RETURN_IF_ERROR(check_dim(v, relation->right));
    bool is_equal = relation->kind == BYOC_RELATION_EQUAL || relation->kind == BYOC_RELATION_DECLARED;
    if (is_equal) BYOC_RETURN_IF_ERROR(byoc_host_verify_learn(v, relation->left, relation->right));
  }
  return i->of_inputs ? check_of_inputs(v, i) : BYOC_OK;
}

static byoc_status_t check_match(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  for (uint32_t k = 0; k < i->match_count; ++k) {
    const byoc_host_match_t *match = &i->matches[k];
    if (match->symbol != BYOC_HOST_SYMBOL_NONE) BYOC_RETURN_IF_ERROR(bind(v, match->symbol));
    if (match->symbol == BYOC_HOST_SYMBOL_NONE) BYOC_RETURN_IF_ERROR(check_dim(v, match->dim));
    if ((v->lives[buffer->index].known >> match->axis & 1) == 0) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_verify_learn(v, match->dim, buffer->type->dims[match->axis]));
  }
  const uint32_t known = v->lives[buffer->index].known | byoc_host_verify_matched(v, i);
  return byoc_host_verify_set_known(v, buffer, known);
}

// The arguments of a launch, and the elements of sets that a command names.
static byoc_status_t check_command(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_launch_t *launch = i->launch;
  BYOC_RETURN_IF_ERROR(check_dim(v, i->on.place));
  BYOC_RETURN_IF_ERROR(check_dim(v, i->signal.place));
  for (size_t k = 0; k < i->waits.count; ++k) BYOC_RETURN_IF_ERROR(check_dim(v, i->waits.data[k].place));
  if (launch == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(check_dims(v, launch->grid, 3));
  BYOC_RETURN_IF_ERROR(check_dims(v, launch->block, 3));
  for (uint32_t k = 0; k < launch->argument_count; ++k) {
    BYOC_RETURN_IF_ERROR(check_dim(v, launch->arguments[k].value));
  }
  return BYOC_OK;
}

static byoc_status_t check_symbols(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(check_places(v, i));
  BYOC_RETURN_IF_ERROR(check_command(v, i));
  if (i->count != NULL) return check_count(v, i->count);
  if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, byoc_host_loop_dim_count(i)));
  if (i->op == BYOC_HOST_LET) BYOC_RETURN_IF_ERROR(check_definition(v, i->symbols[0]));
  if (i->op == BYOC_HOST_LET) BYOC_RETURN_IF_ERROR(check_dim(v, i->dims[0]));
  if (i->op == BYOC_HOST_STORE) {
    BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, byoc_host_store_count(i)));
  }
  if (i->op == BYOC_HOST_ALLOCATE && i->operands.data[0]->is_value) {
    BYOC_RETURN_IF_ERROR(check_shape(v, i->operands.data[0]));
  }
  if (i->op == BYOC_HOST_SHARE && byoc_type_is_tensor(i->results.data[0]->type) &&
      !byoc_type_equal(i->operands.data[0]->type, i->results.data[0]->type)) {
    BYOC_RETURN_IF_ERROR(check_shape(v, i->results.data[0]));
  }
  if (i->op == BYOC_HOST_REQUIRE) BYOC_RETURN_IF_ERROR(check_relations(v, i));
  if (i->op == BYOC_HOST_MATCH) BYOC_RETURN_IF_ERROR(check_match(v, i));
  for (uint32_t k = 0; k < i->symbol_count; ++k) BYOC_RETURN_IF_ERROR(bind(v, i->symbols[k]));
  return BYOC_OK;
}

// ---- instructions ----

static byoc_status_t walk_region(byoc_host_verifier_t *v, const byoc_host_region_t *region);

// Walks a nested region; `out_scope` keeps its changes.
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
  while (last != NULL && last->op == BYOC_HOST_FREE) last = last->previous; // buffers that the yield used last
  if (takes_values && (last == NULL || last->op != BYOC_HOST_YIELD)) {
    v->number = number;
    return byoc_host_verify_refuse(v, "%s does not end with a yield",
                                   owner->op == BYOC_HOST_LOOP ? "body" : names[index]);
  }
  return byoc_host_verify_leave(v, out_scope);
}

// Yields fill an instruction's results, so its regions have other uses for none of them.
static void take_results(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, bool taken) {
  for (size_t k = 0; k < i->results.count; ++k) v->is_taken[i->results.data[k]->index] = taken;
}

// Walks a region that gets values. `passed` has the known part of each parameter, and afterwards that of each yielded
// value.
static byoc_status_t walk_passing(byoc_host_verifier_t *v, const byoc_host_instruction_t *owner, uint32_t index,
                                  uint32_t *passed, byoc_host_scope_t *out_scope) {
  uint32_t *outside = v->passed;
  v->passed = passed;
  take_results(v, owner, true);
  BYOC_RETURN_IF_ERROR(walk_nested(v, owner, index, out_scope));
  take_results(v, owner, false);
  v->passed = outside;
  return BYOC_OK;
}

// Stores in `known` the known part of the results.
static byoc_status_t walk_branch(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, uint32_t *known) {
  byoc_host_scope_t cases[2];
  uint32_t *other = BYOC_ARENA_ARRAY(&v->arena, uint32_t, i->results.count);
  if (other == NULL) return byoc_diag_out_of_memory(v->diag);
  const size_t number = v->number;
  BYOC_RETURN_IF_ERROR(walk_passing(v, i, 0, known, &cases[0]));
  BYOC_RETURN_IF_ERROR(walk_passing(v, i, 1, other, &cases[1]));
  for (size_t k = 0; k < i->results.count; ++k) known[k] &= other[k];
  const size_t behind = v->number;
  v->number = number;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_join(v, cases));
  v->number = behind;
  return BYOC_OK;
}

// The known part of a loop's parameters in the first iteration. The iteration and the condition come from the loop.
static void begin_passing(const byoc_host_verifier_t *v, const byoc_host_instruction_t *i, uint32_t *known) {
  const byoc_host_region_t *body = &i->regions[0];
  for (size_t k = 0; k < body->parameters.count; ++k) {
    const byoc_host_buffer_t *parameter = body->parameters.data[k];
    const bool is_carried = i->count != NULL || k >= 2;
    known[k] = is_carried                   ? byoc_host_verify_passed(v, i->operands.data[k], parameter)
               : parameter->type->rank == 0 ? UINT32_MAX
                                            : 0;
  }
}

// Stores in `known` the known part of the results. If less is known of a yielded value than of the first parameter,
// nothing is assumed, and the body is walked again.
static byoc_status_t walk_loop(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, uint32_t *known) {
  byoc_host_scope_t body;
  const size_t first_new = v->storages.count; // of the values that the body allocates
  const size_t number = v->number, first = i->count != NULL ? 0 : 2, carried = i->operands.count - first;
  uint32_t *passed = BYOC_ARENA_ARRAY(&v->arena, uint32_t, i->operands.count + i->results.count);
  if (passed == NULL) return byoc_diag_out_of_memory(v->diag);
  begin_passing(v, i, known);
  memcpy(passed, known, i->operands.count * sizeof(*passed));
  BYOC_RETURN_IF_ERROR(walk_passing(v, i, 0, passed, &body));
  bool keeps = true;
  for (size_t k = 0; k < carried; ++k) { // behind the condition, which is yielded and is no parameter
    keeps = keeps && (passed[k + (first > 0)] & known[k + first]) == known[k + first];
  }
  if (!keeps) {
    v->number = number;
    memset(&known[first], 0, carried * sizeof(*known));
    memcpy(passed, known, i->operands.count * sizeof(*passed));
    BYOC_RETURN_IF_ERROR(walk_passing(v, i, 0, passed, &body));
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    const bool same =
        k < carried && byoc_type_equal(i->results.data[k]->type, i->regions[0].parameters.data[k + first]->type);
    known[k] = same ? known[k + first] : 0;
  }
  const size_t behind = v->number;
  v->number = number;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_repeat(v, i, &body));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_repeat_values(v, first_new, number));
  v->number = behind;
  return BYOC_OK;
}

// A value whose bytes are read or written must have the shape of its type. An instruction that only passes a value on
// does not look at its bytes.
static byoc_status_t check_known(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const bool is_call = i->op == BYOC_HOST_KERNEL || i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE ||
                       i->op == BYOC_HOST_C_CALL || i->op == BYOC_HOST_COLLECTIVE || i->op == BYOC_HOST_LAUNCH;
  const bool reads = is_call || i->op == BYOC_HOST_COPY || i->op == BYOC_HOST_BIND || i->op == BYOC_HOST_BRANCH;
  size_t numbers = 0; // read as numbers of any shape
  if (i->op == BYOC_HOST_LOOP && i->count == NULL) numbers = 2;
  if (i->op == BYOC_HOST_YIELD && i->region->owner->op == BYOC_HOST_LOOP) numbers = i->region->owner->count == NULL;
  for (size_t k = 0; k < (reads ? i->operands.count : numbers); ++k) {
    if (i->operands.data[k] != NULL) BYOC_RETURN_IF_ERROR(byoc_host_verify_known(v, i->operands.data[k], !reads));
  }
  for (size_t k = 0; k < i->results.count && (is_call || i->op == BYOC_HOST_COPY || i->op == BYOC_HOST_STORE); ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_known(v, i->results.data[k], false));
  }
  return BYOC_OK;
}

static bool makes_cells(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_SHARE || i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_BRANCH ||
         i->op == BYOC_HOST_LOOP;
}

// The known part of the values that a region yields, as its owner's results or as the next iteration's parameters.
static void note_yield(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_instruction_t *owner = i->region->owner;
  const bool of_loop = owner->op == BYOC_HOST_LOOP, has_condition = of_loop && owner->count == NULL;
  const size_t count = of_loop ? i->region->parameters.count - has_condition : owner->results.count;
  for (size_t k = 0; k < count; ++k) {
    const byoc_host_buffer_t *to = of_loop ? i->region->parameters.data[k + has_condition] : owner->results.data[k];
    v->passed[k] = byoc_host_verify_passed(v, i->operands.data[k], to);
  }
}

static byoc_status_t check_instruction(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->kernel != NULL) BYOC_RETURN_IF_ERROR(check_dims(v, i->dims, i->kernel->symbols.count));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_alone(v, i));
  BYOC_RETURN_IF_ERROR(check_symbols(v, i));
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_begin_or_end(v, i->operands.data[0], i->op == BYOC_HOST_ALLOCATE));
    if (i->allocation == BYOC_HOST_FRESH) return BYOC_OK;
    return byoc_host_verify_write(v, i->operands.data[0]); // zeros, or the bytes of an earlier run
  }
  if (i->op == BYOC_HOST_YIELD) {
    const byoc_host_instruction_t *next = i->next;
    while (next != NULL && next->op == BYOC_HOST_FREE) next = next->next;
    if (next != NULL) return byoc_host_verify_refuse(v, "a yield is not the end of its region");
    note_yield(v, i);
  }
  BYOC_RETURN_IF_ERROR(byoc_host_verify_overlaps(v, i));
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] != NULL) BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, i->operands.data[k]));
  }
  BYOC_RETURN_IF_ERROR(check_known(v, i));
  byoc_host_verify_pass_on(v, i);
  if (i->op == BYOC_HOST_C_CALL && i->c_call->result_from_operand >= 0) { // the summand is there already
    BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, i->results.data[0]));
  }
  uint32_t *known = NULL; // of the results
  if (makes_cells(i)) known = BYOC_ARENA_ARRAY(&v->arena, uint32_t, i->operands.count + i->results.count);
  if (makes_cells(i) && known == NULL) return byoc_diag_out_of_memory(v->diag);
  if (i->op == BYOC_HOST_SHARE) known[0] = byoc_host_verify_shared(v, i);
  if (i->op == BYOC_HOST_BRANCH) BYOC_RETURN_IF_ERROR(walk_branch(v, i, known));
  if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(walk_loop(v, i, known));
  v->at = i;
  if (i->workspace != NULL) BYOC_RETURN_IF_ERROR(byoc_host_verify_scratch(v, i->workspace));
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(makes_cells(i) ? byoc_host_verify_make(v, i->results.data[k], known[k])
                                        : byoc_host_verify_write(v, i->results.data[k]));
    if (i->op == BYOC_HOST_SHARE) {
      v->lives[i->results.data[k]->index].storage = v->lives[i->operands.data[0]->index].storage;
    }
  }
  return BYOC_OK;
}

static byoc_status_t walk_region(byoc_host_verifier_t *v, const byoc_host_region_t *region) {
  const byoc_host_instruction_t *begun = NULL; // a collective
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    v->at = i;
    v->number++;
    BYOC_RETURN_IF_ERROR(check_instruction(v, i));
    v->at = i;
    BYOC_RETURN_IF_ERROR(byoc_host_verify_steps(v, i, &begun));
  }
  v->at = begun != NULL ? begun : v->at;
  return begun == NULL ? BYOC_OK : byoc_host_verify_refuse(v, "it never ends");
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

// An output that may be written over an input.
static byoc_status_t check_pair(byoc_host_verifier_t *v, const byoc_host_buffer_t *output) {
  const byoc_host_buffer_t *input = output->over;
  const char *what = NULL;
  if (input->kind != BYOC_HOST_BUFFER_INPUT) what = "which is no input";
  if (!byoc_type_is_tensor(output->type) || !byoc_type_equal(output->type, input->type)) {
    what = "which has another type, or is no tensor";
  }
  for (size_t k = 0; k < v->program->outputs.count; ++k) {
    const byoc_host_buffer_t *other = v->program->outputs.data[k];
    if (other != output && other->over == input) what = "which another output is written over";
  }
  if (what != NULL) {
    return byoc_host_verify_refuse(v, "the output '%s' is written over '%s', %s", output->name, input->name, what);
  }
  byoc_host_conflict_t conflict;
  BYOC_RETURN_IF_ERROR(byoc_host_find_conflict(v->program, output, NULL, v->diag, &conflict));
  if (conflict.reader == NULL) return BYOC_OK;
  if (conflict.reader == conflict.writer) {
    return byoc_host_verify_refuse(v, "'%s' writes the output '%s' over the input '%s' while it reads that",
                                   byoc_host_instruction_name(conflict.writer), output->name, input->name);
  }
  return byoc_host_verify_refuse(v, "'%s' writes the output '%s' over the input '%s' before '%s' reads that",
                                 byoc_host_instruction_name(conflict.writer), output->name, input->name,
                                 byoc_host_instruction_name(conflict.reader));
}

static byoc_status_t walk(byoc_host_verifier_t *v) {
  const byoc_host_program_t *program = v->program;
  BYOC_RETURN_IF_ERROR(check_ports(v));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_devices(v));
  for (size_t k = 0; k < program->buffers.count; ++k) BYOC_RETURN_IF_ERROR(check_buffer(v, program->buffers.data[k]));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_start(v));
  BYOC_RETURN_IF_ERROR(walk_region(v, &program->body));
  v->at = NULL;
  for (size_t k = 0; k < program->outputs.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_read(v, program->outputs.data[k]));
    if (program->outputs.data[k]->over != NULL) BYOC_RETURN_IF_ERROR(check_pair(v, program->outputs.data[k]));
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_LOCAL || !v->lives[k].alive) continue;
    return byoc_host_verify_refuse(v, "buffer '%s' is never freed", buffer->name);
  }
  return BYOC_OK;
}

static byoc_status_t verify(const byoc_host_program_t *program, bool is_ordered, byoc_diag_t *diag) {
  byoc_host_verifier_t v = {.program = program, .diag = diag};
  const size_t count = program->buffers.count;
  byoc_arena_init(&v.arena, program->arena.allocator);
  v.lives = BYOC_ARENA_ARRAY(&v.arena, byoc_host_life_t, count);
  v.planned = BYOC_ARENA_ARRAY(&v.arena, const byoc_host_buffer_t *, count);
  v.slots = BYOC_ARENA_ARRAY(&v.arena, uint32_t, count);
  v.is_taken = BYOC_ARENA_ARRAY(&v.arena, bool, count);
  v.is_bound = BYOC_ARENA_ARRAY(&v.arena, bool, program->symbols.count);
  bool ok = byoc_host_ranges_init(&v.ranges, program, &v.arena) && v.lives != NULL && v.planned != NULL &&
            v.slots != NULL && v.is_taken != NULL && v.is_bound != NULL;
  byoc_status_t status = ok ? walk(&v) : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && is_ordered) status = byoc_host_verify_races(&v);
  byoc_arena_deinit(&v.arena);
  return status;
}

byoc_status_t byoc_host_program_verify(const byoc_host_program_t *program, byoc_diag_t *diag) {
  return verify(program, true, diag);
}

byoc_status_t byoc_host_program_verify_unordered(const byoc_host_program_t *program, byoc_diag_t *diag) {
  return verify(program, false, diag);
}
