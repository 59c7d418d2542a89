// SPDX-License-Identifier: Apache-2.0
// Orders a graph's nodes. ONNX requires a topological order; files that break this rule but have no cycle are sorted
// here, with as few moves as a depth-first walk in file order makes.
#include <string.h>

#include "core/frontend/onnx_reader.h"

// Names that nested graphs define themselves, so that they do not mean names of the graphs around them.
typedef struct local_names_t {
  const struct local_names_t *outer;
  byoc_map_t names;
} local_names_t;

typedef struct order_t {
  byoc_onnx_reader_t *reader;
  byoc_map_t makers; // text map: output name → node index + 1
  BYOC_VECTOR(size_t) edges;
  size_t node;    // the node whose edges are being collected
  bool is_sorted; // so far every edge points backwards
  bool failed;
} order_t;

static void add_edge(order_t *order, const local_names_t *locals, const char *name) {
  for (; locals; locals = locals->outer) {
    if (byoc_string_map_find(&locals->names, name)) return;
  }
  const size_t maker = (size_t)(uintptr_t)byoc_string_map_get(&order->makers, name);
  if (maker == 0) return;
  if (maker - 1 >= order->node) order->is_sorted = false;
  order->failed |= !byoc_vector_push(&order->edges, byoc_arena_allocator(&order->reader->scratch), maker - 1);
}

static void collect_node(order_t *order, const Onnx__NodeProto *node, const local_names_t *locals);

static void collect_graph(order_t *order, const Onnx__GraphProto *graph, const local_names_t *outer) {
  local_names_t locals = {.outer = outer};
  byoc_string_map_init(&locals.names, byoc_arena_allocator(&order->reader->scratch));
  bool kept = true;
  for (size_t i = 0; i < graph->n_input; i++) {
    kept &= byoc_string_map_put(&locals.names, byoc_onnx_string(graph->input[i]->name), order);
  }
  for (size_t i = 0; i < graph->n_initializer; i++) {
    kept &= byoc_string_map_put(&locals.names, byoc_onnx_string(graph->initializer[i]->name), order);
  }
  for (size_t i = 0; i < graph->n_node; i++) {
    for (size_t k = 0; k < graph->node[i]->n_output; k++) {
      kept &= byoc_string_map_put(&locals.names, byoc_onnx_string(graph->node[i]->output[k]), order);
    }
  }
  for (size_t i = 0; i < graph->n_node; i++) collect_node(order, graph->node[i], &locals);
  for (size_t i = 0; i < graph->n_output; i++) add_edge(order, &locals, byoc_onnx_string(graph->output[i]->name));
  order->failed |= !kept;
}

static void collect_node(order_t *order, const Onnx__NodeProto *node, const local_names_t *locals) {
  for (size_t i = 0; i < node->n_input; i++) {
    if (byoc_onnx_string(node->input[i])[0] != '\0') add_edge(order, locals, node->input[i]);
  }
  for (size_t i = 0; i < node->n_attribute; i++) {
    if (node->attribute[i]->g) collect_graph(order, node->attribute[i]->g, locals);
  }
}

// Depth first without recursion, because a chain in reverse order may be as long as the graph.
static byoc_status_t sort(order_t *order, Onnx__NodeProto *const *nodes, size_t count, const size_t *starts,
                          size_t *out_order) {
  byoc_onnx_reader_t *reader = order->reader;
  enum { NEW, OPEN, DONE };
  uint8_t *states = BYOC_ARENA_ARRAY(&reader->scratch, uint8_t, count);
  size_t *stack = BYOC_ARENA_ARRAY(&reader->scratch, size_t, count);
  size_t *next = BYOC_ARENA_ARRAY(&reader->scratch, size_t, count);
  if (!states || !stack || !next) return byoc_diag_out_of_memory(reader->diag);
  size_t written = 0;
  for (size_t root = 0; root < count; root++) {
    if (states[root] != NEW) continue;
    size_t depth = 0;
    stack[depth++] = root;
    states[root] = OPEN;
    next[root] = starts[root];
    while (depth > 0) {
      const size_t at = stack[depth - 1];
      if (next[at] == starts[at + 1]) {
        states[at] = DONE;
        out_order[written++] = at;
        depth--;
        continue;
      }
      const size_t needed = order->edges.data[next[at]++];
      if (states[needed] == OPEN) {
        char here[192], there[192];
        byoc_onnx_describe_node(nodes[at], at, here, sizeof(here));
        byoc_onnx_describe_node(nodes[needed], needed, there, sizeof(there));
        if (needed == at) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it reads its own output", here);
        return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                               "%s: the graph has a cycle: it reads from %s, which needs its output", here, there);
      }
      if (states[needed] == NEW) {
        states[needed] = OPEN;
        next[needed] = starts[needed];
        stack[depth++] = needed;
      }
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_order_nodes(byoc_onnx_reader_t *reader, Onnx__NodeProto *const *nodes, size_t count,
                                    const size_t **out_order) {
  *out_order = NULL;
  order_t order = {.reader = reader, .is_sorted = true};
  byoc_string_map_init(&order.makers, byoc_arena_allocator(&reader->scratch));
  size_t *starts = BYOC_ARENA_ARRAY(&reader->scratch, size_t, count + 1);
  size_t *sorted = BYOC_ARENA_ARRAY(&reader->scratch, size_t, count + 1);
  if (!starts || !sorted) return byoc_diag_out_of_memory(reader->diag);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < nodes[i]->n_output; k++) {
      const char *name = byoc_onnx_string(nodes[i]->output[k]);
      if (name[0] == '\0') continue;
      if (byoc_string_map_find(&order.makers, name)) {
        char what[192];
        byoc_onnx_describe_node(nodes[i], i, what, sizeof(what));
        return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its output '%s' is also made by another node",
                               what, name);
      }
      order.failed |= !byoc_string_map_put(&order.makers, name, (void *)(uintptr_t)(i + 1));
    }
  }
  for (size_t i = 0; i < count; i++) {
    starts[i] = order.edges.count;
    order.node = i;
    collect_node(&order, nodes[i], NULL);
    sorted[i] = i;
  }
  starts[count] = order.edges.count;
  if (order.failed) return byoc_diag_out_of_memory(reader->diag);
  if (!order.is_sorted) {
    BYOC_RETURN_IF_ERROR(byoc_onnx_tolerate(reader, "the nodes of a graph are not in topological order"));
    BYOC_RETURN_IF_ERROR(sort(&order, nodes, count, starts, sorted));
  }
  *out_order = sorted;
  return BYOC_OK;
}
