# SPDX-License-Identifier: Apache-2.0
# Completion of the byoc command for fish. It asks byoc itself, so that it knows what --help knows.
function __byoc_options
  set -l words (commandline -opc)
  test (count $words) -ge 2; and byoc $words[2] --help=options 2>/dev/null | string replace -r '^(\S+) [^\t]*' '$1'
end
complete -c byoc -n 'test (count (commandline -opc)) -eq 1' -f -a '(byoc --help=commands 2>/dev/null)'
complete -c byoc -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__byoc_options)'
complete -c byoc -n 'contains -- (commandline -opc)[-1] -t --target' -x \
  -a '(byoc targets 2>/dev/null | string match -r "^\S+(?= - )")'
