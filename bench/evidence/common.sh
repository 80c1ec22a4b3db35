# Shared by the evidence scripts. To be sourced with bash in the project's root, with these set: build; output, a folder for
# what is kept; state, one for what is not. data and bat may be set. `sources` is that root.

sources=$PWD
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

touch "$state/begun"
sleep 0.05  # so that what is written from now on is newer

# At the end, and when the script is asked to stop: where it was built and run is nobody's business, logs of what worked are
# not kept, and origins.json says what the files of this run were measured with.
tidy() {
  local folder name words=() new=()
  for name in state build output data bat checkout HOME; do
    folder=${!name:-}
    [[ $folder == /?* ]] && words+=(-e "s#$folder#${name^^}#g")
  done
  rm -f "$output"/*.log
  mapfile -t new < <(find "$output" -maxdepth 1 -type f -newer "$state/begun" ! -name parts.json ! -name 'origins.json*' \
    -regextype egrep -regex '.*\.(txt|json|jsonl|md|csv|failed)' -printf '%f\n')
  ((${#new[@]})) || return 0
  (cd "$output" && sed -i "${words[@]}" -e "s#$sources/##g" "${new[@]}")
  # Tables are made of measured files, of whatever origin; what failed has shown nothing.
  mapfile -t new < <(for name in "${new[@]}"; do
    [[ $name == *.md || $name == *.failed || -e $output/$name.failed ]] || echo "$name"
  done)
  ((${#new[@]} == 0)) || python3 "$sources/bench/evidence/origins.py" note "$build" "$output" "$commit" "${new[@]}"
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
