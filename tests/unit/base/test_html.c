// SPDX-License-Identifier: Apache-2.0
// Fragments of pages: what may stay, what is left out, and that nothing ends the box around a fragment.
#include "tests/support/support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/html.h"

static char *written(const char *text, byoc_html_loss_t *out_loss) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_html_append_fragment(&out, text, strlen(text), out_loss);
  assert_false(out.failed);
  char *copy = strdup(out.size > 0 ? out.data : "");
  byoc_string_deinit(&out);
  return copy;
}

typedef struct pair_t {
  const char *given, *written;
} pair_t;

static void check(const pair_t *pairs, size_t count, bool loses) {
  for (size_t i = 0; i < count; ++i) {
    byoc_html_loss_t loss;
    char *got = written(pairs[i].given, &loss);
    if (strcmp(got, pairs[i].written) != 0 || (loss.count > 0) != loses) {
      fail_msg("%s\n  becomes %s\n  not     %s (%zu lost)", pairs[i].given, got, pairs[i].written, loss.count);
    }
    free(got);
  }
}

static void test_layout_stays(void **state) {
  (void)state;
  static const pair_t pairs[] = {
      {"plain", "plain"},
      {"<p>a <b>bold</b> word<br>and a line</p>", "<p>a <b>bold</b> word<br>and a line</p>"},
      {"<TABLE><TR><TH ColSpan=2>x</TH></TR></TABLE>", "<table><tr><th colspan=\"2\">x</th></tr></table>"},
      {"<table><tr><td>1<td>2<tr><td>3</table>", "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>"},
      {"<ul><li>one<li>two</ul>", "<ul><li>one</li><li>two</li></ul>"},
      {"<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"},
      {"<p>one<p>two", "<p>one</p><p>two</p>"},
      {"<p>text<ul><li>x</ul>", "<p>text</p><ul><li>x</li></ul>"},
      {"<div style='width: 40%; background-color:#ff8800'>x</div>",
       "<div style=\"width: 40%; background-color: #ff8800\">x</div>"},
      {"<details open><summary>more</summary>text</details>", "<details open><summary>more</summary>text</details>"},
      {"<span title=\"a'b\">x</span>", "<span title=\"a&#39;b\">x</span>"},
      {"1 < 2 && 3 > 2", "1 &lt; 2 &amp;&amp; 3 &gt; 2"},
      {"&lt;b&gt; &#x2713; &eacute; &unfinished", "&lt;b&gt; &#x2713; &eacute; &amp;unfinished"},
      {"a&#x202e;b &#8238; &#X202E; &#x0000202E;", "a\\u{202E}b \\u{202E} \\u{202E} \\u{202E}"},
      {"&rlm;&lrm;&shy;&zwj;&NoBreak;", "\\u{200F}\\u{200E}\\u{00AD}\\u{200D}\\u{2060}"},
      {"&#27;[2J &#x7f; &#155; &#xe0041;", "\\x1b[2J \\x7f \\u{009B} \\u{E0041}"},
      {"&#65;&#9;&#10;&#x1F600;&amp;#x202e;", "&#65;&#9;&#10;&#x1F600;&amp;#x202e;"},
      {"&#0; &#xd800; &#x110000; &#12ab; &#x;", "&amp;#0; &amp;#xd800; &amp;#x110000; &amp;#12ab; &amp;#x;"},
      {"<!-- a comment --><!doctype html><?xml?>x", "x"},
      {"<!-- unfinished <b>", ""},
      {"</b>x</div>", "x"},
  };
  check(pairs, sizeof(pairs) / sizeof(pairs[0]), false);
}

static void test_hostile_parts_are_left_out(void **state) {
  (void)state;
  static const pair_t pairs[] = {
      {"<script>alert(1)</script>x", "x"},
      {"<ScRiPt >alert(1)</sCrIpT\n>x", "x"},
      {"<script>alert(1)", ""},
      {"<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"},
      {"<style>body{display:none}</style>x", "x"},
      {"<b onclick=alert(1)>x</b>", "<b>x</b>"},
      {"<b/onmouseover=\"alert(1)\">x</b>", "<b>x</b>"},
      {"<b\nonfocus\n=\n'alert(1)' autofocus>x</b>", "<b>x</b>"},
      {"<img src=x onerror=alert(1)>", ""},
      {"<a href=\"javascript:alert(1)\">x</a>", "x"},
      {"<a href=//evil.example>x</a>", "x"},
      {"<iframe src=//evil.example></iframe>x", "x"},
      {"<iframe srcdoc='<script>1</script>'></iframe>x", "x"},
      {"<object data=//evil.example><b>inner</b></object>x", "x"},
      {"<embed src=//evil.example>x", "x"},
      {"<form action=//evil.example><input name=a><button>go</button></form>", "go"},
      {"<meta http-equiv=refresh content='0;url=//evil.example'>x", "x"},
      {"<base href=//evil.example>x", "x"},
      {"<link rel=stylesheet href=//evil.example>x", "x"},
      {"<svg onload=alert(1)><script>1</script></svg>x", "x"},
      {"<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></math>x", "x"},
      {"<template><script>1</script></template>x", "x"},
      {"<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\"></noscript>", "&quot;&gt;"},
      {"<div style=\"background-color: url(//evil.example)\">x</div>", "<div>x</div>"},
      {"<div style=\"background-image: none\">x</div>", "<div>x</div>"},
      {"<div style=\"color: red; position: fixed\">x</div>", "<div style=\"color: red\">x</div>"},
      {"<div style=\"width: expression(alert(1))\">x</div>", "<div>x</div>"},
      {"<div style=\"color: \\72 ed\">x</div>", "<div>x</div>"},
      {"<div style=\"color: r&#101;d\">x</div>", "<div>x</div>"},
      {"<div style='color: red\"><b>x</b>'>y</div>", "<div>y</div>"},
      {"<div id=panel class=x>y</div>", "<div>y</div>"},
      {"<td colspan=99999>x", "x"},
      {"<body onload=alert(1)>x</body></html>", "x"},
      {"<xmp><b></xmp><plaintext><b>x", ""},
      {"<b a=1 a=2 onclick=1>x", "<b>x</b>"},
      {"<a<b>x</b>", "x"},
      {"<table>text<tr>more<td>x", "<table><tr><td>x</td></tr></table>"},
  };
  check(pairs, sizeof(pairs) / sizeof(pairs[0]), true);
}

