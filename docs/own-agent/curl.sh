#!/bin/sh
# The same with curl and jq; URL and TOKEN name the daemon and the agent token.
command=$1
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
call=$(jq -n --arg command "$command" --arg cwd "$PWD" --arg key "$key" \
    '{agent: "my-agent", session: "one", tool: "shell_exec", args: {$command}, $cwd, $key}')

tries=0
why=
while [ "$tries" -lt 60 ]; do
    # From stdin, so that no list of processes shows the token.
    if ! reply=$(printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
        curl --config - --silent --max-time 75 --noproxy '*' --write-out '\n%{http_code}' \
            --header 'Content-Type: application/json' --data "$call" "$URL/v1/calls?wait=60"); then
        # The daemon is away: it may come back, and knows the key.
        tries=$((tries + 1))
        sleep 1
        continue
    fi
    tries=0
    status=$(printf '%s\n' "$reply" | tail -n 1)
    reply=$(printf '%s\n' "$reply" | sed '$d')
    case "$status $(printf %s "$reply" | jq -r '.verdict | strings' 2>/dev/null)" in
    '200 allow') exec bash -c "$command" ;; # Only this status with only this word.
    '202 ask') continue ;;                  # Nobody has answered yet. The same key waits on.
    esac
    why=$(printf %s "$reply" | jq -r '.reason // .error' 2>/dev/null)
    break
done
echo "not run: ${why:-nobody decided}"
exit 1
