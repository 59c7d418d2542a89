// SPDX-License-Identifier: Apache-2.0
// Writes text and fragments of pages so that they are safe to put into a page.
#include "core/base/html.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/visible.h"

// ---- text ----

static void append_escaped(byoc_string_t *out, const char *text, size_t size, bool keeps_lines) {
  const char *end = text + size;
  char shown[BYOC_SHOWN_BYTES];
  while (text < end) {
    if (keeps_lines && (*text == '\n' || *text == '\t')) {
      byoc_string_append_bytes(out, text++, 1);
      continue;
    }
    text += byoc_show_character(text, (size_t)(end - text), shown);
    switch (shown[0]) {
    case '&':
      byoc_string_append(out, "&amp;");
      break;
    case '<':
      byoc_string_append(out, "&lt;");
      break;
    case '>':
      byoc_string_append(out, "&gt;");
      break;
    case '"':
      byoc_string_append(out, "&quot;");
      break;
    case '\'':
      byoc_string_append(out, "&#39;");
      break;
    default:
      byoc_string_append(out, shown);
    }
  }
}

void byoc_html_append_text(byoc_string_t *out, const char *text, size_t size) {
  append_escaped(out, text, size, false);
}

void byoc_html_append_lines(byoc_string_t *out, const char *text, size_t size) {
  append_escaped(out, text, size, true);
}

// ---- elements ----

// What an element is, and what it may hold.
enum {
  PHRASE = 1, // a part of a line; an element that holds these holds text, too
  FLOW = 2,
  ITEM = 4,
  TERM = 8,
  ROWS = 16,
  ROW = 32,
  CELL = 64,
  CAPTION = 128,
  SUMMARY = 256,
};

typedef struct element_t {
  const char *name;
  unsigned is, holds; // holds 0: it has no end
} element_t;

// No element here is ended by a browser before its end is written, if elements hold only what this table says.
static const element_t elements[] = {
    {"b", PHRASE, PHRASE},
    {"blockquote", FLOW, PHRASE | FLOW},
    {"br", PHRASE, 0},
    {"caption", CAPTION, PHRASE},
    {"code", PHRASE, PHRASE},
    {"dd", TERM, PHRASE | FLOW},
    {"del", PHRASE, PHRASE},
    {"details", FLOW, PHRASE | FLOW | SUMMARY},
    {"div", FLOW, PHRASE | FLOW},
    {"dl", FLOW, TERM},
    {"dt", TERM, PHRASE},
    {"em", PHRASE, PHRASE},
    {"h1", FLOW, PHRASE},
    {"h2", FLOW, PHRASE},
    {"h3", FLOW, PHRASE},
    {"h4", FLOW, PHRASE},
    {"h5", FLOW, PHRASE},
    {"h6", FLOW, PHRASE},
    {"hr", FLOW, 0},
    {"i", PHRASE, PHRASE},
    {"ins", PHRASE, PHRASE},
    {"kbd", PHRASE, PHRASE},
    {"li", ITEM, PHRASE | FLOW},
    {"mark", PHRASE, PHRASE},
    {"ol", FLOW, ITEM},
    {"p", FLOW, PHRASE},
    {"pre", FLOW, PHRASE},
    {"s", PHRASE, PHRASE},
    {"samp", PHRASE, PHRASE},
    {"small", PHRASE, PHRASE},
    {"span", PHRASE, PHRASE},
    {"strong", PHRASE, PHRASE},
    {"sub", PHRASE, PHRASE},
    {"summary", SUMMARY, PHRASE},
    {"sup", PHRASE, PHRASE},
    {"table", FLOW, CAPTION | ROWS | ROW},
    {"tbody", ROWS, ROW},
    {"td", CELL, PHRASE | FLOW},
    {"tfoot", ROWS, ROW},
    {"th", CELL, PHRASE | FLOW},
    {"thead", ROWS, ROW},
    {"tr", ROW, CELL},
    {"u", PHRASE, PHRASE},
    {"ul", FLOW, ITEM},
    {"var", PHRASE, PHRASE},
    {"wbr", PHRASE, 0},
};

// Of these the content is left out, too: it is not text for people.
static const char *const silent[] = {"applet",    "audio",    "canvas", "head",     "iframe",   "math",  "noembed",
                                     "noframes",  "noscript", "object", "script",   "select",   "style", "svg",
                                     "plaintext", "title",    "video",  "template", "textarea", "xmp"};

enum { MOST_OPEN = 64, MOST_ATTRIBUTE_BYTES = 400 };

typedef struct slice_t {
  const char *data;
  size_t size;
} slice_t;

