#!/bin/sh
# A plugin in plain shell. Frames are picked apart with sed, which is safe here because the manifest's schema lets no quotes
# and no backslashes through.

list=${TODO_FILE:-${TMPDIR:-/tmp}/todo-plugin-$(id -u).txt}

say() { printf '%s\n' "$1"; }
number() { printf '%s' "$1" | sed -n 's/.*"type":"[a-z]*","id":\([0-9]*\).*/\1/p'; }
text() { printf '%s' "$1" | sed -n 's/.*"what":"\([^"]*\)".*/\1/p'; }

while IFS= read -r frame; do
    case $frame in
    '{"type":"hello",'*)
        say '{"type":"describe","protocol":1,"tools":[{"name":"todo_add"},{"name":"todo_show"}]}'
        ;;
    '{"type":"call",'*'"tool":"todo_add"'*)
        if text "$frame" >>"$list" && printf '\n' >>"$list"; then
            say "{\"type\":\"result\",\"id\":$(number "$frame"),\"text\":\"Noted. There are $(grep -c . "$list") things to do.\"}"
        else
            say "{\"type\":\"error\",\"id\":$(number "$frame"),\"message\":\"the list cannot be written\"}"
        fi
        ;;
    '{"type":"call",'*'"tool":"todo_show"'*)
        things=$(grep . "$list" 2>/dev/null | sed 's/^/- /' | awk '{printf "%s%s", sep, $0; sep="\\n"}')
        say "{\"type\":\"result\",\"id\":$(number "$frame"),\"text\":\"${things:-Nothing to do.}\"}"
        ;;
    esac
done
