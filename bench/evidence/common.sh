# Shared by gpu_evidence and tsk_evidence. To be sourced with bash in the project's root, with these set: build; output, a
# folder for what is kept; state, one for what is not.

mkdir -p "$state"
export XDG_CACHE_HOME=$state/cache HEDDLE_PROFILES=$state/profiles.sqlite
heddle=$build/cli/heddle
failed=0
commit=${HEDDLE_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}

# step NAME COMMAND...: runs it, keeps its standard output as NAME, says how long it took and whether it worked.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$output/$name" 2>"$state/$name.errors"; then
    printf '%-28s %4d s\n' "$name" $((SECONDS - start))
  else
    failed=1
    printf '%-28s %4d s  FAILED: %s\n' "$name" $((SECONDS - start)) "$(tail -n 1 "$state/$name.errors")"
  fi
}

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
