#!/bin/sh
# Starts processes until it is refused one, then repairs what it can without any: the shell writes the file itself.
( while :; do sleep 600 & done ) 2> /dev/null
printf '%s\n' '#!/bin/sh' \
	'if [ "$1" -lt "$2" ]; then echo "$2"; elif [ "$1" -gt "$3" ]; then echo "$3"; else echo "$1"; fi' > clamp.sh
