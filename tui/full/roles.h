/*
 * The roles of the screen: one list, from which the enum, the names in theme files, the built-in theme and
 * the tests come. A cell has a role and no colour; what a role looks like is a theme's business (theme.h).
 *
 * Colour never stands alone: whatever bears a role also says it by a word or a mark.
 */
#ifndef TUI_FULL_ROLES_H
#define TUI_FULL_ROLES_H

/* X(identifier, "name", "style in 16 colours", "style in mono", "what it is for"); a style as theme.h has it */
#define ROLES(X) \
	X(ROLE_TEXT, "text", "- -", "normal", "everything else; its background is the whole screen's") \
	X(ROLE_MUTED, "muted", "- -", "normal", "what matters less: labels, hints, folded lines") \
	X(ROLE_HEADER, "header", "- - bold", "bold", "the first line: what round this is and how it goes") \
	X(ROLE_HEADING, "heading", "- - bold", "bold", "names of columns and of sections") \
	X(ROLE_RULE, "rule", "blue -", "normal", "lines between areas") \
	X(ROLE_KEY, "key", "cyan - bold", "bold", "a key in the footer and in the help") \
	X(ROLE_SELECTED, "selected", "- - reverse", "reverse", "the line that the keys act on") \
	X(ROLE_QUEUED, "queued", "- -", "normal", "a task that waits") \
	X(ROLE_RUNNING, "running", "cyan -", "bold", "a task under way") \
	X(ROLE_PASS, "pass", "green -", "normal", "a task that passed; a check that holds") \
	X(ROLE_FAIL, "fail", "red -", "bold", "a task that failed") \
	X(ROLE_INVALID, "invalid", "magenta - bold", "underline", "a task with a violation") \
	X(ROLE_ERROR, "error", "yellow - bold", "bold underline", "a task without a verdict on the candidate: not its fault") \
	X(ROLE_STOPPED, "stopped", "blue - bold", "normal", "a task that its owner stopped") \
	X(ROLE_FROZEN, "frozen", "cyan - bold", "bold", "what stands still") \
	X(ROLE_HELD, "held", "yellow - bold", "bold", "what waits for somebody: the gate, a hold, a drain") \
	X(ROLE_BAR, "bar", "green -", "bold", "the used part of a bar") \
	X(ROLE_BAR_LATE, "bar-late", "yellow - bold", "bold", "the same, from four fifths of the limit on") \
	X(ROLE_BAR_REST, "bar-rest", "blue -", "normal", "the unused part of a bar") \
	X(ROLE_REFUSAL, "refusal", "magenta -", "underline", "a count of refusals that is not 0") \
	X(ROLE_ALERT, "alert", "white red bold", "reverse bold", "the line of the stop key: FROZEN, and faults of the program") \
	X(ROLE_PROOF, "proof", "black green", "reverse", "the line that proves a stop") \
	X(ROLE_NOTICE, "notice", "yellow -", "bold", "a word to the owner on the message line") \
	X(ROLE_OUTPUT, "output", "- -", "normal", "what a candidate wrote") \
	X(ROLE_ADDED, "added", "green -", "normal", "an added line of a patch (it begins with +)") \
	X(ROLE_REMOVED, "removed", "red -", "normal", "a removed line of a patch (it begins with -)") \
	X(ROLE_HUNK, "hunk", "cyan -", "bold", "a place in a patch, a file's name in it")

enum role {
#define X(identifier, name, colour, mono, purpose) identifier,
	ROLES(X)
#undef X
	ROLE_COUNT
};

#endif
