#!/bin/sh
# Exit code 0: clamp.sh does what it says. 1: it does not.
failed=0

check() {
	want=$1
	shift
	got=$(sh ./clamp.sh "$@")
	if [ "$got" != "$want" ]; then
		echo "clamp.sh $*: $got, not $want"
		failed=1
	fi
}

check 5 5 0 10
check 0 -3 0 10
check 10 12 0 10
check 10 10 0 10
exit $failed
