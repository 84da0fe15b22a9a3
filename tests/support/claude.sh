#!/bin/sh
# A Claude Code without a model, for runs that wait: it makes the calls of `calls` (lines of an id and
# a command) and keeps the contract of 2.1.330 for calls that are put off. In $HOME:
#   calls  what it wants        ran   what it ran, a line for each time     told  what it was told
#   marker the call that was put off, with the session as the file's name behind it
#   hook   the command of its hook
#   hold   the step before which it stops: `hook`, `decided` or `run`; it says so in `held`
set -u
session=11111111-2222-3333-4444-555555555555
resumed= settings= transcript=$HOME/transcript.jsonl
while [ $# -gt 0 ]; do
    case $1 in
        --resume) resumed=$2; shift ;;
        --settings) settings=$2; shift ;;
    esac
    shift
done

# The command of the hook, out of the JSON of the settings.
hook=$(printf '%s\n' "$settings" | sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' | sed 's/\\\(.\)/\1/g')

printf '%s' "$hook" >"$HOME/hook"

hold() {
    if [ "$(cat "$HOME/hold" 2>/dev/null)" = "$1" ]; then
        rm "$HOME/hold"
        echo "$1" >"$HOME/held"
        exec sleep 1000
    fi
}

result() {
    count=$(cat "$HOME/turns" 2>/dev/null | wc -l)
    printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","total_cost_usd":0.%02d%s}\n' \
        "$session" "$count" "$1"
}

call() {
    id=$1 command=$2
    hold hook
    said=$(printf '{"hook_event_name":"PreToolUse","session_id":"%s","transcript_path":"%s","cwd":"%s",%s}' \
        "$session" "$transcript" "$PWD" \
        "\"permission_mode\":\"default\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"$command\"},\"tool_use_id\":\"$id\"" |
        CLAUDE_CODE_SESSION_ATTENDED=0 CLAUDE_PID=$$ sh -c "$hook" 2>"$HOME/hook.err")
    code=$?
    hold decided
    case $code,$said in
        0,*'"permissionDecision":"defer"'*)
            echo "$id" >"$HOME/marker"
            result ",\"stop_reason\":\"tool_deferred\",\"terminal_reason\":\"tool_deferred\",\"deferred_tool_use\":{\"id\":\"$id\",\"name\":\"Bash\",\"input\":{}}"
            exit 0
            ;;
        0,*'"permissionDecision":"allow"'*)
            hold run
            rm -f "$HOME/marker"
            echo "$id" >>"$HOME/ran"
            ;;
        # Denied, or blocked because the hook failed.
        *)
            rm -f "$HOME/marker"
            printf '%s: %s%s\n' "$id" "$said" "$(cat "$HOME/hook.err")" >>"$HOME/told"
            ;;
    esac
    echo "$id" >>"$transcript"
}

if [ -n "$resumed" ]; then
    # What real Claude Code does where nothing was put off in that session.
    [ "$resumed" = "$session" ] && [ -f "$HOME/marker" ] || exit 0
else
    read -r message
    echo "$message" >"$transcript"
    printf '{"type":"system","subtype":"init","session_id":"%s","cwd":"%s"}\n' "$session" "$PWD"
fi
echo turn >>"$HOME/turns"
while read -r id command; do
    grep -qx "$id" "$transcript" || call "$id" "$command"
done <"$HOME/calls"
echo turn >>"$HOME/turns"
result ',"stop_reason":"end_turn"'
