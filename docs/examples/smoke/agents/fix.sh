#!/bin/sh
# Does what was asked: the second branch prints the upper bound.
set -eu
echo "task: $1"
sed '/-gt/,/echo/s/echo "$low"/echo "$high"/' clamp.sh > clamp.new
cat clamp.new > clamp.sh
rm clamp.new
sh test/check.sh
echo "fixed"
