#!/bin/sh
# Makes docs/images from a real round: each view in each theme, and the stop key in the default one.
#
#   tests/screens/pictures.sh BUILD [DIRECTORY]
#
# Needs root (for the round), tmux, aha, wkhtmltoimage (Debian: wkhtmltopdf) and fonts-dejavu-core; with convert
# (imagemagick) the files are a third as large.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
target=${2:-$source/docs/images}
columns=100 rows=28
escape=$(printf '\033')
for tool in tmux aha wkhtmltoimage; do
	command -v "$tool" > /dev/null || { echo "pictures: $tool is not installed" >&2; exit 77; }
done
mkdir -p "$target"

root=$(mktemp -d /tmp/pp-XXXXXX)
mkdir -m 0700 "$root/run"
mkdir -p "$root/config/proctor"
cp -r "$source/docs/examples/smoke" "$root/demo"
cp "$source/tests/terminal/demo.round.json" "$root/demo/"
export XDG_STATE_HOME="$root/state" XDG_RUNTIME_DIR="$root/run" XDG_CONFIG_HOME="$root/config" HOME="$root" LC_ALL=C.UTF-8
unset TMUX NO_COLOR
socket=$root/tmux
printf 'set -g default-terminal tmux-256color\nset -g status off\nset -sg escape-time 0\n' > "$root/tmux.conf"

t() { tmux -u -S "$socket" -f "$root/tmux.conf" "$@"; }
finish() {
	t kill-server > /dev/null 2>&1 || true
	"$build/proctor" stop demo > /dev/null 2>&1 || true
	rm -rf "$root"
}
trap finish EXIT

open_terminal() { t kill-server > /dev/null 2>&1 || true; sleep 0.2; TERM=xterm-256color t new-session -d -s p -x $columns -y $rows "$@"; }
keys() { for key in "$@"; do t send-keys -t p "$key"; sleep 0.2; done; }
await() {
	tries=0
	until t capture-pane -p -t p | grep -qF -- "$1"; do
		tries=$((tries + 1))
		[ "$tries" -le 100 ] || { echo "pictures: no '$1' on the screen" >&2; t capture-pane -p -t p >&2; exit 1; }
		sleep 0.1
	done
}

# The screen as it is, as an image; the page is of the colour of a terminal that has this theme.
picture() {
	page='#1c1c1c' ink='#d0d0d0'
	case $1 in
	*-light) page='#eeeeee' ink=black ;;
	*-high-contrast | *-default | *-mono | frozen | stopped) page=black ;;
	esac
	{
		printf '<html><head><meta charset="utf-8"><style>body{margin:8px;background:%s;color:%s}' "$page" "$ink"
		printf 'pre{margin:0;font:14px/17px "DejaVu Sans Mono"}</style></head><body><pre>'
		# aha knows nothing of reverse on the terminal's own colours.
		t capture-pane -e -N -p -t p |
			sed "s/$escape\\[\\(\\([0-9]*;\\)*\\)7m\\($escape\\[39m$escape\\[49m\\)*/$escape[\\138;5;16;48;5;252m/g" |
			aha --no-header
		printf '</pre></body></html>'
	} > "$root/page.html"
	wkhtmltoimage --quiet --width $((columns * 8 + columns * 43 / 100 + 18)) --quality 0 "$root/page.html" "$root/page.png"
	if command -v convert > /dev/null; then
		convert "$root/page.png" +dither -colors 64 -strip "PNG8:$target/$1.png"
	else
		mv "$root/page.png" "$target/$1.png"
	fi
}

open_terminal "$build/proctor" run "$root/demo/demo.round.json" --yes --display full
await INVALID
await "error -"
sleep 4
keys S
await "FROZEN in"
picture frozen
keys Escape
keys d

for theme in default dark light deuteranopia tritanopia high-contrast mono; do
	cp "$source/themes/$theme.theme" "$root/config/proctor/theme"
	open_terminal "$build/proctor" watch demo --display full
	await INVALID
	sleep 1.5
	picture "tasks-$theme"
	keys g j j j j Enter
	await Phases
	sleep 1
	picture "task-$theme"
	keys h '?'
	await Keys
	picture "help-$theme"
	keys q
done

rm -f "$root/config/proctor/theme"
open_terminal "$build/proctor" watch demo --display full --control
await INVALID
keys S
await "FROZEN in"
keys S
await "STOPPED in"
sleep 0.5
picture stopped
keys q
du -sh "$target"
