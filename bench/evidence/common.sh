# Shared by the evidence scripts. To be sourced with bash in the project's root, with these set: build; output, a folder for
# what is kept; state, one for what is not. data and bat may be set.

mkdir -p "$state"
export XDG_CACHE_HOME=$state/cache HEDDLE_PROFILES=$state/profiles.sqlite
heddle=$build/cli/heddle
failed=0
commit=${HEDDLE_COMMIT:-$(cat "$build/COMMIT" 2>/dev/null || git rev-parse HEAD 2>/dev/null || echo unknown)}  # COMMIT: by pack

# step NAME COMMAND...: runs it, keeps its standard output as NAME, says how long it took and whether it worked; if not, with the
# last line that it wrote, and keeps all that it wrote as NAME.failed, too.
step() {
  local name=$1 start=$SECONDS code=0 word
  shift
  rm -f "$output/$name.failed"
  "$@" >"$output/$name" 2>"$state/$name.errors" || code=$?
  if ((code == 0)); then
    printf '%-28s %4d s\n' "$name" $((SECONDS - start))
  else
    failed=1
    cat "$output/$name" "$state/$name.errors" >"$output/$name.failed"
    word=$(cat "$output/$name" "$state/$name.errors" | tail -n 1 | cut -c 1-300)
    case $code in 77) word="skipped: $word" ;; 124) word="its time limit was reached" ;; esac
    printf '%-28s %4d s  FAILED, exit code %d: %s\n' "$name" $((SECONDS - start)) "$code" "$word"
  fi
}

# At the end, and when the script is asked to stop: where it was built and run is nobody's business, and logs of what worked are
# not kept.
tidy() {
  local folder name words=()
  for name in state build output data bat checkout HOME; do
    folder=${!name:-}
    [[ $folder == /?* ]] && words+=(-e "s#$folder#${name^^}#g")
  done
  find "$output" -maxdepth 1 -type f ! -name parts.json \( -name '*.txt' -o -name '*.json' -o -name '*.jsonl' -o -name '*.md' -o -name '*.csv' -o -name '*.failed' \) \
    -exec sed -i "${words[@]}" -e "s#$PWD/##g" {} +
  rm -f "$output"/*.log
}
trap tidy EXIT
trap 'exit 143' TERM

# run_parts "PART..." [PART...]: the parts that are named, or all; each is a function of the script.
run_parts() {
  local all=$1 part
  shift
  # shellcheck disable=SC2086
  (($#)) || set -- $all
  for part; do
    [[ " $all " == *" $part "* ]] || { echo "${0##*/}: found part '$part', expected some of $all" >&2; exit 2; }
  done
  for part; do "$part"; done
}
