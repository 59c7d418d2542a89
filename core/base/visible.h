// SPDX-License-Identifier: Apache-2.0
// Makes strings from models, plugins and files safe to show.
//
// A name may hold escape sequences that move the cursor, characters that reverse the direction of text, or invisible
// ones. All output for people goes through here: such characters, and bytes that are not UTF-8, are shown as "\x1b" or
// "\u{202E}". JSON and C have escapes of their own (core/base/json.h, core/base/string.h) for the same characters.
#ifndef BYOC_CORE_BASE_VISIBLE_H_
#define BYOC_CORE_BASE_VISIBLE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/string.h"

// The size of the UTF-8 sequence at `text`, of which `size` bytes are there, and its code point; 0 if it is not valid
// (overlong forms and surrogates included).
size_t byoc_utf8_decode(const char *text, size_t size, uint32_t *out_code);
// True for control characters, marks of direction, characters of no width, separators of lines and tags.
bool byoc_is_unsafe_character(uint32_t code);

enum { BYOC_SHOWN_BYTES = 16 };
// Writes the visible form of the character at `text`, and returns its size in `text`, at least 1. `size` is not 0.
size_t byoc_show_character(const char *text, size_t size, char shown[BYOC_SHOWN_BYTES]);

// Appends a name: all unsafe characters are escaped, ends of lines included.
void byoc_string_append_shown(byoc_string_t *string, const char *text);
// The same in at most `width` characters (at least 3): a longer name ends in "...".
void byoc_string_append_shown_cut(byoc_string_t *string, const char *text, size_t width);
// Appends a text of several lines, which keeps its tabs and ends of lines.
void byoc_string_append_shown_lines(byoc_string_t *string, const char *text);
// Writes a text of several lines, and indents those after the first, so that none of them looks like a message of its
// own. Needs no memory.
void byoc_write_shown_lines(FILE *stream, const char *text);
// The number of characters: the width of a string without unsafe characters.
size_t byoc_shown_width(const char *text);

#endif // BYOC_CORE_BASE_VISIBLE_H_