typedef struct writer_t {
  byoc_string_t *out;
  const char *at, *end;
  const element_t *open[MOST_OPEN];
  size_t open_count;
  byoc_html_loss_t loss;
} writer_t;

static bool is_called(slice_t name, const char *word) {
  return strlen(word) == name.size && strncasecmp(name.data, word, name.size) == 0;
}

static const element_t *find_element(slice_t name) {
  for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); ++i) {
    if (is_called(name, elements[i].name)) return &elements[i];
  }
  return NULL;
}

static void lose(writer_t *writer, const char *before, slice_t name, const char *behind) {
  if (writer->loss.count++ > 0) return;
  (void)snprintf(writer->loss.first, sizeof(writer->loss.first), "%s%.*s%s", before,
                 (int)(name.size < 32 ? name.size : 32), name.data, behind);
}

static unsigned holds(const writer_t *writer) {
  return writer->open_count > 0 ? writer->open[writer->open_count - 1]->holds : PHRASE | FLOW;
}

static void close_until(writer_t *writer, size_t count) {
  while (writer->open_count > count) {
    byoc_string_appendf(writer->out, "</%s>", writer->open[--writer->open_count]->name);
  }
}

// Ends elements until one is open, or none, that may hold `element`. False if there is no such place.
static bool make_room(writer_t *writer, const element_t *element) {
  for (size_t count = writer->open_count;; --count) {
    const unsigned may = count > 0 ? writer->open[count - 1]->holds : PHRASE | FLOW;
    if (may & element->is) {
      close_until(writer, count);
      return true;
    }
    if (count == 0) return false;
  }
}

// ---- attributes ----

// Properties that change how text and boxes look, but not where the box of the fragment is.
static bool is_property(slice_t name) {
  static const char *const properties[] = {"background-color", "border",      "color",   "font-style",
                                           "font-weight",      "height",      "padding", "text-align",
                                           "vertical-align",   "white-space", "width"};
  for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); ++i) {
    if (is_called(name, properties[i])) return true;
  }
  return false;
}

static slice_t trim(const char *data, size_t size) {
  while (size > 0 && isspace((unsigned char)*data)) ++data, --size;
  while (size > 0 && isspace((unsigned char)data[size - 1])) --size;
  return (slice_t){data, size};
}

// Words, numbers and colours: no functions, such as url(), no escapes and no quotes.
static bool is_plain_value(slice_t value) {
  for (size_t i = 0; i < value.size; ++i) {
    const unsigned char c = (unsigned char)value.data[i];
    if (c >= 0x80 || (!isalnum(c) && strchr("#%., -", c) == NULL)) return false;
  }
  return value.size > 0 && value.size <= 64;
}

static void append_style(writer_t *writer, slice_t style) {
  const char *at = style.data, *end = style.data + style.size;
  bool is_begun = false;
  while (at < end) {
    const char *stop = memchr(at, ';', (size_t)(end - at));
    if (stop == NULL) stop = end;
    const char *colon = memchr(at, ':', (size_t)(stop - at));
    const slice_t all = trim(at, (size_t)(stop - at));
    const slice_t name = colon != NULL ? trim(at, (size_t)(colon - at)) : all;
    const slice_t value = colon != NULL ? trim(colon + 1, (size_t)(stop - colon - 1)) : (slice_t){"", 0};
    at = stop + (stop < end);
    if (all.size == 0) continue;
    if (!is_property(name) || !is_plain_value(value)) {
      lose(writer, "style ", name, "");
      continue;
    }
    byoc_string_appendf(writer->out, "%s%.*s: %.*s", is_begun ? "; " : " style=\"", (int)name.size, name.data,
                        (int)value.size, value.data);
    is_begun = true;
  }
  if (is_begun) byoc_string_append(writer->out, "\"");
}

static bool is_span(slice_t value) {
  for (size_t i = 0; i < value.size; ++i) {
    if (!isdigit((unsigned char)value.data[i])) return false;
  }
  return value.size > 0 && value.size <= 3;
}

static void append_attribute(writer_t *writer, const element_t *element, slice_t name, slice_t value) {
  const bool is_short = value.size <= MOST_ATTRIBUTE_BYTES;
  if (is_called(name, "style") && is_short) {
    append_style(writer, value);
  } else if (is_called(name, "title") && is_short) {
    byoc_string_append(writer->out, " title=\"");
    byoc_html_append_text(writer->out, value.data, value.size);
    byoc_string_append(writer->out, "\"");
  } else if (element->is == CELL && is_span(value) && (is_called(name, "colspan") || is_called(name, "rowspan"))) {
    byoc_string_appendf(writer->out, " %s=\"%.*s\"", is_called(name, "colspan") ? "colspan" : "rowspan",
                        (int)value.size, value.data);
  } else if (strcmp(element->name, "details") == 0 && is_called(name, "open")) {
    byoc_string_append(writer->out, " open");
  } else {
    lose(writer, "", name, "");
  }
}

