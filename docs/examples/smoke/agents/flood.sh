#!/bin/sh
# Prints until it is stopped.
exec yes "a candidate that does not stop talking"
