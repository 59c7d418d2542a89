// SPDX-License-Identifier: Apache-2.0
// byoc/operator_plugin.h - operators of a plugin: their types, and their definitions.
//
// Example:
//   BYOC_PLUGIN_IDENTITY_NEEDS("acme", "1.0", "", "Operators of com.acme", 4); // no targets
//   BYOC_PLUGIN_DOMAINS("com.acme");
//
//   static const byoc_operator_t operators[] = {{.header = BYOC_HEADER(byoc_operator_t, 1),
//                                                .domain = "com.acme",
//                                                .name = "MyGelu",
//                                                .since_version = 1,
//                                                .signature = "(x: T[S...]) -> (y: T[S...]) where T = float",
//                                                .element = "y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476))"}};
//
//   BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
//     const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
//     if (api == NULL) return host->error(host, BYOC_VERSION, "this byoc takes no operators of plugins");
//     return api->declare(host, operators, 1, sizeof(operators[0]));
//   }
//
// The plugin is loaded when a model is read that imports one of its domains. Its operators are then like the host's
// own: models use them, inference checks their types and attributes, `byoc ops` lists them, and rules of any plugin
// match them. Operators that no target claims are computed by the native target `c` and by the evaluator, from the
// definition given here. A plugin may have targets too; one without them fills nothing in byoc_plugin_t.
//
// Signatures. `(operands) -> (results) where variables`, each value as name: element type[dimensions].
//
//   (x: T[B..., D], scale: T[D], bias?: T[D]) -> (y: T[B..., D], mean: f32[B...]) where T = f16 | bf16 | f32
//   (x: T[A...axis, N, B...]) -> (y: T[A..., B...]) where T = float
//   (x: T[N, C, L]) -> (y: T[N, C, floordiv(L + 2 * pad - width, stride) + 1]) where T = number
//
//   The element type is one of BYOC_DTYPE_LIST by its name, or a variable whose types `where` lists; the words float,
//   integer and number stand for all types of that kind. A dimension is a number, a name, or a name with three dots,
//   which stands for any number of dimensions, at most once in an operand. An integer attribute after the dots counts
//   them (from the end if it is negative), so that an axis can be an attribute: A...axis are the dimensions before the
//   axis, N is the axis, B... are those after it. Equal names mean equal dimensions; dynamic dimensions are compared
//   when the program runs. A question mark makes an operand, and all that follow, optional. Dimensions of results may
//   be expressions (+ - *, floordiv, ceildiv, mod, min, max) over names of required operands and over attributes that
//   are integers: `stride`, or `pads.1` for element 1 of a list.
//
// Definitions. At most one of two forms, statements in the language in which byoc prints loops
// (`byoc opt MODEL --passes=lower` shows some):
//
//   element   y = x * sigma                      an element of each result from the elements of the operands at the
//                                                same place; `let t = exp(x)` names a value. All values have
//                                                the form T[S...]. It is fused with its neighbours.
//   loops     parallel b in 0 .. B {             loops over whole tensors, each addressed by one row-major index. A
//               var s = T(0)                     name with dots counts as one dimension, the product.
//               serial d in 0 .. D { s = s + x[b * D + d] }
//               y[b] = s
//             }
//
//   Statements: parallel, vector, unroll, reduce and serial loops `v in a .. b { }` (parallel ones outermost); `while c
//   { }`; `if c { } else { }`; `let name = value`; `var name = value` and `name = value`; `name[index] = value`;
//   `local name : f32[16]`. Types may be given: `let a : f32 = 0.5`. Expressions: + - * of equal types; by name div,
//   floordiv, mod, fmod, min, max, pow, atan2, and, or, xor, not, shl, shr, lt, le, eq, ne, neg, abs, sign, floor,
//   ceil, round, trunc, sqrt, exp, log, log1p, expm1, sin, cos, tan and their inverse and hyperbolic forms, erf, isnan,
//   isinf; select(condition, a, b) evaluates one of a and b; cast(u8, x).
//   Names: values, dimensions (i64), attributes: integers and floats by name, pads.1 and pads.count for lists, a string
//   with choices as its index among them, from 0. has_NAME is true if an optional operand, or an attribute without a
//   default, is given; missing values are 0.
//   Types: f16, bf16 and float8 are computed in f32 and rounded when they are stored; T is the type in which it is
//   computed. A plain number has the type of the other operand.
//
//   An operator without a definition is computed by targets whose rules match it. A model in which no target claims it
//   is refused.
//
// A plugin with a wrong declaration is refused when it is loaded, with a message: definitions are tried for each type,
// with known and dynamic dimensions. An index outside of its tensor ends an evaluated run with an error, and
// byoc-plugin-check finds it; compiled code does not check it. The rules of byoc/plugin.h hold: data of the plugin is
// copied.
#ifndef BYOC_OPERATOR_PLUGIN_H_
#define BYOC_OPERATOR_PLUGIN_H_