// ---- tags ----

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

// Moves on to the first of these characters, or to the end, and returns what lies before it.
static slice_t take_until(writer_t *writer, const char *stops, bool stops_at_space) {
  slice_t taken = {writer->at, 0};
  const size_t stop_count = strlen(stops);
  while (writer->at < writer->end && memchr(stops, *writer->at, stop_count) == NULL &&
         !(stops_at_space && is_space(*writer->at))) {
    ++writer->at;
  }
  taken.size = (size_t)(writer->at - taken.data);
  return taken;
}

static void skip_spaces(writer_t *writer) {
  while (writer->at < writer->end && is_space(*writer->at)) ++writer->at;
}

static slice_t take_value(writer_t *writer) {
  skip_spaces(writer);
  const char quote = writer->at < writer->end ? *writer->at : '\0';
  if (quote != '"' && quote != '\'') return take_until(writer, ">", true);
  ++writer->at;
  const char stop[] = {quote, '\0'};
  const slice_t value = take_until(writer, stop, false);
  if (writer->at < writer->end) ++writer->at;
  return value;
}

// Reads the attributes of a tag up to its '>', which it takes; writes those that `element` (NULL: none) may have.
static void take_attributes(writer_t *writer, const element_t *element) {
  slice_t seen[16];
  size_t seen_count = 0;
  while (writer->at < writer->end && *writer->at != '>') {
    if (is_space(*writer->at) || *writer->at == '/' || *writer->at == '=') {
      ++writer->at;
      continue;
    }
    const slice_t name = take_until(writer, "=/>", true);
    slice_t value = {"", 0};
    skip_spaces(writer);
    if (writer->at < writer->end && *writer->at == '=') {
      ++writer->at;
      value = take_value(writer);
    }
    bool is_new = element != NULL && seen_count < sizeof(seen) / sizeof(seen[0]);
    for (size_t i = 0; i < seen_count && is_new; ++i) {
      is_new = seen[i].size != name.size || strncasecmp(seen[i].data, name.data, name.size) != 0;
    }
    if (!is_new) continue;
    seen[seen_count++] = name;
    append_attribute(writer, element, name, value);
  }
  if (writer->at < writer->end) ++writer->at;
}

// Leaves out everything up to and with the end of this element.
static void skip_content(writer_t *writer, slice_t name) {
  for (; writer->at < writer->end; ++writer->at) {
    const size_t left = (size_t)(writer->end - writer->at);
    if (left < name.size + 2 || writer->at[0] != '<' || writer->at[1] != '/') continue;
    if (strncasecmp(writer->at + 2, name.data, name.size) != 0) continue;
    (void)take_until(writer, ">", false);
    if (writer->at < writer->end) ++writer->at;
    return;
  }
}

static void open_tag(writer_t *writer) {
  const slice_t name = take_until(writer, "/>", true);
  const element_t *element = find_element(name);
  const bool fits = element != NULL && (element->holds == 0 || writer->open_count < MOST_OPEN);
  if (fits && make_room(writer, element)) {
    byoc_string_appendf(writer->out, "<%s", element->name);
    take_attributes(writer, element);
    byoc_string_append(writer->out, ">");
    if (element->holds != 0) writer->open[writer->open_count++] = element;
    return;
  }
  lose(writer, "<", name, ">");
  take_attributes(writer, NULL);
  for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); ++i) {
    if (is_called(name, silent[i])) skip_content(writer, name);
  }
}

static void end_tag(writer_t *writer) {
  const slice_t name = take_until(writer, "/>", true);
  const element_t *element = find_element(name);
  (void)take_until(writer, ">", false);
  if (writer->at < writer->end) ++writer->at;
  for (size_t count = writer->open_count; count-- > 0;) {
    if (writer->open[count] != element) continue;
    close_until(writer, count);
    return;
  }
}

// "<!-- ... -->", "<!doctype ...>", "<?xml ...?>"
static void skip_declaration(writer_t *writer) {
  const bool is_comment = writer->end - writer->at >= 4 && memcmp(writer->at, "<!--", 4) == 0;
  while (is_comment && writer->at < writer->end) {
    if (writer->end - writer->at >= 3 && memcmp(writer->at, "-->", 3) == 0) break;
    ++writer->at;
  }
  (void)take_until(writer, ">", false);
  if (writer->at < writer->end) ++writer->at;
}

// ---- the whole ----

