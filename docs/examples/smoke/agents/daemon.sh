#!/bin/sh
# Fixes the bug and leaves a daemon behind: a session of its own, its parent gone, so that init adopts it. Were
# it alive a second later, it would spoil the fix while the evidence is collected.
set -eu
(setsid sh -c 'sleep 1; while :; do echo exit 9 > clamp.sh; sleep 0.1; done' < /dev/null > /dev/null 2>&1 &)
sed '/-gt/,/echo/s/echo "$low"/echo "$high"/' clamp.sh > clamp.new
cat clamp.new > clamp.sh
rm clamp.new
