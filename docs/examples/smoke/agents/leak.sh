#!/bin/sh
# Leaves a symbolic link out of the workspace, in the hope that someone reads through it.
ln -s /etc/passwd notes.txt
