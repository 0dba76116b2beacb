#!/bin/sh
# The owner's whole way through a real round, in tmux: start the demo round at its gate, S, Esc, detach, watch again, kill
# the terminal, attach again, S, S, and the proof.
#
#   tests/terminal/demo.sh BUILD
#
# Exit code 77: skipped, with the reason.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skipped: $1"; [ "${PROCTOR_NO_SKIP:-0}" = 0 ] && exit 77; exit 1; }
command -v tmux > /dev/null || skip "tmux is not installed"
[ "$(id -u)" = 0 ] || skip "the round needs root"
[ -x "$build/proctor" ] || skip "$build/proctor is not built"

root=$(mktemp -d /tmp/pd-XXXXXX)
mkdir -m 0700 "$root/run"
cp -r "$here/../../docs/examples/smoke" "$root/demo" 
# A word that no other candidate on this host has.
word=thinking-$$
sed "s/echo thinking/echo $word/" "$here/demo.round.json" > "$root/demo/demo.round.json"
export XDG_STATE_HOME="$root/state" XDG_RUNTIME_DIR="$root/run" XDG_CONFIG_HOME="$root/config" HOME="$root" LC_ALL=C.UTF-8 TERM=xterm-256color
unset TMUX NO_COLOR
socket=$root/tmux

t() { tmux -S "$socket" -f /dev/null "$@"; }
screen() { t capture-pane -p -t demo; }

finish() {
	t kill-server > /dev/null 2>&1
	"$build/proctor" stop demo > /dev/null 2>&1
	rm -rf "$root"
}
trap finish EXIT

fail() {
	echo "FAILED: $1"
	echo "---- the screen"
	screen
	exit 1
}

# Waits until the text stands on the screen (or, with "not", does not), at most ten seconds.
await() {
	want=0 tries=0
	[ "$1" = not ] && { want=1; shift; }
	while :; do
		screen | grep -qF -- "$1"
		[ $? = "$want" ] && return 0
		tries=$((tries + 1))
		[ "$tries" -gt 100 ] && return 1
		sleep 0.1
	done
}

open_terminal() { t new-session -d -s demo -x 120 -y 40 "$1" && t set-option -t demo remain-on-exit on; }
keys() { t send-keys -t demo "$@"; }
state() { "$build/proctor" list 2> /dev/null; }

open_terminal "$build/proctor run $root/demo/demo.round.json --display full" || skip "tmux cannot open a session here"
await "waits for you" || fail "the round does not wait at its gate"
keys y
await "running" || fail "y does not start it"
await "thinker" || fail "the tasks are not on the screen"
await "INVALID" || fail "leak is not told to be invalid"
echo "ok: started at the gate"

keys S
await "FROZEN in" || fail "S does not freeze"
screen | grep -F "FROZEN in"
keys Escape
await not "FROZEN" || fail "Esc does not thaw"
echo "ok: S froze, Esc thawed"

keys d
await "Pane is dead" || await not "Enter" || fail "d does not leave"
state | grep -q "demo.*running" || fail "the round does not go on after a detach: $(state)"
echo "ok: detached, the round runs on"

t kill-server > /dev/null 2>&1
sleep 0.3
open_terminal "$build/proctor watch demo --display full --control" || fail "no second terminal"
await "thinker" || fail "watch shows nothing"
await "running" || fail "watch does not say that it runs"
t kill-server > /dev/null 2>&1
sleep 0.5
state | grep -q "demo.*running" || fail "the round did not survive its terminal: $(state)"
echo "ok: the terminal was killed, the round runs on"

open_terminal "$build/proctor watch demo --display full --control" || fail "no third terminal"
await "thinker" || fail "watch shows nothing the second time"
keys S
await "FROZEN in" || fail "S does not freeze the second time"
keys S
await "STOPPED in" || fail "S S does not stop"
await "0 remaining" || fail "nothing is said to remain, or the proof is not there"
screen | grep -E "STOPPED|remaining|removed"
keys d
sleep 0.5
state | grep -q "demo.*stopped" || fail "list does not say stopped: $(state)"
pgrep -f "echo $word" > /dev/null && fail "a candidate is alive"
echo "ok: attached again, S S stopped it, with its proof"
