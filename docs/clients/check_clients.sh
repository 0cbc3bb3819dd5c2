#!/bin/sh
# Asks every client that is installed here whether it knows Workrail and reaches it. Nothing is changed.
#
#   docs/clients/check_clients.sh [NAME]      NAME is what the server is called in the clients; workrail if left out
#
# The exit status is 1 when a client that is installed does not list it, or lists it and does not reach it.
name=${1:-workrail}
status=0

check() {
    client=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "$client: not installed"
        return
    fi
    # Some write their list where errors go. A folder of that name is not the server.
    found=$("$@" 2>&1 </dev/null | grep -Ei -- "(^|[^[:alnum:]_/.-])$name([: ]|\$)" | head -n 1)
    if [ -n "$found" ]; then
        echo "$client: $found"
        if echo "$found" | grep -Eqi -- '- .{0,4}(disabled|disconnected|failed|needs)'; then
            status=1
        fi
    else
        echo "$client: does not list $name. ./workrail connect tells how it is told"
        status=1
    fi
}

check_file() {
    client=$1
    file=$2
    if [ ! -f "$file" ]; then
        echo "$client: no $file"
    elif grep -q "\"$name\"" "$file"; then
        echo "$client: stands in $file"
    else
        echo "$client: $file does not name $name"
        status=1
    fi
}

check "Claude Code" claude mcp list
check "Codex" codex mcp list
check "Gemini CLI" gemini mcp list
check "Antigravity" agy mcp list
check "Devin CLI" devin mcp list
check_file "Cursor" .cursor/mcp.json
check_file "VS Code" .vscode/mcp.json
check_file "Windsurf" "$HOME/.codeium/windsurf/mcp_config.json"
case $(uname) in
    Darwin) check_file "Claude Desktop" "$HOME/Library/Application Support/Claude/claude_desktop_config.json" ;;
    *) check_file "Claude Desktop" "$HOME/.config/Claude/claude_desktop_config.json" ;;
esac
exit $status