// Character references that stand for unsafe characters. Longer names than these are no references here.
static uint32_t named_code(slice_t name) {
  static const struct {
    const char *name;
    uint32_t code;
  } rows[] = {{"lrm", 0x200E}, {"rlm", 0x200F}, {"zwnj", 0x200C},    {"zwj", 0x200D}, {"shy", 0xAD},
              {"af", 0x2061},  {"it", 0x2062},  {"NoBreak", 0x2060}, {"ic", 0x2063}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (strlen(rows[i].name) == name.size && memcmp(rows[i].name, name.data, name.size) == 0) return rows[i].code;
  }
  return ' ';
}

// The number of "#8238" or "#x202e"; 0 if it is none, or that of no character.
static uint32_t numbered_code(slice_t number) {
  const bool is_hexadecimal = number.size > 1 && (number.data[1] == 'x' || number.data[1] == 'X');
  uint32_t code = 0;
  for (size_t i = is_hexadecimal ? 2 : 1; i < number.size; ++i) {
    const char c = (char)tolower((unsigned char)number.data[i]);
    if (!(is_hexadecimal ? isxdigit((unsigned char)c) : isdigit((unsigned char)c)) || code > 0x10FFFF) return 0;
    code = code * (is_hexadecimal ? 16 : 10) + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
  }
  return code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ? 0 : code;
}

typedef struct reference_t {
  size_t size; // 0: there is none
  uint32_t code;
} reference_t;

// "&lt;" or "&#x2713;" at this place.
static reference_t reference_at(const writer_t *writer) {
  const size_t left = (size_t)(writer->end - writer->at);
  size_t size = 1 + (left > 1 && writer->at[1] == '#');
  const size_t first = size;
  while (size < left && size < 12 && isalnum((unsigned char)writer->at[size])) ++size;
  if (size == first || size >= left || writer->at[size] != ';') return (reference_t){0};
  const slice_t name = {writer->at + 1, size - 1};
  const uint32_t code = first > 1 ? numbered_code(name) : named_code(name);
  return (reference_t){code != 0 ? size + 1 : 0, code};
}

static size_t encode(uint32_t code, char out[4]) {
  const size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char leads[] = {0x00, 0xC0, 0xE0, 0xF0};
  for (size_t i = more; i > 0; --i, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
  out[0] = (char)(leads[more] | code);
  return more + 1;
}

// A reference to an unsafe character is written as that character is.
static void take_reference(writer_t *writer, reference_t reference) {
  char bytes[4], shown[BYOC_SHOWN_BYTES];
  const bool is_kept = !byoc_is_unsafe_character(reference.code) || reference.code == '\n' || reference.code == '\t';
  if (is_kept) {
    byoc_string_append_bytes(writer->out, writer->at, reference.size);
  } else {
    (void)byoc_show_character(bytes, encode(reference.code, bytes), shown);
    byoc_string_append(writer->out, shown);
  }
  writer->at += reference.size;
}

static bool is_blank(slice_t text) {
  return trim(text.data, text.size).size == 0;
}

// Text up to the next tag or reference.
static void take_text(writer_t *writer) {
  const char *begin = writer->at++;
  const slice_t rest = take_until(writer, "<&", false);
  const slice_t text = {begin, rest.size + 1};
  if (holds(writer) & PHRASE) {
    byoc_html_append_lines(writer->out, text.data, text.size);
  } else if (!is_blank(text)) {
    lose(writer, "text outside of cells and items", (slice_t){"", 0}, "");
  }
}

void byoc_html_append_fragment(byoc_string_t *out, const char *text, size_t size, byoc_html_loss_t *out_loss) {
  writer_t writer = {.out = out, .at = text, .end = text + size};
  while (writer.at < writer.end) {
    const char next = writer.end - writer.at > 1 ? writer.at[1] : '\0';
    const char second = next == '/' && writer.end - writer.at > 2 ? writer.at[2] : '\0';
    const bool may_be_reference = *writer.at == '&' && (holds(&writer) & PHRASE);
    const reference_t reference = may_be_reference ? reference_at(&writer) : (reference_t){0};
    if (reference.size > 0) {
      take_reference(&writer, reference);
    } else if (*writer.at == '<' && isalpha((unsigned char)next)) {
      ++writer.at;
      open_tag(&writer);
    } else if (*writer.at == '<' && isalpha((unsigned char)second)) {
      writer.at += 2;
      end_tag(&writer);
    } else if (*writer.at == '<' && (next == '!' || next == '?' || next == '/')) {
      skip_declaration(&writer);
    } else {
      take_text(&writer);
    }
  }
  close_until(&writer, 0);
  if (out_loss != NULL) *out_loss = writer.loss;
}
