# SPDX-License-Identifier: Apache-2.0
# Completion of the byoc command for bash. It asks byoc itself, so that it knows what --help knows.
_byoc() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="$(byoc --help=commands 2>/dev/null | cut -f 1) help --help --version"
  elif [[ $before == --target || $before == -t ]]; then
    words=$(byoc targets 2>/dev/null | sed -n 's/^\([^ ]*\) - .*/\1/p')
  elif [[ $word == -* ]]; then
    words=$(byoc "$command" --help=options 2>/dev/null | cut -d ' ' -f 1)
  fi
  if [[ -n $words ]]; then
    compopt +o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _byoc byoc