static void test_the_first_loss_is_named(void **state) {
  (void)state;
  byoc_html_loss_t loss;
  free(written("<b onclick=1>x</b><script>1</script>", &loss));
  assert_int_equal(loss.count, 2);
  assert_string_equal(loss.first, "onclick");
  free(written("<script>1</script>", &loss));
  assert_string_equal(loss.first, "<script>");
}

// ---- nesting ----

// Elements that a browser ends, or puts elsewhere, unless they are in one of these.
typedef struct rule_t {
  const char *name, *parents;
} rule_t;
static const rule_t places[] = {
    {"li", " ul ol "},    {"dt", " dl "},         {"dd", " dl "},          {"tr", " table thead tbody tfoot "},
    {"td", " tr "},       {"th", " tr "},         {"thead", " table "},    {"tbody", " table "},
    {"tfoot", " table "}, {"caption", " table "}, {"summary", " details "}};

// Parses what was written as strictly as XML: every element ends, in order, and inside; and each is where it may be.
static void check_nesting(const char *text) {
  char open[128][16];
  size_t depth = 0;
  for (const char *at = text; (at = strchr(at, '<')) != NULL; ++at) {
    const bool is_end = at[1] == '/';
    char name[16] = "";
    size_t size = 0;
    for (const char *c = at + 1 + is_end; isalnum((unsigned char)*c) && size < 15; ++c) name[size++] = *c;
    assert_true(size > 0);
    if (is_end) {
      assert_true(depth > 0);
      assert_string_equal(open[--depth], name);
      continue;
    }
    if (strcmp(name, "br") == 0 || strcmp(name, "hr") == 0 || strcmp(name, "wbr") == 0) continue;
    char parent[20];
    snprintf(parent, sizeof(parent), " %s ", depth > 0 ? open[depth - 1] : "");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
      if (strcmp(places[i].name, name) == 0) assert_non_null(strstr(places[i].parents, parent));
    }
    static const char *const lines[] = {"p", "h1", "h2", "pre", "b", "i", "span", "code", "dt", "caption", "summary"};
    static const char *const blocks = " p div ul ol dl table h1 h2 pre blockquote details ";
    char own[20];
    snprintf(own, sizeof(own), " %s ", name);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && depth > 0; ++i) {
      if (strcmp(open[depth - 1], lines[i]) == 0) assert_null(strstr(blocks, own));
    }
    assert_true(depth < 128);
    strcpy(open[depth++], name);
  }
  assert_int_equal(depth, 0);
}

// Elements in random order, with and without ends: whatever comes, the result nests and stays in its box.
static void test_random_nesting_stays_inside(void **state) {
  (void)state;
  static const char *const parts[] = {
      "<div>",        "</div>", "<p>",      "</p>",      "<table>",   "</table>",   "<tr>",    "</tr>",
      "<td>",         "</td>",  "<ul>",     "</ul>",     "<li>",      "</li>",      "<b>",     "</b>",
      "<dl>",         "<dd>",   "<dt>",     "</dl>",     "<h1>",      "</h1>",      "<tbody>", "</tbody>",
      "<pre>",        "text",   "<br>",     "</span>",   "<span>",    "<caption>",  "<thead>", "<th>",
      "<i>",          "</i>",   "<script>", "</script>", "<",         ">",          "'",       "\"",
      "<div style='", "<!--",   "-->",      "<details>", "<summary>", "</details>", "&",       "/"};
  uint64_t seed = 12345;
  for (int round = 0; round < 3000; ++round) {
    char text[2048] = "";
    size_t size = 0;
    for (int k = 0; k < 40; ++k) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const char *part = parts[(seed >> 33) % (sizeof(parts) / sizeof(parts[0]))];
      size += (size_t)snprintf(text + size, sizeof(text) - size, "%s", part);
    }
    char *got = written(text, NULL);
    check_nesting(got);
    assert_null(strstr(got, "script"));
    free(got);
  }
}

static void test_deep_nesting_ends(void **state) {
  (void)state;
  enum { DEPTH = 100000 };
  char *text = calloc(DEPTH, 5);
  assert_non_null(text);
  for (size_t i = 0; i + 1 < DEPTH; ++i) memcpy(text + 5 * i, "<div>", 5);
  char *got = written(text, NULL);
  assert_true(strlen(got) < 64 * 11 + 1);
  check_nesting(got);
  free(got);
  free(text);
}

// Bytes that are not UTF-8, control characters and a NUL are shown, not passed on.
static void test_bytes_are_shown(void **state) {
  (void)state;
  static const char text[] = "a\033b\xff\0<b\0>c";
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_html_append_fragment(&out, text, sizeof(text) - 1, NULL);
  assert_int_equal(strlen(out.data), out.size);
  assert_null(strchr(out.data, '\033'));
  byoc_string_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layout_stays),
      cmocka_unit_test(test_hostile_parts_are_left_out),
      cmocka_unit_test(test_the_first_loss_is_named),
      cmocka_unit_test(test_random_nesting_stays_inside),
      cmocka_unit_test(test_deep_nesting_ends),
      cmocka_unit_test(test_bytes_are_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
