#!/bin/sh
# A scripted wayland-core engine: it says what a script tells it to, and answers its host as the
# protocol's document says. usage: engine.sh SCRIPT HEARD; every line of the host goes to HEARD.
#   say JSON   a line to the host
#   hear       waits for a line of the host and does what an engine does about it
#   listen     hears until the host closes its end
#   env NAME   says a variable of its environment
#   die        ends as a crash would
heard=$2

field() {
    printf '%s\n' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

hear() {
    IFS= read -r line || return 1
    printf '%s\n' "$line" >>"$heard"
    call="\"msg_id\":\"m1\",\"call_id\":\"$(field call_id)\""
    case $line in
    *'"type":"tool_approve"'*)
        printf '{"type":"tool_running",%s,"tool_name":"any"}\n' "$call"
        printf '{"type":"tool_result",%s,"tool_name":"any","status":"success","output":"%s"}\n' \
            "$call" "$(field answer)"
        ;;
    *'"type":"tool_deny"'*)
        printf '{"type":"tool_cancelled",%s,"reason":"%s"}\n' "$call" "$(field reason)"
        ;;
    *'"type":"approval_resume"'*)
        approved=${line#*\"approved\":}
        printf '{"type":"approval_resume","resume_token":"%s","approved":%s}\n' \
            "$(field resume_token)" "${approved%%[,\}]*}"
        ;;
    *) printf '{"type":"info","msg_id":"m1","message":"heard"}\n' ;;
    esac
}

while IFS= read -r step <&3; do
    case $step in
    'say '*) printf '%s\n' "${step#say }" ;;
    hear) hear || break ;;
    'env '*) printf '{"type":"info","message":"%s"}\n' "$(printenv "${step#env }")" ;;
    listen) while hear; do :; done ;;
    die) kill -9 $$ ;;
    esac
done 3<"$1"
