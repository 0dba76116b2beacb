#!/bin/sh
# Runs each command of README.md as it is printed there, in a clean clone inside a fresh Debian 12 root.
#
#     tests/end-to-end/fresh-root.sh [--list] [--keep] [--only N]
#
# --list prints the commands and does nothing; --keep leaves the roots for a look; --only runs the Nth alone. On demand, as root, with mmdebstrap
# and git; a command takes minutes, for it installs what it needs from this host's own package sources.
#
# A command is a line of a code block of README.md that calls apt-get. Each gets a root of its own: mmdebstrap's smallest
# variant and nothing else. It runs in private mount and pid namespaces (no mount outlives it, and no process does) that
# have this root for their own, with /proc, /dev, and /sys with the cgroups in it. The scratch directory is removed
# without crossing into another file system.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
list=no keep=no only=
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=yes ;;
	--keep) keep=yes ;;
	--only) only=${2:-0}; [ $# -gt 1 ] && shift ;;
	*) echo "usage: $0 [--list] [--keep] [--only N]" >&2; exit 64 ;;
	esac
	shift
done

# Lines of fenced and of indented code blocks; a backslash at the end joins the next one.
commands() {
	awk '
		/^[[:space:]]*```/ { fenced = !fenced; next }
		fenced || /^    / {
			line = $0
			sub(/^[[:space:]]+/, "", line)
			sub(/^[$#] /, "", line)
			while (line ~ /\\$/ && (getline more) > 0) { sub(/\\$/, "", line); line = line more }
			if (line ~ /apt-get/) print line
		}' "$source/README.md"
}

if [ "$list" = yes ]; then
	commands
	exit
fi
if [ "$(id -u)" != 0 ]; then
	echo "$0: this needs root" >&2
	exit 2
fi
for tool in mmdebstrap git unshare; do
	command -v "$tool" > /dev/null || { echo "$0: $tool is not installed: apt-get install mmdebstrap git util-linux" >&2; exit 2; }
done
count=$(commands | wc -l)
if [ "$count" -eq 0 ]; then
	echo "$0: README.md has no command that calls apt-get" >&2
	exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/proctor-fresh-XXXXXX")
clean_up() {
	if [ "$keep" = yes ]; then
		echo "kept: $work"
	elif grep -q " $work" /proc/self/mounts; then
		echo "$0: something is mounted below $work: left as it is" >&2
	else
		rm -rf --one-file-system "$work"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The host's package sources as they stand, and the settings without which they would not be taken.
set --
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
	if [ -s "$file" ] && grep -Eq '^(deb |Types:)' "$file"; then
		set -- "$@" "$file"
	fi
done
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy|ForceIPv)' > "$work/apt.conf" || :
echo "== a fresh root"
mmdebstrap --quiet --variant=minbase --mode=root --aptopt="$work/apt.conf" bookworm "$work/fresh" "$@" 2> "$work/mmdebstrap.log" ||
	{ sed 's#://[^ /]*#://...#g' "$work/mmdebstrap.log" >&2; exit 2; }

# In the namespaces, as the shell of each command.
cat > "$work/enter" << 'END'
set -eu
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
cd "$root"
pivot_root . mnt
cd /
umount -l /mnt
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
	sh -c "cd /root/proctor && $2"
END

passed=0 failed=0 number=0
commands > "$work/commands"
while IFS= read -r command <&3; do
	number=$((number + 1))
	[ -z "$only" ] || [ "$only" = "$number" ] || continue
	root=$work/root-$number
	cp -a "$work/fresh" "$root"
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	git clone -q --no-hardlinks "$source" "$root/root/proctor"
	printf '\n== %s\n' "$command"
	start=$(date +%s)
	if unshare --mount --propagation private --pid --fork --kill-child=KILL sh "$work/enter" "$root" "$command" < /dev/null; then
		passed=$((passed + 1)) word=passed
	else
		failed=$((failed + 1)) word=failed
	fi
	printf '== %s in %d s\n' "$word" "$(($(date +%s) - start))"
	[ "$keep" = yes ] || rm -rf --one-file-system "$root"
done 3< "$work/commands"
printf '\n%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