#include "byoc/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_OPERATOR_EXTENSION "byoc.operators"

// ---------------------------------------------------------------------------------------------------------------------
// Domains: an ELF note beside that of the identity, which the host reads before it runs any code of the plugin.

#define BYOC_PLUGIN_DOMAINS_NOTE_TYPE 2

typedef struct byoc_domains_note_t {
  uint32_t struct_size;
  uint32_t reserved; // 0
  char domains[248]; // operator domains, comma-separated, NUL-terminated
} byoc_domains_note_t;

typedef struct byoc_domains_elf_note_t {
  uint32_t name_size, descriptor_size, type;
  char owner[8];
  byoc_domains_note_t descriptor;
} byoc_domains_elf_note_t;

// The domains of the operators that this plugin declares; one per plugin, at file scope in one C or C++ file.
#define BYOC_PLUGIN_DOMAINS(plugin_domains)                                                                            \
  __attribute__((used, aligned(4),                                                                                     \
                 section(".note.byoc"))) static const byoc_domains_elf_note_t byoc_plugin_domains = {                  \
      sizeof(BYOC_PLUGIN_NOTE_OWNER),                                                                                  \
      sizeof(byoc_domains_note_t),                                                                                     \
      BYOC_PLUGIN_DOMAINS_NOTE_TYPE,                                                                                   \
      BYOC_PLUGIN_NOTE_OWNER,                                                                                          \
      {sizeof(byoc_domains_note_t), 0, plugin_domains}}

// ---------------------------------------------------------------------------------------------------------------------
// Operators.

enum {
  BYOC_OPERATOR_INT = 1,    // one integer
  BYOC_OPERATOR_FLOAT = 2,  // one number
  BYOC_OPERATOR_TEXT = 3,   // a string, or one of `choices`
  BYOC_OPERATOR_INTS = 4,   // a list of integers
  BYOC_OPERATOR_FLOATS = 5, // a list of numbers
};

enum {
  BYOC_OPERATOR_REQUIRED = 1, // of an attribute: each node must have it
};

typedef struct byoc_operator_attribute_t {
  byoc_header_t header;
  const char *name;          // letters, digits and '_'
  uint32_t kind;             // BYOC_OPERATOR_INT ...
  uint32_t flags;            // BYOC_OPERATOR_REQUIRED
  const char *default_value; // "1", "0.5", "tanh"; not for lists and required attributes. NULL: none
  const char *choices;       // TEXT: "none|tanh"; NULL: any string
} byoc_operator_attribute_t;

enum {
  BYOC_OPERATOR_BROADCASTS = 1, // operands broadcast as in NumPy; for `element`, with values of the form T[S...]
  BYOC_OPERATOR_COMMUTES = 2,   // patterns match its two operands in both orders
};

// One version of an operator, for models whose operator set of the domain is since_version or newer, up to the next
// declared version.
typedef struct byoc_operator_t {
  byoc_header_t header;
  const char *domain;    // one of BYOC_PLUGIN_DOMAINS; "ai.onnx" and "byoc" cannot be extended
  const char *name;      // letters, digits and '_'
  int32_t since_version; // from 1
  uint32_t flags;        // BYOC_OPERATOR_BROADCASTS, BYOC_OPERATOR_COMMUTES
  const char *signature;
  const char *element; // NULL: see `loops`
  const char *loops;   // NULL: see `element`
  const byoc_operator_attribute_t *attributes;
  uint32_t attribute_count;
  uint32_t attribute_stride;
  const char *description; // one line for `byoc ops`; NULL: none
} byoc_operator_t;

typedef struct byoc_operator_api_t {
  byoc_header_t header;
  // Adds operators while query runs, in one call or in several. BYOC_INVALID_DATA for a wrong declaration,
  // BYOC_INVALID_ARGUMENT when query does not run, BYOC_OUT_OF_MEMORY. After a failure the plugin is refused, even if
  // query returns BYOC_OK. It is also refused if another plugin declares one of its operators (the user chooses one by
  // --prefer).
  int32_t (*declare)(const byoc_host_t *host, const byoc_operator_t *operators, uint32_t count, uint32_t stride);
} byoc_operator_api_t;

#ifdef __cplusplus
}
#endif
#endif // BYOC_OPERATOR_PLUGIN_H_
