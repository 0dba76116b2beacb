#!/bin/sh
# clamp.sh VALUE LOW HIGH: prints VALUE, or the bound that it lies beyond.
value=$1 low=$2 high=$3

if [ "$value" -lt "$low" ]; then
	echo "$low"
elif [ "$value" -gt "$high" ]; then
	echo "$low"
else
	echo "$value"
fi
